import { spawn } from 'node:child_process';
import { randomUUID, X509Certificate } from 'node:crypto';
import { closeSync, constants, openSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { command, type Context } from '../../cli/command.ts';
import { readInput, resolvePath } from '../../cli/input.ts';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { choice, duration, flag, number, text, texts, type Values } from '../../cli/parameters.ts';
import { kebab } from '../../config/settings.ts';
import { LocalError, UsageError, WaitError } from '../../base/errors.ts';
import { record } from '../../output/kinds.ts';
import { writePrivate } from '../../base/private-files.ts';
import { withSpinner } from '../../output/spinner.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from './limits.ts';
import { accountProfileOf, checkProfile, writeProfile } from './profile.ts';
import { logFileOf, watchLog } from './log-file.ts';
import { describeDifference, findRunning, instanceHeader, readRunFile, runFile, waitUntil, type Running } from './running.ts';

/** Longest time that a service may take to start or stop, milliseconds. */
const patience = 20_000;

/** With less space than this, bytes, nothing can be stored. */
const leastSpace = 64 * 1024;

/** Where a data directory is, for every command of `local`. */
export const dataOption = { data: text('Folder of its data', { placeholder: 'DIR', values: 'directory' }) };

const isolations = ['bubblewrap', 'namespaces', 'none'] as const;

/** Sets the isolation of services that are started without --isolation. */
const isolationVariable = 'CLOUD_LOCAL_ISOLATION';

export const serveOptions = {
  ...dataOption,
  computePort: number('Port of the compute service; 0 for any free one', { range: [0, 65535], placeholder: 'PORT' }),
  storPort: number('Port of the object storage; 0 for any free one', { range: [0, 65535], placeholder: 'PORT' }),
  http: flag('Without TLS'),
  host: text('Address to listen on; this machine only when absent', { placeholder: 'ADDRESS' }),
  allowJobs: flag('Run jobs although others can reach the service'),
  isolation: choice(
    'Sandbox for tasks of jobs; the strongest that this machine allows when absent, and jobs are refused where it allows none',
    isolations,
  ),
  jobSlots: number('Tasks of jobs that run at once; as many as there are cores when absent', { range: [1, 1024] }),
  jobTimeLimit: duration('Longest time of a task of a job; 1h when absent'),
  publicKey: text('Register this public key instead of making a key', { placeholder: 'FILE', values: 'file' }),
  empty: flag('Without samples'),
  datacenter: text('Name of the datacenter', { placeholder: 'NAME' }),
  peer: texts('Images can be imported from the local service with this data, as a datacenter', { placeholder: 'NAME=DIR' }),
  limits: flag('Show provisioning limits'),
  limit: texts('Set a limit of the services; cloud help local-service lists them', { placeholder: 'NAME=N' }),
  addAccount: texts('Add an account with a key and a profile of its own', { placeholder: 'LOGIN' }),
  attestationAuthority: text('Believe attestations of keys under this certificate', { placeholder: 'FILE', values: 'file' }),
  staleness: number('Let reads of users, roles and policies lag behind writes', { range: [0, 3_600_000], placeholder: 'MS' }),
  throttle: text('Answer 420 to more compute requests a second than this, like 10/s', { placeholder: 'N/s' }),
  latency: number('Let every reply wait', { range: [0, 600_000], placeholder: 'MS' }),
  fault: text('Failures to have, like createkey=InternalError*2', { placeholder: 'SPEC' }),
};
type ServeOptions = Values<typeof serveOptions>;

/** The data directory that is meant. @throws {UsageError} for one that somebody else made or can write to */
export function dataDirOf({ world, paths }: Context, data: string | undefined): string {
  const dataDir = data === undefined ? join(paths.data, 'local') : resolvePath(world, data);
  assertOwnDataDirectory(dataDir);
  return dataDir;
}

/** Requests a second, written as `10/s` or `10`. */
function readRate(throttle: string | undefined): number | undefined {
  if (throttle === undefined) return undefined;
  const rate = Number(/^(\d{1,9})(?:\/s)?$/.exec(throttle)?.[1] ?? 0);
  if (rate > 0) return rate;
  throw new UsageError(`--throttle ${throttle}: must be a number of requests a second`, { hint: 'for example --throttle 10/s' });
}

/** Data directories of other local services by the names they are to have. */
function readPeers(world: Context['world'], peers: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    peers.map((peer) => {
      const [, name, dir] = /^([^=/]+)=(.+)$/.exec(peer) ?? [];
      if (name !== undefined && dir !== undefined) return [name, resolvePath(world, dir)];
      throw new UsageError(`--peer ${peer}: must be a name and a data directory`, { hint: 'for example --peer west=./west' });
    }),
  );
}

/** Longest time limit: what a timer can wait. */
const longestTask = 24 * 24 * 3_600_000;

function checkTimeLimit(limit: number | undefined): number | undefined {
  if (limit === undefined || (limit > 0 && limit <= longestTask)) return limit;
  throw new UsageError('--job-time-limit: must be more than nothing and at most 24d', { hint: 'for example --job-time-limit 10m' });
}

function readIsolation({ env }: Context['world'], given: ServeOptions['isolation']): ServeOptions['isolation'] {
  const named = env[isolationVariable];
  if (given !== undefined || named === undefined || named === '') return given;
  const found = isolations.find((each) => each === named);
  if (found) return found;
  throw new UsageError(`${isolationVariable} is "${named}": must be one of ${isolations.join(', ')}`);
}

/** A certificate in PEM. */
async function readCertificate(world: Context['world'], file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const pem = (await readInput(world, file)).toString();
  try {
    return new X509Certificate(pem).toString();
  } catch {
    throw new UsageError(`--attestation-authority ${file}: is not a certificate in PEM`);
  }
}

/** Starts both services in this process. */
export async function openService(invocation: Context, options: ServeOptions, log: (line: string) => void) {
  const { startLocal } = await import('../../server/local.ts');
  const { world } = invocation;
  const publicKey = options.publicKey === undefined ? undefined : (await readInput(world, options.publicKey)).toString();
  const instance = randomUUID();
  const dataDir = dataDirOf(invocation, options.data);
  makeFolders(dataDir, 0o700);
  const service = await startLocal({
    dataDir,
    computePort: options.computePort ?? 7443,
    storPort: options.storPort ?? 7444,
    http: options.http,
    host: options.host,
    allowJobs: options.allowJobs,
    isolation: readIsolation(world, options.isolation),
    jobSlots: options.jobSlots,
    jobTimeLimit: checkTimeLimit(options.jobTimeLimit),
    account: invocation.settingGiven('account'),
    publicKey,
    empty: options.empty,
    datacenter: options.datacenter,
    peers: readPeers(world, options.peer),
    limits: options.limits,
    serviceLimits: readLimits(options.limit),
    addAccounts: options.addAccount,
    attestationAuthority: await readCertificate(world, options.attestationAuthority),
    staleness: options.staleness,
    throttle: readRate(options.throttle),
    latency: options.latency,
    faults: options.fault,
    now: world.now,
    headers: { [instanceHeader]: instance },
    log,
  });
  return { service, instance };
}

export const serve = command({
  summary: 'Run both services in the foreground',
  description: 'Logs go to stderr. SIGTERM or Ctrl-C ends it: requests under way are finished first.',
  options: serveOptions,
  run: async (invocation) => {
    const { options, world, note } = invocation;
    const watch = watchLog(dataDirOf(invocation, options.data));
    const log = (text: string): void => {
      const line = `${new Date(world.now()).toISOString()} ${text}`;
      watch(line);
      note(line);
    };
    const { service, instance } = await openService(invocation, options, log);
    const { close, tried, ...told } = service;
    let running: Running = {
      ...told,
      startedAt: new Date(told.startedAt).toISOString(),
      pid: world.pid,
      instance,
      version: build.version,
      commit: build.commit,
    };
    const file = join(running.dataDir, runFile);
    const announce = (): void => writePrivate(file, `${JSON.stringify(running, null, 2)}\n`);
    announce();
    log(`compute ${running.computeUrl}, object storage ${running.storUrl}, account ${running.account}, data ${running.dataDir}`);
    const corrected = tried
      .then(({ isolation, jobsOff, memoryLimit }) => {
        if (isolation === running.isolation && memoryLimit === running.memoryLimit) return;
        running = { ...running, isolation, jobsOff, memoryLimit };
        announce();
      })
      .catch((error: unknown) => log(`jobs: what ${file} says of the sandbox may be wrong: ${String(error)}`));
    await new Promise<void>((resolve) => {
      if (world.interrupted.aborted) resolve();
      world.interrupted.addEventListener('abort', () => resolve(), { once: true });
    });
    log('stopping');
    await close();
    await corrected;
    rmSync(file, { force: true });
    return undefined;
  },
  examples: [
    { line: 'cloud local serve', help: 'Until Ctrl-C' },
    { line: 'cloud local serve --data /tmp/cloud --compute-port 0 --stor-port 0', help: 'Apart from the usual one, on free ports' },
    { line: 'cloud local serve --data ./east --peer west=./west', help: 'cloud images import west ID fetches from the one in ./west' },
    { line: 'cloud local serve --staleness 3000 --throttle 20/s --latency 50', help: 'As slow and busy as a real one' },
    { line: 'cloud local serve --fault createkey=InternalError*2,getimage=503:Down', help: 'Test what your program does about failures' },
  ],
});

/** The words that make `serve` do what `start` was asked for. */
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

/** What the service said last, to explain why it is not running. */
function readLogEnd(file: string): string {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.findLast((line) => line.startsWith('cloud local serve'))?.replace(/^.*?: /, '') ?? lines.at(-1) ?? '';
}

/** Why the service is not running. On a full disk it cannot even say it. */
function explainEnd(dataDir: string, logFile: string): string {
  const { bavail, bsize } = statfsSync(dataDir);
  return bavail * bsize < leastSpace ? `no space left on the disk of ${dataDir}` : readLogEnd(logFile);
}

async function launch(context: Context, dataDir: string, options: ServeOptions): Promise<Running> {
  const { world } = context;
  makeFolders(dataDir, 0o700);
  const logFile = logFileOf(dataDir);
  const log = openSync(logFile, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  const words = serveWords(dataDir, options, context.settingGiven('account'));
  const child = spawn(world.executable, [world.program, ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    cwd: world.cwd,
    env: { ...world.env },
  });
  closeSync(log);
  let exited = false;
  child.on('exit', () => {
    exited = true;
  });
  const isReady = (): boolean => readRunFile(dataDir)?.pid === child.pid;
  const done = await waitUntil(world, patience, () => exited || isReady());
  if (exited) {
    const end = explainEnd(dataDir, logFile);
    const isTaken = /port \d+ of \S+ is in use/.test(end);
    const hint = isTaken ? 'on free ports: cloud local start --compute-port 0 --stor-port 0' : `see ${logFile}`;
    throw new LocalError(`the service did not start: ${end}`, { hint });
  }
  child.unref();
  const running = readRunFile(dataDir);
  if (!done || running === undefined) throw new WaitError('the service did not start in time', { hint: `see ${logFile}` });
  return running;
}

export const start = command({
  summary: 'Start both services on this machine',
  description:
    'The first start makes an account with a key, images, packages and directories to try, and the profile by which they are reached. Data is kept until cloud local reset. Tasks of jobs run in a sandbox: of bubblewrap where that is installed, otherwise of Linux namespaces; where neither can be made, jobs are refused, unless --isolation none (or CLOUD_LOCAL_ISOLATION=none) lets tasks run as this user without one.',
  options: serveOptions,
  run: async (invocation) => {
    const { options, world, note, warn, global } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const profile = invocation.settingGiven('profile') ?? 'local';
    // Refused here rather than by the process that is started, which could only write it into its log.
    readLimits(options.limit);
    readIsolation(world, options.isolation);
    for (const name of [profile, ...options.addAccount.map((login) => accountProfileOf(profile, login))])
      checkProfile(invocation, name, dataDir);
    const before = await findRunning(world, dataDir);
    const running =
      before ??
      (await withSpinner(world.stderr, 'Starting', () => launch(invocation, dataDir, options), { quiet: global.quiet, env: world.env }));
    writeProfile(invocation, profile, running, running);
    const accounts = (running.accounts ?? []).map((each) => ({ ...each, profile: accountProfileOf(profile, each.account) }));
    for (const each of accounts) writeProfile(invocation, each.profile, running, each);
    const [, , , , ...asked] = serveWords(dataDir, options, invocation.settingGiven('account'));
    note(
      before
        ? `Already running${asked.length > 0 ? ', as it was started: options count when it starts' : ''}`
        : `Running; profile ${profile}${invocation.profiles.current() === profile ? ' is the current one' : `: cloud --profile ${profile} ...`}`,
    );
    const difference = before && describeDifference(before);
    if (difference !== undefined) warn(difference);
    if (running.jobsOff !== undefined) warn(running.jobsOff);
    const { instance: _, startedAt: __, jobsOff: ___, memoryLimit: ____, ...told } = running;
    return record({ ...told, profile, ...(accounts.length > 0 && { accounts }) }, { id: 'computeUrl' });
  },
  examples: [
    { line: 'cloud local start', help: 'Start, and make the profile "local"' },
    {
      line: 'cloud local start --data ./data --compute-port 0 --stor-port 0 -j',
      help: 'For a test: own data, free ports, JSON that tells them',
    },
    {
      line: 'cloud local start --add-account other',
      help: 'A second account, with the profile "local-other"',
    },
    { line: 'cloud local start --isolation none', help: 'Run tasks of jobs where no sandbox can be made: in a container, on macOS' },
    { line: 'cloud local start --limit user-keys=10,role-members=20', help: 'Test what your program does when a limit is reached' },
  ],
});
