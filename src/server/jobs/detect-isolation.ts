import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import {
  createBubblewrap,
  createNamespaces,
  createOpenIsolation,
  findBash,
  findProgram,
  type FilterFiles,
  type Isolation,
  type SandboxParts,
} from './isolation.ts';
import type { IsolationKind } from '../../api/isolation.ts';
import { findControlGroups } from './control-groups.ts';
import { findFilterLoader } from './filter-loader.ts';
import { readHelp } from './read-help.ts';
import { removeTree } from './remove-tree.ts';
import { createSeccompFilter } from './seccomp.ts';
import { findNodeFolder, prepareVisibleSystem, runnerShell, type ReadOnlyBind } from './visible-system.ts';
import { canIdentify } from './zone-place.ts';
import { prepareZone, startZone } from './zone.ts';

/** Result of the detection of an isolation for tasks on this machine. */
export type Detected =
  | { readonly isolation: Isolation }
  | {
      readonly refusal: string;
      /** Set if the detection did not finish because the service was shutting down. */
      readonly isUnknown?: true;
    };

/** Options of `detectIsolation`. */
export interface DetectOptions {
  readonly dataDir: string;
  /** The required kind of isolation; if absent, the strongest kind that this machine supports. */
  readonly wanted?: IsolationKind | undefined;
  /** Additional program directories for tasks. */
  readonly tools?: readonly ReadOnlyBind[] | undefined;
  readonly log: (line: string) => void;
  /**
   * Receives the promise of the removal of a trial sandbox, about 100 ms of work that does not affect the result; if absent, the removal is
   * awaited.
   */
  readonly follow?: ((work: Promise<void>) => void) | undefined;
  /** Aborts the detection when its result is no longer needed. */
  readonly signal?: AbortSignal | undefined;
}

/** Time limit of a trial sandbox, milliseconds. */
const trialTime = 10_000;

/** Memory limit of a trial sandbox, MiB; set so that the trial covers memory limits too. */
const trialMemory = 64;

/** Exits with 0 if the sandbox gives tasks what they are promised; each failure has its own exit code. */
const trialScript = `
while read -r name value _; do
  case $name in
    CapInh: | CapPrm: | CapEff: | CapBnd: | CapAmb:) [ "$value" = 0000000000000000 ] || exit 10 ;;
    NoNewPrivs:) [ "$value" = 1 ] || exit 11 ;;
    Seccomp:) [ "$value" -ge "$CLOUD_TRIAL_FILTER" ] || exit 12 ;;
  esac
done </proc/self/status
{ : </proc/1/environ; } 2>/dev/null && exit 13
[ ! -e "$CLOUD_TRIAL_DATA" ] && [ ! -e /home ] && [ ! -e /root ] && [ ! -e /tmp/.zone ] || exit 14
{ : >/usr/.trial; } 2>/dev/null && exit 15
{ : >/.trial; } 2>/dev/null && exit 16
{ : >/tmp/work/.trial; } || exit 17
exit 0
`;

const trialFailures: Readonly<Record<number, string>> = {
  10: 'tasks would keep capabilities',
  11: 'tasks could gain privileges',
  12: 'the system call filter was not loaded',
  13: 'tasks could read the memory of the process that starts them (sysctl fs.suid_dumpable)',
  14: 'tasks would see files of this machine',
  15: 'tasks could write to /usr',
  16: 'tasks could write to the root',
  17: 'tasks could not write to their directory',
};

/** Starts a trial zone with this isolation. Returns why it failed; undefined if it succeeded. */
async function tryIsolation(
  isolation: Isolation,
  { dataDir, follow, signal }: Pick<DetectOptions, 'dataDir' | 'follow' | 'signal'>,
  hasFilter: boolean,
): Promise<string | undefined> {
  // Guards kill processes on the whole machine by the name of their zone, so the name must be unique.
  const name = randomUUID();
  const directory = join(dataDir, 'zones', name);
  try {
    await prepareZone(directory, isolation.identify(name));
    const environment = { CLOUD_TRIAL_DATA: dataDir, CLOUD_TRIAL_FILTER: hasFilter ? '2' : '0' };
    const zone = await startZone({
      isolation,
      name,
      directory,
      command: 'true',
      init: trialScript,
      memory: trialMemory,
      environment,
      timeLimit: trialTime,
    });
    const stop = (): void => void zone.end().catch(() => undefined);
    signal?.addEventListener('abort', stop, { once: true });
    if (signal?.aborted === true) stop();
    const { status } = await zone.ready
      .catch(async (error: unknown) => {
        await zone.end();
        throw error;
      })
      .finally(() => signal?.removeEventListener('abort', stop));
    const ended = zone.end();
    if (follow) follow(ended);
    else await ended;
    return status === 0 ? undefined : (trialFailures[status] ?? `its trial ended with ${status}`);
  } catch (error) {
    await removeTree(directory);
    return error instanceof Error ? error.message : String(error);
  }
}

/** A kind of sandbox that can be tried, or the reason why it cannot. */
interface Candidate {
  readonly kind: IsolationKind;
  readonly isolation?: Isolation;
  readonly hasFilter: boolean;
  readonly reason?: string;
}

async function prepareCandidate(kind: IsolationKind, parts: SandboxParts, path: string): Promise<Candidate> {
  const needed = {
    bubblewrap: ['bwrap', ...(parts.isRoot ? ['unshare', 'mount', 'setpriv'] : [])],
    namespaces: ['unshare', 'mount', 'setpriv', 'pivot_root'],
    none: [],
  };
  const missing = needed[kind].find((program) => findProgram(program, path.split(delimiter)) === undefined);
  if (missing !== undefined) return { kind, hasFilter: false, reason: `${missing === 'bwrap' ? 'bubblewrap' : missing} is not installed` };
  if (kind === 'bubblewrap') {
    if (parts.filters === undefined) return { kind, hasFilter: false, reason: `there is no system call filter for ${process.arch}` };
    const disableUserNamespaces = (await readHelp('bwrap')).includes('--disable-userns');
    return { kind, hasFilter: true, isolation: createBubblewrap(runnerShell, parts, { disableUserNamespaces }) };
  }
  const loader = parts.filters && (await findFilterLoader(parts.bash, parts.filters.usual));
  return { kind, hasFilter: loader !== undefined, isolation: createNamespaces(runnerShell, parts, loader) };
}

/** Writes the system call filters of this architecture; undefined if it has none. */
function writeFilters(folder: string): FilterFiles | undefined {
  const files = { usual: join(folder, 'filter'), sampled: join(folder, 'filter-sampled') };
  for (const kind of ['usual', 'sampled'] as const) {
    const filter = createSeccompFilter(process.arch, { isSampled: kind === 'sampled' });
    if (!filter) return undefined;
    writeFileSync(files[kind], filter, { mode: 0o600 });
  }
  return files;
}

async function prepareParts(bash: string, { dataDir, tools = [] }: DetectOptions): Promise<SandboxParts> {
  const kit = join(dataDir, 'sandbox');
  const kept = [homedir(), dataDir, process.cwd()];
  const system = prepareVisibleSystem({ kit, bash, node: process.execPath, kept, tools });
  return { bash, system, filters: writeFilters(kit), groups: await findControlGroups(), isRoot: canIdentify() };
}

/** Advice for machines without a sandbox. */
const isolationHint = 'install bubblewrap, or start the service with --isolation none to run tasks without a sandbox';

/**
 * Detects the strongest isolation that this machine supports, or the requested one. Without an explicit request it never falls back to
 * none.
 */
export async function detectIsolation(options: DetectOptions): Promise<Detected> {
  const { wanted, log } = options;
  const bash = findBash(process.env['PATH']);
  if (bash === undefined) return { refusal: 'jobs are off: there is no bash on this machine' };
  if (wanted === 'none') {
    log('jobs: tasks run without a sandbox (--isolation none): they can use the network and the files of this user');
    const programs = [...(options.tools ?? []).map(({ source }) => source), findNodeFolder(process.execPath) ?? []].flat();
    return { isolation: createOpenIsolation(bash, programs, await findControlGroups()) };
  }
  if (process.platform !== 'linux') {
    return {
      refusal: `jobs are off: there is no sandbox for tasks on ${process.platform}; start the service with --isolation none to run tasks without one`,
    };
  }
  const parts = await prepareParts(bash, options);
  const path = createOpenIsolation(bash).path;
  const reasons: string[] = [];
  for (const kind of wanted === undefined ? (['bubblewrap', 'namespaces'] as const) : [wanted]) {
    if (options.signal?.aborted === true) break;
    const { isolation, hasFilter, reason } = await prepareCandidate(kind, parts, path);
    const failure = isolation ? await tryIsolation(isolation, options, hasFilter) : reason;
    if (isolation && failure === undefined) {
      log(`jobs: tasks run in a sandbox (${kind}${hasFilter ? '' : ', without a system call filter'})`);
      return { isolation };
    }
    reasons.push(`${kind}: ${failure ?? 'unknown'}`);
  }
  if (options.signal?.aborted === true) return { refusal: 'jobs are off: the service is stopping', isUnknown: true };
  const refusal = `jobs are off: no sandbox works on this machine (${reasons.join('; ')}); ${isolationHint}`;
  log(refusal);
  return { refusal };
}
