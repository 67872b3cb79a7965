import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { usualIsolation } from './job-sandboxes.ts';

/** The data of a local service that has been started once. Services of tests start from copies, without generating keys and samples again. */

/** The variable in which global setup leaves the folder of that data. */
export const localTemplate = 'CLOUD_TEST_LOCAL';

/** The variable that names the folder in which workers note the homes of the services that their test files share. */
export const sharedServices = 'CLOUD_TEST_SERVICES';

/** Where a home has the data of its local service. */
export const dataFolder = '.local/share/cloud/local';

/** Options that decide what the first start makes; `--add-account` makes on any start what is not there. */
const firstStart = new Set(['--account', '--data', '--datacenter', '--empty', '--public-key']);

/** The environment of programs that run for the user of a home. */
export function describeEnvironment(home: string): NodeJS.ProcessEnv {
  const isolation = usualIsolation() === 'none' && { CLOUD_LOCAL_ISOLATION: 'none' };
  return { HOME: home, PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`, LANG: 'C.UTF-8', TMPDIR: home, ...isolation };
}

/** Commands that tests start often, and that change nothing: what they compile is kept for all. */
const usual = ['images list -j', 'keys list -o jsonl --jq .name', 'profile list', 'stor ls', 'stor find', 'stor sync -n .cache stor:x -q'];

/**
 * Starts a local service in a new home, runs commands with it, and stops it again.
 * @param target where its data goes
 * @returns which build of the program it is
 */
export function makeTemplate(home: string, target: string): { version: string; commit: string } {
  mkdirSync(home);
  const program = resolve(import.meta.dirname, '../../bin/cloud');
  const run = (line: string): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...line.split(' ')], {
      cwd: home,
      env: describeEnvironment(home),
    });
    if (status !== 0) throw new Error(`cloud ${line} ended with ${status}: ${stderr.toString()}`);
    return stdout.toString();
  };
  const started = run('local start --compute-port 0 --stor-port 0 -j');
  try {
    for (const line of usual) run(line);
  } finally {
    run('local stop');
  }
  renameSync(join(home, dataFolder), target);
  return JSON.parse(started) as { version: string; commit: string };
}

/** Gives a home the data of a service that is started with these words, if a first start with them would make the same. */
export function copyTemplate(home: string, words: readonly string[]): void {
  const template = process.env[localTemplate];
  if (template === undefined || words.some((word) => firstStart.has(word))) return;
  // For the user alone, as the program makes it.
  mkdirSync(join(home, dirname(dataFolder)), { recursive: true, mode: 0o700 });
  // `cpSync` of Node.js 24 gives directories other modes.
  execFileSync('cp', ['-a', template, join(home, dataFolder)]);
}
