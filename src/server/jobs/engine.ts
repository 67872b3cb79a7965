import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '../store/store.ts';
import { loadJob, type ActiveJob, type ActivePhase, type ActiveZone, type Failure, type Task } from './active-job.ts';
import { archiveJob } from './archive.ts';
import { claimTasks, listRunningJobs } from './claims.ts';
import { detectIsolation } from './detect-isolation.ts';
import type { Isolation } from './isolation.ts';
import { openZone } from './open-zone.ts';
import { chooseDepth, isQuick } from './pace.ts';
import { isJobOver } from './progress.ts';
import type { Result } from './record.ts';
import { createRecorder } from './recorder.ts';
import { runTask } from './run-task.ts';
import { createSlots } from './slots.ts';

/** What the engine works with. */
export interface EngineOptions {
  readonly store: Store;
  readonly dataDir: string;
  /** Address of the object storage, which tasks find in their environment. */
  readonly url: () => string;
  /** Name of this server in error records. */
  readonly server: string;
  readonly now: () => number;
  readonly log: (line: string) => void;
  /** How tasks are kept apart; found out when absent. */
  readonly isolation?: Isolation | undefined;
  /** Tasks at once; as many as there are cores when absent. */
  readonly slots?: number | undefined;
  /** Most milliseconds of a task. */
  readonly timeLimit?: number | undefined;
}

/** What runs the jobs of the local service. */
export interface JobEngine {
  /** Says that something about a job changed: it is new, has more input, an end of it, or was cancelled. */
  wake(job: string): void;
  /** Kills what runs; it goes on at the next start. */
  close(): Promise<void>;
}

/** Milliseconds of a task when nobody says: one hour. */
const defaultTimeLimit = 3_600_000;

/** Tasks in one claim, and how few may be left before the next one. */
const claimSize = 512;
const claimMark = 256;

/** Tasks that may be between their beginning and the record of their outcome before no further one is begun. */
const mostRunning = 1000;

/** Milliseconds between attempts at what the disk or the database refused. */
const pause = 1000;

/** Starts the engine and goes on with the jobs that ran when the service ended. */
export function startJobEngine(options: EngineOptions): JobEngine {
  const { store, dataDir, now, log, slots = availableParallelism(), timeLimit = defaultTimeLimit } = options;
  const jobs = new Map<string, ActiveJob>();
  const refreshing = new Map<string, Promise<void>>();
  const background = new Set<Promise<void>>();
  const zonesDir = join(dataDir, 'zones');
  /** Zones that work or are being made, zones that wait for work, tasks whose outcome is not recorded, and whose turn it is. */
  const state = { busy: 0, idle: 0, running: 0, turn: 0, closed: false };
  let isolation: Isolation | undefined;

  /** Keeps work that nobody waits for, so that closing can. */
  function follow(work: Promise<void>, what: string): void {
    const followed = work
      .catch((error: unknown) => log(`jobs: ${what} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`))
      .finally(() => background.delete(followed));
    background.add(followed);
  }

  const recorder = createRecorder({
    store,
    server: options.server,
    now,
    log,
    isClosed: () => state.closed,
    expectsMore: () =>
      [...jobs.values()].some(({ phases }) => phases.some((phase) => isQuick(phase) && [...phase.zones].some(({ load }) => load > 0))),
    onRecorded: (results, over) => {
      for (const { task, kind } of results) {
        if (kind === 'retry') task.phase.queue.push({ ...task, tries: task.tries + 1 });
        const next = task.job.phases[task.phase.number + 1];
        if (next) next.mayHaveMore = true;
      }
      for (const job of over) follow(endJob(job), `ending job ${job.id}`);
      pump();
    },
  });

  function countZone(busy: number, idle: number): void {
    state.busy += busy;
    state.idle += idle;
  }

  function setLoad(active: ActiveZone, change: number): void {
    const before = active.load;
    active.load += change;
    if (before === 0) countZone(1, -1);
    if (active.load === 0) countZone(-1, 1);
  }

  async function endZone(phase: ActivePhase, active: ActiveZone): Promise<void> {
    if (phase.zones.delete(active) && active.load === 0) countZone(0, -1);
    await active.zone.end();
  }

  async function endZones(job: ActiveJob): Promise<void> {
    await Promise.all(job.phases.flatMap((phase) => [...phase.zones].map((active) => endZone(phase, active))));
  }

  function record(result: Result): Promise<void> {
    return state.closed ? Promise.resolve() : recorder.record(result);
  }

  async function claim(job: ActiveJob, phase: ActivePhase): Promise<void> {
    phase.isClaiming = true;
    phase.mayHaveMore = false;
    try {
      const { tasks, failures, isFull } = await claimTasks(store, job, phase, claimSize);
      if (isFull) phase.mayHaveMore = true;
      phase.queue.push(...tasks);
      for (const { task, failure } of failures) follow(record({ kind: 'failure', task, zone: '', failure }), 'recording');
    } catch (error) {
      phase.mayHaveMore = true;
      await sleep(pause);
      throw error;
    } finally {
      phase.isClaiming = false;
      pump();
    }
  }

  /** Does a task in a zone. The zone is free for the next one before the outcome is recorded. */
  async function work(active: ActiveZone, task: Task): Promise<void> {
    const { phase, job } = task;
    let released = false;
    const release = (isGone: boolean): void => {
      if (released) return;
      released = true;
      setLoad(active, -1);
      if (isGone) follow(endZone(phase, active), 'ending a zone');
      pump();
    };
    if (!isolation) return;
    const results = await runTask({ store, isolation }, active, task, release);
    for (const result of results) await record(result);
    if (results.length > 0 || state.closed || job.cancelled) return;
    // It was handed to a zone that ended before its turn.
    phase.queue.push(task);
    pump();
  }

  function begin(active: ActiveZone, task: Task): void {
    setLoad(active, 1);
    state.running += 1;
    const { job } = task;
    const running = work(active, task)
      .catch((error: unknown) => log(`jobs: a task of job ${job.id} failed here: ${String(error)}`))
      .finally(() => {
        job.running.delete(running);
        state.running -= 1;
        pump();
      });
    job.running.add(running);
  }

  async function open(job: ActiveJob, phase: ActivePhase): Promise<void> {
    if (!isolation) return;
    phase.opening += 1;
    countZone(1, 0);
    try {
      const directory = join(zonesDir, randomUUID());
      const zone = await openZone({ ...options, isolation, timeLimit }, job, phase, directory);
      if (!zone) return;
      if (state.closed || job.cancelled || job.isEnding) return await zone.end();
      phase.zones.add({ zone, slots: createSlots(directory), load: 0 });
      countZone(0, 1);
    } finally {
      phase.opening -= 1;
      countZone(-1, 0);
      pump();
    }
  }

  /** Makes room for another zone when many wait for work of other phases. */
  function evictIdle(): void {
    if (state.idle < slots * 2) return;
    for (const job of jobs.values()) {
      for (const phase of job.phases) {
        const idle = phase.queue.length === 0 ? [...phase.zones].find(({ load }) => load === 0) : undefined;
        if (idle) return follow(endZone(phase, idle), 'ending a zone');
      }
    }
  }

  function failQueue(phase: ActivePhase, failure: Failure): void {
    for (const task of phase.queue.splice(0)) follow(record({ kind: 'failure', task, zone: '', failure }), 'recording');
  }

  function feed(job: ActiveJob, phase: ActivePhase, isAlone: boolean): void {
    if (phase.broken) failQueue(phase, phase.broken);
    const depth = isAlone ? chooseDepth(phase, slots) : 1;
    const next = (): Task | undefined => (state.running < mostRunning ? phase.queue.shift() : undefined);
    for (const active of phase.zones) {
      while (active.load < depth && (active.load > 0 || state.busy < slots)) {
        const task = next();
        if (!task) return;
        begin(active, task);
      }
    }
    while (phase.queue.length > phase.opening && state.busy < slots && state.running < mostRunning) {
      evictIdle();
      follow(open(job, phase), 'opening a zone');
    }
  }

  /** Gives work to whatever is free. Jobs take turns; in a job the last phases come first, so that little lies between. */
  function pump(): void {
    if (state.closed || !isolation) return;
    const live = [...jobs.values()].filter(({ cancelled, isEnding }) => !cancelled && !isEnding);
    const waiting = live.filter(({ phases }) => phases.some(({ queue }) => queue.length > 0));
    state.turn += 1;
    for (const [index] of live.entries()) {
      const job = live[(index + state.turn) % live.length];
      if (!job) continue;
      for (const phase of job.phases.toReversed()) {
        if (phase.mayHaveMore && !phase.isClaiming && phase.queue.length < claimMark) follow(claim(job, phase), 'claiming tasks');
        if (phase.queue.length > 0) feed(job, phase, waiting.length === 1);
      }
    }
  }

  async function endJob(job: ActiveJob): Promise<void> {
    if (job.isEnding) return;
    job.isEnding = true;
    await endZones(job);
    await Promise.all(job.running);
    while (!state.closed) {
      try {
        await archiveJob(store, job, now());
        jobs.delete(job.id);
        return;
      } catch (error) {
        log(`jobs: the end of job ${job.id} cannot be written: ${String(error)}`);
        await sleep(pause);
      }
    }
  }

  async function refresh(id: string): Promise<void> {
    const job = jobs.get(id) ?? (await loadJob(store.db, id));
    if (!job) return;
    jobs.set(id, job);
    const row = await store.db.selectFrom('jobs').select('cancelled').where('id', '=', id).executeTakeFirst();
    job.cancelled = row?.cancelled === 1;
    for (const phase of job.phases) phase.mayHaveMore = true;
    if (job.cancelled || (await isJobOver(store.db, id))) follow(endJob(job), `ending job ${id}`);
    else pump();
  }

  function wake(id: string): void {
    if (state.closed) return;
    const earlier = refreshing.get(id) ?? Promise.resolve();
    const refreshed = earlier.catch(() => undefined).then(() => refresh(id));
    refreshing.set(id, refreshed);
    follow(
      refreshed.finally(() => refreshing.get(id) === refreshed && refreshing.delete(id)),
      `looking at job ${id}`,
    );
  }

  async function start(): Promise<void> {
    await rm(zonesDir, { recursive: true, force: true });
    isolation = options.isolation ?? (await detectIsolation(dataDir, log));
    for (const id of await listRunningJobs(store)) wake(id);
  }
  follow(start(), 'starting');

  return {
    wake,
    close: async () => {
      state.closed = true;
      await Promise.all([...jobs.values()].map(endZones));
      while (background.size > 0) await Promise.all(background);
      await Promise.all([...jobs.values()].flatMap(({ running }) => [...running]));
      await Promise.all([...jobs.values()].map(endZones));
    },
  };
}
