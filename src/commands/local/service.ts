import type { LocalService } from '../../server/local.ts';
import type { Replay } from '../../server/recording/replay.ts';
import { kebab } from '../../config/settings.ts';
import { randomUUID, X509Certificate } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from '../../base/build.ts';
import { command, type Context } from '../../cli/command.ts';
import { readInput, resolvePath } from '../../cli/input.ts';
import { assertOwnDataDirectory, hasDatabase } from '../../base/data-directory.ts';
import { choice, duration, filePath, flag, folderPath, number, text, texts, type Values } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { writePrivate } from '../../base/private-files.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readLimits } from './limits.ts';
import { isolationKinds } from '../../api/isolation.ts';
import { openLog } from './log-file.ts';
import { instanceHeader, runFile, type Running } from './running.ts';
import { untilInterrupted } from '../../base/world.ts';

/** Variable that names the data directory of the services that commands are about; `cloud local run` sets it for its program. */
export const controlVariable = 'CLOUD_LOCAL_DATA';

/** Option for the data directory, for every command of `local`. */
export const dataOption = {
  data: folderPath(`Folder of the services' data; by default $${controlVariable}, else the data folder of cloud`),
};

/** Variable with the isolation of services that are started without --isolation. */
const isolationVariable = 'CLOUD_LOCAL_ISOLATION';

export const serveOptions = {
  ...dataOption,
  computePort: number('Port of the compute service; 0: any free port', { range: [0, 65535], placeholder: 'PORT' }),
  storPort: number('Port of the object storage; 0: any free port', { range: [0, 65535], placeholder: 'PORT' }),
  http: flag('Without TLS'),
  host: text('Address to listen on; this machine only by default', { placeholder: 'ADDRESS' }),
  allowJobs: flag('Run jobs even if other machines can reach the service'),
  isolation: choice(
    'Sandbox for tasks of jobs; by default the strongest that works here, and jobs are rejected if none works',
    isolationKinds,
  ),
  jobSlots: number('Number of concurrent tasks of jobs; number of cores by default', { range: [1, 1024] }),
  jobTimeLimit: duration('Time limit of a task of a job; 1h by default'),
  publicKey: filePath('Register this public key instead of a new one'),
  empty: flag('Without samples'),
  datacenter: text('Name of the datacenter', { placeholder: 'NAME' }),
  peer: texts('Offer the local service with this data as a datacenter to import images from', { placeholder: 'NAME=DIR' }),
  limits: flag('Show provisioning limits'),
  limit: texts('Set a limit of the services; see cloud help local-service', { placeholder: 'NAME=N' }),
  addAccount: texts('Add an account with a key and a profile', { placeholder: 'LOGIN' }),
  attestationAuthority: filePath('Trust key attestations issued under this certificate'),
  staleness: number('Delay until reads show changes of users, roles and policies', { range: [0, 3_600_000], placeholder: 'MS' }),
  throttle: text('Rate limit of the compute service, such as 10/s', { placeholder: 'N/s' }),
  latency: number('Delay every response', { range: [0, 600_000], placeholder: 'MS' }),
  fault: text('Add faults, such as createkey=InternalError*2', { placeholder: 'SPEC' }),
  replay: filePath('Replay this recording of cloud local record'),
};
export type ServeOptions = Values<typeof serveOptions>;

/** Returns the data directory. @throws {UsageError} if another user owns it or can write to it */
export function dataDirOf({ world, paths }: Context, data: string | undefined): string {
  const named = data ?? world.env[controlVariable];
  const dataDir = named === undefined || (data === undefined && named === '') ? join(paths.data, 'local') : resolvePath(world, named);
  assertOwnDataDirectory(dataDir);
  return dataDir;
}

/** Reads a rate limit, requests per second, from `10/s` or `10`. */
function readRate(throttle: string | undefined): number | undefined {
  if (throttle === undefined) return undefined;
  const rate = Number(/^(\d{1,9})(?:\/s)?$/.exec(throttle)?.[1] ?? 0);
  if (rate > 0) return rate;
  throw new UsageError(`--throttle ${throttle}: must be a number of requests per second`, { hint: 'for example --throttle 10/s' });
}

/** Reads the data directories of other local services, by the names that they get as datacenters. */
function readPeers(world: Context['world'], peers: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    peers.map((peer) => {
      const [, name, dir] = /^([^=/]+)=(.+)$/.exec(peer) ?? [];
      if (name !== undefined && dir !== undefined) return [name, resolvePath(world, dir)];
      throw new UsageError(`--peer ${peer}: must be a name and a data directory`, { hint: 'for example --peer west=./west' });
    }),
  );
}

/** Maximum time limit of a task, milliseconds: the longest delay of a timer. */
const longestTask = 24 * 24 * 3_600_000;

function checkTimeLimit(limit: number | undefined): number | undefined {
  if (limit === undefined || (limit > 0 && limit <= longestTask)) return limit;
  throw new UsageError('--job-time-limit: must be more than 0 and at most 24d', { hint: 'for example --job-time-limit 10m' });
}

export function readIsolation({ env }: Context['world'], given: ServeOptions['isolation']): ServeOptions['isolation'] {
  const named = env[isolationVariable];
  if (given !== undefined || named === undefined || named === '') return given;
  const found = isolationKinds.find((each) => each === named);
  if (found) return found;
  throw new UsageError(`${isolationVariable} is "${named}": must be one of ${isolationKinds.join(', ')}`);
}

/** Reads a certificate in PEM. */
async function readCertificate(world: Context['world'], file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const pem = (await readInput(world, file)).toString();
  try {
    return new X509Certificate(pem).toString();
  } catch {
    throw new UsageError(`--attestation-authority ${file}: not a certificate in PEM format`);
  }
}

/** Options that change how services behave or whom they know. They contradict --replay, by which services behave as the recorded cloud did and run no tasks. */
const behaving = [
  'fault',
  'throttle',
  'latency',
  'staleness',
  'limit',
  'limits',
  'peer',
  'addAccount',
  'datacenter',
  'attestationAuthority',
  'allowJobs',
  'isolation',
  'jobSlots',
  'jobTimeLimit',
  'publicKey',
] as const;

/** Opens the recording of --replay. @throws {UsageError} for a file that is not a recording, and for options that contradict it */
export async function readReplay({ world }: Context, options: ServeOptions): Promise<Replay | undefined> {
  if (options.replay === undefined) return undefined;
  const other = behaving.find((name) => ![undefined, false].includes(options[name] as undefined) && String(options[name]) !== '');
  if (other !== undefined)
    throw new UsageError(`--${kebab(other)} cannot be used with --replay: responses come from the recording`, {
      hint: `leave out --${kebab(other)}`,
    });
  const { openReplay } = await import('../../server/recording/replay.ts');
  return openReplay(resolvePath(world, options.replay));
}

/** Says before a start that --empty changes nothing, because there is data; undefined otherwise. */
export function describeKept(dataDir: string, { data, empty }: Pick<ServeOptions, 'data' | 'empty'>): string | undefined {
  if (!empty || !hasDatabase(dataDir)) return undefined;
  const line = `cloud local reset -y${data === undefined ? '' : ` --data ${quoteShell(dataDir)}`}`;
  return `--empty has no effect on the data in ${dataDir}; to delete it and begin without samples: ${line}`;
}

/** Starts both services in this process. */
export async function openService(invocation: Context, options: ServeOptions, log: (line: string) => void) {
  const { startLocal } = await import('../../server/local.ts');
  const { world } = invocation;
  const publicKey = options.publicKey === undefined ? undefined : (await readInput(world, options.publicKey)).toString();
  const instance = randomUUID();
  const dataDir = dataDirOf(invocation, options.data);
  const replay = await readReplay(invocation, options);
  makeFolders(dataDir, 0o700);
  const service = await startLocal({
    // Most options have the same name and meaning in the service.
    ...options,
    dataDir,
    computePort: options.computePort ?? 7443,
    storPort: options.storPort ?? 7444,
    isolation: readIsolation(world, options.isolation),
    jobTimeLimit: checkTimeLimit(options.jobTimeLimit),
    account: replay?.header.account ?? invocation.settingGiven('account'),
    publicKey,
    empty: options.empty || replay !== undefined,
    replay,
    peers: readPeers(world, options.peer),
    serviceLimits: readLimits(options.limit),
    addAccounts: options.addAccount,
    attestationAuthority: await readCertificate(world, options.attestationAuthority),
    throttle: readRate(options.throttle),
    faults: options.fault,
    now: world.now,
    headers: { [instanceHeader]: instance },
    log,
  });
  return { service, instance, replay };
}

/** Writes the file by which commands find a service. */
export function announce(running: Running): void {
  writePrivate(join(running.dataDir, runFile), `${JSON.stringify(running, null, 2)}\n`, { flush: running.temporary !== true });
}

/** What a service that has just started tells about itself. */
export function describeRunning(service: LocalService, instance: string, { pid }: Context['world']): Running {
  const { close: _, tried: __, ...told } = service;
  const { version, commit } = build;
  return { ...told, startedAt: new Date(told.startedAt).toISOString(), pid, instance, version, commit };
}

export const serve = command({
  summary: 'Run both services in the foreground',
  description: 'Logs go to stderr. On SIGTERM or Ctrl-C the services finish the requests in progress and stop.',
  options: serveOptions,
  run: async (invocation) => {
    const { options, world } = invocation;
    const dataDir = dataDirOf(invocation, options.data);
    const { add: log, flush } = openLog(invocation, dataDir);
    const kept = describeKept(dataDir, options);
    if (kept !== undefined) log(kept);
    const { service, instance } = await openService(invocation, options, log);
    const { close, tried } = service;
    let running = describeRunning(service, instance, world);
    const file = join(running.dataDir, runFile);
    announce(running);
    log(`compute ${running.computeUrl}, object storage ${running.storUrl}, account ${running.account}, data ${running.dataDir}`);
    const corrected = tried
      .then(({ isolation, jobsOff, memoryLimit }) => {
        if (isolation === running.isolation && memoryLimit === running.memoryLimit) return;
        running = { ...running, isolation, jobsOff, memoryLimit };
        announce(running);
      })
      .catch((error: unknown) => log(`jobs: the sandbox in ${file} may be wrong: ${String(error)}`));
    await untilInterrupted(world);
    log('stopping');
    await close();
    await corrected;
    rmSync(file, { force: true });
    flush();
    return undefined;
  },
  examples: [
    { line: 'cloud local serve', help: 'Until Ctrl-C' },
    { line: 'cloud local serve --data /tmp/cloud --compute-port 0 --stor-port 0', help: 'With separate data, on free ports' },
    {
      line: 'cloud local serve --data ./east --peer west=./west',
      help: 'Then cloud images import west ID fetches from the service in ./west',
    },
    { line: 'cloud local serve --staleness 3000 --throttle 20/s --latency 50', help: 'Simulate a slow and busy service' },
    { line: 'cloud local serve --fault createkey=InternalError*2,getimage=503:Down', help: 'Test how your program handles failures' },
  ],
});
