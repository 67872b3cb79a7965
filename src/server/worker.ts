import { hostname } from 'node:os';
import type { LimitValues } from '../api/service-limits.ts';
import { LocalError } from '../base/errors.ts';
import { undoOnFailure } from '../base/undo-on-failure.ts';
import { openMember, runMember, type Member, type MemberOptions } from './cluster-member.ts';
import { followCancelled } from './jobs/disabled-accounts.ts';
import { startJobEngine, type JobEngine } from './jobs/engine.ts';
import type { IsolationKind } from '../api/isolation.ts';
import type { MemberState } from './operator/member-metrics.ts';
import { openWorkerWatch, type AdminPlace, type Watch } from './operator/watch.ts';
import { usualSlots, type EngineOptions, type TaskObserver } from './jobs/engine-options.ts';
import { repeatRegularly } from './repeat-regularly.ts';
import type { Store } from './store/store.ts';

/** A worker: a process that runs tasks of jobs and serves no requests. */

/** Options of a worker; the settings of `cloud server worker`. */
export interface WorkerOptions
  extends Omit<MemberOptions, 'log'>, Pick<EngineOptions, 'slots' | 'accountTasks' | 'timeLimit' | 'now' | 'log'> {
  /** Maximum bytes and objects of accounts without limits of their own, as for gateways. */
  readonly serviceLimits?: Pick<LimitValues, 'accountBytes' | 'accountObjects'> | undefined;
  /** The required kind of isolation of tasks; when absent, the strongest kind that the machine supports. */
  readonly isolation?: IsolationKind | undefined;
  /** True if the worker must not start without a sandbox. */
  readonly requireIsolation?: boolean | undefined;
  /** Address of the admin port; none when absent. */
  readonly admin?: AdminPlace;
  /** URL of the object storage for the environment of tasks; when absent, the URL that gateways have stored in the database. */
  readonly storUrl?: string | undefined;
}

/** A running worker. */
export interface Worker {
  /** Id of its lease. */
  readonly id: string;
  readonly adminUrl: string | undefined;
  readonly isolation: IsolationKind;
  /** Claims no further tasks, lets running ones finish for up to `graceMs`, and gives back the rest. */
  close(graceMs?: number): Promise<void>;
}

/** Milliseconds between two polls for the URL of the object storage, which the operator may change, and while it is not known. */
const pause = 10_000;
const firstPause = 2000;

/** The URL of the object storage that gateways have stored in the database. */
async function readUrl({ db }: Store): Promise<string | undefined> {
  const row = await db.selectFrom('services').select('url').where('name', '=', 'storage').executeTakeFirst();
  return row?.url;
}

/** Follows the URL of the object storage, unless it is given; it is empty until a gateway has stored one. */
function followUrl(store: Store, given = ''): { url: () => string; stop: () => Promise<void> } {
  let url = given;
  const stop = repeatRegularly(
    async () => {
      if (given === '') url = (await readUrl(store).catch(() => undefined)) ?? url;
    },
    () => (url === '' ? firstPause : pause),
    0,
  );
  return { url: () => url, stop };
}

/** Starts the engine. @throws {LocalError} if tasks cannot be isolated as required */
async function startEngine(
  store: Store,
  given: { dataDir: string; owner: string; url: () => string; observer: TaskObserver | undefined },
  { slots, accountTasks, serviceLimits, isolation, timeLimit, requireIsolation = false, now, log }: WorkerOptions,
): Promise<{ engine: JobEngine; kind: IsolationKind }> {
  const limits = { slots, accountTasks, timeLimit, serviceLimits };
  const engine = startJobEngine({ ...limits, ...given, store, server: hostname(), isolation, now, log });
  const found = await engine.detected;
  const kind = 'isolation' in found ? found.isolation.kind : undefined;
  if (kind !== undefined && (kind !== 'none' || !requireIsolation)) return { engine, kind };
  await engine.close();
  throw new LocalError('refusal' in found ? found.refusal : 'tasks would run without a sandbox, and --require-isolation is given');
}

/** Runs tasks as an open member of a cluster. */
async function work(
  { store, lease, dataDir }: Member,
  { watch, state }: { watch: Watch<TaskObserver>; state: MemberState },
  options: WorkerOptions,
): Promise<Worker> {
  const { url, stop: endFollowing } = followUrl(store, options.storUrl);
  return undoOnFailure(endFollowing, async () => {
    const { id } = lease;
    const { observer, adminUrl } = watch;
    const { engine, kind } = await startEngine(store, { dataDir, owner: id, url, observer }, options);
    const stopFollowing = followCancelled(store, engine.wake, options.log);
    state.phase = 'serving';
    return {
      id,
      adminUrl,
      isolation: kind,
      close: async (graceMs) => {
        state.phase = 'draining';
        await stopFollowing();
        await engine.close(graceMs);
        await endFollowing();
      },
    };
  });
}

/**
 * Runs tasks of the jobs of a PostgreSQL database, together with any number of other workers and gateways.
 * @throws {LocalError} if the database, a directory or the admin port cannot be used, or tasks cannot be isolated as required
 */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const state: MemberState = { phase: 'starting' };
  const watch = await openWorkerWatch(options.admin, state);
  return runMember(watch, openMember('worker', { ...options, time: options.now, slots: options.slots ?? usualSlots() }), (member) => {
    state.lease = member.lease;
    return work(member, { watch, state }, options);
  });
}
