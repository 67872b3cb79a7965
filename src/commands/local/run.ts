import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '../../base/run-program.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { createContradiction, quietly, UsageError } from '../../base/errors.ts';
import { removeFolder } from '../../base/remove-folder.ts';
import { filePath, folderPath, many, text, texts, type Values } from '../../cli/parameters.ts';
import { homeVariable } from '../../config/paths.ts';
import type { LocalService } from '../../server/local.ts';
import { describeEnvironment } from './environment.ts';
import { putFixtures, readFixtures } from './fixtures.ts';
import { endStarted, homeName, makeHome, makeScratch } from './scratch.ts';
import { announce, controlVariable, dataDirOf, describeRunning, openService, serveOptions } from './service.ts';
import { copyData } from './state.ts';

const { data: _, computePort: __, storPort: ___, host: ____, allowJobs: _____, ...shared } = serveOptions;

const runOptions = {
  ...shared,
  addAccount: texts('Add an account with a key; CLOUD_LOCAL_ACCOUNTS has both', { placeholder: 'LOGIN' }),
  snapshot: text('Start with the state of this snapshot', { placeholder: 'NAME', values: 'snapshot' }),
  data: folderPath('Start with the state of the services with this data'),
  fixtures: text('Add objects and users first; see local seed', { placeholder: 'DIR|FILE', values: 'file' }),
  log: filePath("Write the services' log to this file"),
};
/** Variable with the accounts of --add-account, as JSON. */
const accountsVariable = 'CLOUD_LOCAL_ACCOUNTS';

type RunOptions = Values<typeof runOptions>;

/** Creates the template: the data of a first start. */
async function makeTemplate(dataDir: string): Promise<void> {
  const { startLocal } = await import('../../server/local.ts');
  const service = await startLocal({ dataDir, computePort: 0, storPort: 0, isolation: 'none' });
  await service.close(0);
}

/** True if a first start with these options creates the same data as the template. */
function isUsual({ settingGiven }: Context, { publicKey, empty, datacenter, addAccount, http, replay }: RunOptions): boolean {
  return (
    settingGiven('account') === undefined &&
    replay === undefined &&
    publicKey === undefined &&
    !empty &&
    datacenter === undefined &&
    addAccount.length === 0 &&
    !http
  );
}

/** The environment of the program, by which it and the older tools reach the services. */
function describeService(world: Context['world'], service: LocalService, home: string): NodeJS.ProcessEnv {
  const { account, keyId, keyFile, computeUrl: url, storUrl, caFile: ca, dataDir, accounts } = service;
  const values = { account, keyId, keyFile, url, storUrl, ca };
  return {
    ...describeEnvironment(world, values, dataDir),
    [homeVariable]: home,
    [controlVariable]: dataDir,
    [accountsVariable]: JSON.stringify(accounts),
  };
}

/** Warns of requests of the program that the recording has no response for. */
function reportUnmatched({ warn }: Context, [first, ...others]: readonly string[]): void {
  if (first === undefined) return;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  warn(`the recording has no response to ${first}${more}: record it again with cloud local record`);
}

function openLog(world: Context['world'], file: string | undefined): { log: (line: string) => void; close: () => void } {
  if (file === undefined) return { log: () => undefined, close: () => undefined };
  const { O_WRONLY, O_CREAT, O_APPEND } = constants;
  const descriptor = openSync(resolvePath(world, file), O_WRONLY | O_CREAT | O_APPEND, 0o644);
  return {
    // The service goes on without its log, whose disk may be full or whose reader may be gone.
    log: (line) => void quietly(() => writeSync(descriptor, `${new Date(world.now()).toISOString()} ${line}\n`), 0),
    close: () => closeSync(descriptor),
  };
}

export const run = command({
  summary: 'Run a program with its own services',
  description:
    'Starts fresh services on free ports and removes everything when the program ends. For the program alone it sets CLOUD_*, TRITON_*, SDC_* and MANTA_* and the trusted certificate authorities (NODE_EXTRA_CA_CERTS, SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE). In the program, cloud uses a folder of the run (CLOUD_HOME) instead of your profiles, and local services end with it. The exit code is that of the program, 127 if it does not exist and 126 if it cannot be executed.',
  arguments: { command: many('Program and its arguments, after --') },
  usage: '-- COMMAND [ARGUMENT...]',
  options: runOptions,
  run: async (invocation) => {
    const { args, options, world, paths, warn } = invocation;
    const [program = '', ...words] = args.command;
    const { log, close } = openLog(world, options.log);
    const { snapshot, data, fixtures, ...given } = options;
    const lines = fixtures === undefined ? [] : readFixtures(resolvePath(world, fixtures));
    const isCopy = snapshot !== undefined || data !== undefined;
    if (isCopy && options.replay !== undefined)
      throw new UsageError('--replay cannot be used with --data or --snapshot: responses come from the recording');
    if (fixtures !== undefined && options.replay !== undefined)
      throw new UsageError('--fixtures cannot be used with --replay: responses come from the recording', { hint: 'leave out --fixtures' });
    if (isCopy && options.empty) throw createContradiction('--empty', snapshot === undefined ? '--data' : '--snapshot');
    const isTemplate = !isCopy && isUsual(invocation, options);
    const dataDir = await makeScratch(paths, world, isTemplate ? makeTemplate : undefined);
    try {
      if (isCopy) await copyData(world, dataDirOf(invocation, data), snapshot, dataDir);
      const serving = { ...given, data: dataDir, computePort: 0, storPort: 0, host: undefined, allowJobs: false };
      const { service, instance, replay } = await openService(invocation, serving, log);
      const home = join(dataDir, homeName);
      try {
        makeHome(home);
        announce({ ...describeRunning(service, instance, world), temporary: true });
        const env = describeService(world, service, home);
        await putFixtures(world, lines, env);
        const exitCode = await runProgram(program, words, env, world);
        if (replay !== undefined) reportUnmatched(invocation, replay.unmatched);
        return { kind: 'none', exitCode };
      } finally {
        for (const ended of await Promise.allSettled([service.close(0), endStarted(world, home)]))
          if (ended.status === 'rejected') warn(ended.reason instanceof Error ? ended.reason.message : String(ended.reason));
      }
    } finally {
      await removeFolder(dataDir);
      close();
    }
  },
  examples: [
    { line: 'cloud local run -- npm test', help: 'A test suite with fresh services' },
    { line: "cloud local run -- sh -c 'cloud stor put README.md x && cloud stor cat x'", help: 'Several commands' },
    { line: 'cloud local run --snapshot ready -- npm test', help: 'Start with the state of a snapshot' },
    { line: 'cloud local run --fixtures ./fixtures -- npm test', help: 'With the objects, users and roles of a directory' },
    { line: 'cloud local run --replay suite.jsonl -- npm test', help: 'Without a cloud: replay a recording of cloud local record' },
    {
      line: 'cloud local run --fault getobject=InternalError*2 --log requests.log -- ./check',
      help: 'With faults, and a log of requests',
    },
  ],
});
