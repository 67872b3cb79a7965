import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { assertDataDirectory, assertOwnDataDirectory, damageHint, findMissingFolder } from '../../base/data-directory.ts';
import type { World } from '../../base/world.ts';
import { command, type Context } from '../../cli/command.ts';
import { spin } from '../../cli/wait.ts';
import { kebab } from '../../config/settings.ts';
import { checkInterrupted, LocalError, WaitError } from '../../base/errors.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { record, type Output } from '../../output/kinds.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from './limits.ts';
import { isHeld } from './holder.ts';
import { accountProfileOf, checkProfile, writeProfiles } from './profile.ts';
import { logFileOf } from './log-file.ts';
import { describeDifference, findRunning, readRunFile, waitUntil, type Running } from './running.ts';
import { dataDirOf, describeKept, readIsolation, readReplay, serveOptions, type ServeOptions } from './service.ts';
import { noteStarted } from './scratch.ts';
import { stopProcess, uninterrupted } from './stop.ts';

/** Timeout for the start of a service, milliseconds: on a busy machine with a slow disk it may take 20 s. */
const timeoutMs = 60_000;

/**
 * Options of Node.js for a service: a quarter of the usual memory for new objects. Requests leave little behind, so that a service takes no
 * more processor time with it, and 20 MiB less memory. The single file is both Node.js and the program, and takes no options of Node.js.
 */
function nodeOptions({ executable, program }: World): string[] {
  return executable === program ? [] : ['--max-semi-space-size=4'];
}

/** Free disk space below which nothing can be stored, bytes. */
const leastSpace = 64 * 1024;

/** The command line of `serve` with the options of `start`. */
function serveWords(dataDir: string, options: ServeOptions, account: string | undefined): string[] {
  const words = ['local', 'serve', '--data', dataDir];
  const jobTimeLimit = options.jobTimeLimit === undefined ? undefined : `${options.jobTimeLimit}ms`;
  for (const [name, value] of Object.entries({ ...options, jobTimeLimit, account })) {
    if (name === 'data' || value === undefined || value === false) continue;
    const values = Array.isArray(value) ? value : [value];
    for (const each of values) words.push(`--${kebab(name)}`, ...(each === true ? [] : [String(each)]));
  }
  return words;
}

/** Why the service ended, and what to do about it as far as it said. */
interface End {
  readonly message: string;
  readonly hints: readonly string[];
}

/** Returns the last error in the log, or else its last line. */
function readLogEnd(file: string): End {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const at = lines.findLastIndex((line) => line.startsWith('cloud local serve'));
  if (at === -1) return { message: lines.at(-1) ?? '', hints: [] };
  const hints = lines.slice(at + 1).flatMap((line) => /^hint: (.*)/.exec(line)?.[1] ?? []);
  return { message: lines[at]?.replace(/^.*?: /, '') ?? '', hints };
}

/** Explains why the service ended. On a full disk it cannot write that into its log. */
function explainEnd(dataDir: string, logFile: string): End {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize < leastSpace ? { message: `no space left on the disk of ${dataDir}`, hints: [] } : readLogEnd(logFile);
}

/** @throws {LocalError} with the last message of a service that ended, and its hints */
function refuseEnded(dataDir: string, logFile: string): never {
  const { message, hints } = explainEnd(dataDir, logFile);
  const isTaken = /port \d+ of \S+ is in use/.test(message);
  const own = hints.length === 0 ? `see ${logFile}` : hints;
  const hint = isTaken ? 'use free ports: cloud local start --compute-port 0 --stor-port 0' : own;
  throw new LocalError(`the service did not start: ${message}`, { hint });
}

/** Starts a background process that serves a data directory. @throws {LocalError} with its last message if it ends; no process stays then */
export async function launch(context: Context, dataDir: string, options: ServeOptions): Promise<Running> {
  const { world } = context;
  checkInterrupted(world.interrupted);
  assertDataDirectory(dataDir);
  makeFolders(dataDir, 0o700);
  const logFile = logFileOf(dataDir);
  const log = openSync(logFile, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  const words = serveWords(dataDir, options, context.settingGiven('account'));
  const child = spawn(world.executable, [...nodeOptions(world), world.program, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: world.cwd,
    env: { ...world.env },
  });
  closeSync(log);
  noteStarted(context.paths, child.pid, dataDir);
  let exited = false;
  child.on('exit', () => {
    exited = true;
  });
  const isReady = (): boolean => readRunFile(dataDir)?.pid === child.pid;
  const done = await waitUntil(world, timeoutMs, () => exited || isReady());
  if (exited) refuseEnded(dataDir, logFile);
  child.unref();
  const running = readRunFile(dataDir);
  if (done && running !== undefined) return running;
  if (child.pid !== undefined) await stopProcess(uninterrupted(world), child.pid);
  checkInterrupted(world.interrupted);
  throw new WaitError('the service did not start in time', { hint: `see ${logFile}` });
}

/** Waits for the service that another process starts on the same data; undefined if that process ends, or takes too long. */
async function findOther(world: World, dataDir: string): Promise<Running | undefined> {
  const end = world.now() + timeoutMs;
  while (world.now() < end && !world.interrupted.aborted) {
    const isStarting = isHeld(world, dataDir);
    const running = await findRunning(world, dataDir);
    if (running !== undefined || !isStarting) return running;
    await setTimeout(20);
  }
  return undefined;
}

/** Starts a service, or finds the one that another process starts on the same data at the same time. */
async function launchOnce(context: Context, dataDir: string, options: ServeOptions): Promise<{ running: Running; isNew: boolean }> {
  try {
    return { running: await launch(context, dataDir, options), isNew: true };
  } catch (error) {
    const running = error instanceof LocalError ? await findOther(context.world, dataDir) : undefined;
    if (running === undefined) throw error;
    return { running, isNew: false };
  }
}

/** The fields of the output of `start`, so that unknown ones are refused before it. */
export const startedFields = [
  'computeUrl',
  'storUrl',
  'account',
  'accountId',
  'keyId',
  'keyFile',
  'accounts',
  'caFile',
  'dataDir',
  'isolation',
  'pid',
  'version',
  'commit',
  'profile',
];

/** The output of `start`. @param profile name of the first account's profile; undefined if none was written */
export function describeStarted(running: Running, profile: string | undefined): Output {
  const { instance: _, startedAt: __, jobsOff: ___, memoryLimit: ____, temporary: _____, accounts = [], ...told } = running;
  if (profile === undefined) return record({ ...told, accounts }, { id: 'computeUrl', fields: startedFields });
  const shown = accounts.map((each) => ({ ...each, profile: accountProfileOf(profile, each.account) }));
  return record({ ...told, profile, ...(shown.length > 0 && { accounts: shown }) }, { id: 'computeUrl', fields: startedFields });
}

/** The data directory of a service. Each replay of a recording gets a new one, so that no other data is used or changed. */
function startedDataOf(context: Context, { data, replay }: ServeOptions): string {
  if (data !== undefined || replay === undefined) return dataDirOf(context, data);
  const dataDir = join(context.paths.data, 'replays', randomUUID());
  assertOwnDataDirectory(dataDir);
  return dataDir;
}

export const start = command({
  summary: 'Start both services on this machine',
  description:
    'The first start creates an account with a key, sample images, packages and directories, and a profile: "local", or "local-2" and so on while that belongs to other data. Later starts with the same data write the same profile, and --profile NAME chooses another. Data is kept until cloud local reset. Tasks of jobs run in a sandbox: bubblewrap if installed, otherwise Linux namespaces. Where neither works, jobs are rejected, unless --isolation none (or CLOUD_LOCAL_ISOLATION=none) runs tasks as your user without a sandbox.',
  options: serveOptions,
  fields: startedFields,
  changes: true,
  run: async (invocation) => {
    const { options, world, note, warn } = invocation;
    const dataDir = startedDataOf(invocation, options);
    const asked = invocation.settingGiven('profile');
    // Checked here, because the background process could report errors only in its log.
    readLimits(options.limit);
    readIsolation(world, options.isolation);
    (await readReplay(invocation, options))?.close();
    if (asked !== undefined)
      for (const name of [asked, ...options.addAccount.map((login) => accountProfileOf(asked, login))])
        checkProfile(invocation, name, dataDir);
    const kept = describeKept(dataDir, options);
    const lost = findMissingFolder(dataDir);
    if (lost !== undefined) warn(`${lost}; ${damageHint}`);
    const found = await findRunning(world, dataDir);
    const { running, isNew } =
      found === undefined
        ? await spin(invocation, 'Starting', () => launchOnce(invocation, dataDir, options))
        : { running: found, isNew: false };
    const profile = await undoOnFailure(
      async () => isNew && (await stopProcess(uninterrupted(world), running.pid)),
      async () => writeProfiles(invocation, running, { asked, usual: options.replay === undefined ? 'local' : 'replay' }),
    );
    const [, , , , ...given] = serveWords(dataDir, options, invocation.settingGiven('account'));
    note(
      isNew
        ? `Running; profile ${profile}${invocation.profiles.current() === profile ? ' is the current one' : `: cloud --profile ${profile} ...`}`
        : `Already running${given.length > 0 ? '; options apply only at the start' : ''}`,
    );
    if (kept !== undefined && isNew) note(kept);
    if (options.replay !== undefined && isNew)
      note(`Replaying the recording; to stop: cloud local stop --data ${dataDir} && cloud local reset -y --data ${dataDir}`);
    const difference = isNew ? undefined : describeDifference(running);
    if (difference !== undefined) warn(difference);
    if (running.jobsOff !== undefined) warn(running.jobsOff);
    return describeStarted(running, profile);
  },
  examples: [
    { line: 'cloud local start', help: 'Start, and create the profile "local"' },
    {
      line: 'cloud local start --data ./data --compute-port 0 --stor-port 0 -j',
      help: 'For a test: separate data, free ports, addresses as JSON',
    },
    {
      line: 'cloud local start --add-account other',
      help: 'With a second account and the profile "local-other"',
    },
    { line: 'cloud local start --isolation none', help: 'Run tasks of jobs without a sandbox: in a container, on macOS' },
    { line: 'cloud local start --replay suite.jsonl', help: 'Without a cloud: replay a recording of cloud local record' },
    { line: 'cloud local start --limit user-keys=10,role-members=20', help: 'Test how your program handles limits' },
  ],
});
