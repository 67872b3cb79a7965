import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadJob, type ActiveJob, type ActivePhase, type ActiveZone } from './active-job.ts';
import { createBackground, type Background } from './background.ts';
import { listRunningJobs } from './claims.ts';
import { detectIsolation, type Detected } from './detect-isolation.ts';
import type { Isolation } from './isolation.ts';
import { openZone } from './open-zone.ts';
import { createEnding, type Ending } from './ending.ts';
import { createTaskLeases } from './leases.ts';
import { isQuick } from './pace.ts';
import { isJobOver } from './progress.ts';
import { createRecorder } from './recorder.ts';
import { removeTree } from './remove-tree.ts';
import { installTools, toolsTarget } from './tools/install.ts';
import { createScheduler } from './scheduler.ts';
import { createSlots } from './slots.ts';
import { createZoneLoads } from './zone-loads.ts';
import { watchJobs } from './watch.ts';
import type { Result } from './result.ts';
import { usualSlots, type EngineOptions } from './engine-options.ts';

/** The interface of the job engine for request handlers. */
export interface JobService {
  /** Reports a change of a job: it was created or cancelled, its input ended, or it got more input. */
  wake(job: string): void;
  /** Why the service cannot continue a job at present; undefined if it can. */
  problemOf(job: string): string | undefined;
  /** How tasks are isolated from the rest of the machine, or why none can run; undefined where other processes run them. */
  readonly detected: Promise<Detected | undefined>;
}

/** Runs the jobs of the local service, or tasks beside other engines. */
export interface JobEngine extends JobService {
  readonly detected: Promise<Detected>;
  /**
   * Kills running tasks. Their jobs continue at the next start, or on another engine.
   * @param graceMs how long running tasks may finish first
   */
  close(graceMs?: number): Promise<void>;
}

/** Default time limit of a task in milliseconds: one hour. */
const defaultTimeLimit = 3_600_000;

/** Removes what an earlier service left behind, and detects how tasks can be isolated. */
async function detect(
  options: EngineOptions,
  zonesDir: string,
  { follow, signal }: Pick<Background, 'follow'> & { signal: AbortSignal },
): Promise<Detected> {
  const { dataDir, isolation: wanted, log } = options;
  try {
    await removeTree(zonesDir);
    if (typeof wanted === 'object') return { isolation: wanted };
    const tools = [{ source: installTools(dataDir), target: toolsTarget }];
    return await detectIsolation({ dataDir, wanted, log, tools, signal, follow: (work) => follow(work, 'ending a trial sandbox') });
  } catch (error) {
    return { refusal: `jobs are off: ${String(error)}` };
  }
}

/** Serializes `work` per job: each call starts when the earlier call for the same job has finished. */
function inTurn(work: (id: string) => Promise<void>): (id: string) => Promise<void> {
  const last = new Map<string, Promise<void>>();
  return (id) => {
    const done = (last.get(id) ?? Promise.resolve()).catch(() => undefined).then(() => work(id));
    last.set(id, done);
    return done.finally(() => last.get(id) === done && last.delete(id));
  };
}

/** Updates the phases of this engine after a result was recorded. */
function followResult(result: Result): void {
  const { task } = result;
  if (result.kind === 'retry') task.phase.queue.push({ ...task, tries: task.tries + (result.counts ? 1 : 0) });
  // A phase that ends without outputs also closes the phases after it, whose reducers then begin.
  for (const later of task.job.phases.slice(task.phase.number + 1)) later.mayHaveMore = true;
}

/** True if the end of the task may let other engines begin tasks of the next phase. */
function hasFollowers({ task: { job, phase }, kind }: Result): boolean {
  return kind !== 'retry' && phase.number < job.phases.length - 1;
}

/** Lets all jobs claim tasks again: one of the tasks that were lost before has ended, so that the next one can be claimed. */
function wakeAll(jobs: Iterable<ActiveJob>): void {
  for (const { phases } of jobs) for (const phase of phases) phase.mayHaveMore = true;
}

/** Lets jobs claim tasks that these results may have held back. @param isLimited true if an account's concurrent tasks are limited */
function wakeFurther(jobs: Iterable<ActiveJob>, results: readonly Result[], isLimited: boolean): void {
  if (results.some(({ task, kind }) => task.lost > 0 && kind !== 'retry')) return wakeAll(jobs);
  if (!isLimited) return;
  const accounts = new Set(results.map(({ task }) => task.job.account.id));
  for (const { account, phases } of jobs) if (accounts.has(account.id)) for (const phase of phases) phase.mayHaveMore = true;
}

/** True if a zone runs short tasks, so that further outcomes will arrive within moments. */
function runsQuickTasks(jobs: Iterable<ActiveJob>): boolean {
  return [...jobs].some(({ phases }) => phases.some((phase) => isQuick(phase) && [...phase.zones].some(({ load }) => load > 0)));
}

type ZoneMaker = (job: ActiveJob, phase: ActivePhase, isolation: Isolation) => Promise<ActiveZone | undefined>;

/** Creates the function that opens zones, each in its own directory below `zonesDir`. */
function createZoneMaker(options: EngineOptions & { timeLimit: number }, zonesDir: string, isClosed: () => boolean): ZoneMaker {
  return async (job, phase, isolation) => {
    const directory = join(zonesDir, randomUUID());
    const isUnwanted = (): boolean => isClosed() || job.cancelled || job.isEnding;
    const zone = await openZone({ ...options, isolation, isUnwanted }, job, phase, directory);
    if (zone && isUnwanted()) await zone.end();
    else if (zone) return { zone, slots: createSlots(directory), load: 0, timer: undefined, isLate: false };
    return undefined;
  };
}

/** Waits for the running tasks, for up to `graceMs` if that is given. */
async function awaitRunning(jobs: readonly ActiveJob[], graceMs?: number): Promise<void> {
  const running = Promise.all(jobs.flatMap(({ running }) => [...running]));
  if (graceMs === undefined) return void (await running);
  const over = new AbortController();
  await Promise.race([running, sleep(graceMs, undefined, { signal: over.signal }).catch(() => undefined)]);
  over.abort();
}

/** Creates the function that reloads a new or changed job. */
function createLook(
  { store, now }: EngineOptions,
  jobs: Map<string, ActiveJob>,
  { follow, isClosed, end, pump }: { isClosed: () => boolean; pump: () => void } & Pick<Background, 'follow'> & Pick<Ending, 'end'>,
): (id: string) => void {
  const refresh = inTurn(async (id) => {
    const job = jobs.get(id) ?? (await loadJob(store.db, id, now));
    if (!job) return;
    jobs.set(id, job);
    const row = await store.db.selectFrom('jobs').select('cancelled').where('id', '=', id).executeTakeFirst();
    job.cancelled = row?.cancelled === 1;
    for (const phase of job.phases) phase.mayHaveMore = true;
    if (job.cancelled || (await isJobOver(store.db, id))) follow(end(job), `ending job ${id}`);
    else pump();
  });
  return (id) => {
    if (!isClosed()) follow(refresh(id), `looking at job ${id}`);
  };
}

/** Starts the engine, which continues the jobs that were running when the service last ended. */
export function startJobEngine(options: EngineOptions): JobEngine {
  const { store, dataDir, now, log, observer } = options;
  const { slots = usualSlots(), timeLimit = defaultTimeLimit, accountTasks = Infinity } = options;
  const jobs = new Map<string, ActiveJob>();
  const leases = createTaskLeases(store, options.owner ?? randomUUID(), accountTasks, join(dataDir, 'running-tasks'));
  const loads = createZoneLoads();
  const background = createBackground(log);
  const { follow } = background;
  const zonesDir = join(dataDir, 'zones');
  const closing = new AbortController();
  const onGivenBack = (): void => {
    wakeAll(jobs.values());
    pump();
  };
  const ending = createEnding({ options, jobs, loads, leases, closing: closing.signal, onGivenBack });
  const isClosed = (): boolean => closing.signal.aborted;
  let isolation: Isolation | undefined;

  const recordNow = createRecorder({
    ...options,
    isClosed,
    expectsMore: () => runsQuickTasks(jobs.values()),
    // On shutdown they are given back instead.
    onGivenUp: (tasks) => (isClosed() ? undefined : leases.forget(tasks)),
    onRecorded: (results, over, refused) => {
      observer?.recorded(results, refused);
      leases.forget(results.flatMap(({ task, kind }) => (kind === 'retry' ? [] : task)));
      results.forEach(followResult);
      wakeFurther(jobs.values(), results, accountTasks !== Infinity);
      if (results.some(hasFollowers)) store.notices?.send();
      for (const job of over) follow(ending.end(job), `ending job ${job.id}`);
      pump();
    },
  });
  const record = (result: Result): Promise<void> => (isClosed() ? Promise.resolve() : recordNow(result));

  let isDraining = false;
  const isStopping = (): boolean => isDraining || isClosed();
  observer?.started(slots, () => loads.busy);
  const given = { store, now, log, jobs, leases, slots, accountTasks, loads, follow, record, isClosed: isStopping };
  const pump = createScheduler({
    ...given,
    serviceLimits: options.serviceLimits,
    isolation: () => isolation,
    openZone: createZoneMaker({ ...options, timeLimit }, zonesDir, isClosed),
  });

  const look = createLook(options, jobs, { follow, isClosed, end: ending.end, pump });
  const wake = (id: string): void => {
    look(id);
    store.notices?.send();
  };

  const forget = (job: ActiveJob): void => follow(ending.drop(job), `forgetting job ${job.id}`);

  const detected = detect(options, zonesDir, { follow, signal: closing.signal });
  async function start(): Promise<void> {
    const found = await detected;
    if ('refusal' in found) return;
    if (!leases.isShared) await leases.collectLost();
    ({ isolation } = found);
    if (!leases.isShared) {
      for (const id of await listRunningJobs(store)) look(id);
    } else await watchJobs({ ...given, observer, signal: closing.signal, onChange: look, onDone: forget, onTasks: pump });
  }
  follow(start(), 'starting');

  return {
    wake,
    problemOf: (id) => jobs.get(id)?.problem,
    detected,
    close: async (graceMs = 0) => {
      isDraining = true;
      if (graceMs > 0) await ending.giveBackQueued().then(() => awaitRunning([...jobs.values()], graceMs));
      closing.abort();
      for (const { stopping } of jobs.values()) stopping.abort();
      await Promise.all([...jobs.values()].map(loads.endAll));
      await background.finish();
      await awaitRunning([...jobs.values()]);
      await Promise.all([...jobs.values()].map(loads.endAll));
      await ending.giveBack();
      leases.close();
    },
  };
}
