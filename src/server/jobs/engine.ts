import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadJob, type ActiveJob, type ActivePhase, type ActiveZone, type Task } from './active-job.ts';
import { archiveJob } from './archive.ts';
import { createBackground } from './background.ts';
import { claimTasks, listRunningJobs } from './claims.ts';
import { detectIsolation, type Detected } from './detect-isolation.ts';
import type { Isolation } from './isolation.ts';
import { openZone } from './open-zone.ts';
import { chooseDepth, isQuick } from './pace.ts';
import { describeProblem } from './problem.ts';
import { isJobOver } from './progress.ts';
import { createRecorder } from './recorder.ts';
import { removeTree } from './remove-tree.ts';
import { installTools, toolsTarget } from './tools/install.ts';
import { runTask } from './run-task.ts';
import { createSlots } from './slots.ts';
import { createZoneLoads } from './zone-loads.ts';
import type { Failure } from './outcome.ts';
import type { Result } from './result.ts';
import type { EngineOptions } from './engine-options.ts';

/** What runs the jobs of the local service. */
export interface JobEngine {
  /** Says that something about a job changed: it is new, has more input, an end of it, or was cancelled. */
  wake(job: string): void;
  /** What keeps the service from going on with a job; undefined when nothing does. */
  problemOf(job: string): string | undefined;
  /** How tasks are kept from the rest of the machine, or why none can run. */
  readonly detected: Promise<Detected>;
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
/** The longest of them: each failed attempt to write the end of a job doubles the pause. */
const longestPause = 16_000;

/** Starts the engine and goes on with the jobs that ran when the service ended. */
export function startJobEngine(options: EngineOptions): JobEngine {
  const { store, dataDir, now, log, slots = availableParallelism(), timeLimit = defaultTimeLimit } = options;
  const jobs = new Map<string, ActiveJob>();
  const refreshing = new Map<string, Promise<void>>();
  const loads = createZoneLoads();
  const background = createBackground(log);
  const { follow } = background;
  const zonesDir = join(dataDir, 'zones');
  /** Tasks whose outcome is not recorded, and whose turn it is. */
  const state = { running: 0, turn: 0, closed: false };
  const closing = new AbortController();
  let isolation: Isolation | undefined;

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
        // A phase that ends without outputs also closes those behind it, whose reducers then begin.
        for (const later of task.job.phases.slice(task.phase.number + 1)) later.mayHaveMore = true;
      }
      for (const job of over) follow(endJob(job), `ending job ${job.id}`);
      pump();
    },
  });

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
      job.problem = undefined;
    } catch (error) {
      job.problem = describeProblem('its tasks cannot be read', error);
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
      loads.change(active, -1);
      if (isGone) follow(loads.end(phase, active), 'ending a zone');
      pump();
    };
    if (!isolation) return;
    const results = await runTask({ store, isolation, now }, active, task, release);
    for (const result of results) await record(result);
    if (results.length > 0 || state.closed || job.cancelled) return;
    // It was handed to a zone that ended before its turn, or taken back from one.
    phase.queue.unshift(task);
    pump();
  }

  function begin(active: ActiveZone, task: Task): void {
    loads.change(active, 1);
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

  async function makeZone(job: ActiveJob, phase: ActivePhase, sandbox: Isolation): Promise<ActiveZone | undefined> {
    const directory = join(zonesDir, randomUUID());
    const isUnwanted = (): boolean => state.closed || job.cancelled || job.isEnding;
    const zone = await openZone({ ...options, isolation: sandbox, timeLimit, isUnwanted }, job, phase, directory);
    if (zone && isUnwanted()) await zone.end();
    else if (zone) return { zone, slots: createSlots(directory), load: 0, timer: undefined, isLate: false };
    return undefined;
  }

  /** Makes room for another zone when many wait for work of other phases. */
  function evictIdle(): void {
    if (loads.idle < slots * 2) return;
    for (const job of jobs.values()) {
      for (const phase of job.phases) {
        const idle = phase.queue.length === 0 ? [...phase.zones].find(({ load }) => load === 0) : undefined;
        if (idle) return follow(loads.end(phase, idle), 'ending a zone');
      }
    }
  }

  function failQueue(phase: ActivePhase, failure: Failure): void {
    for (const task of phase.queue.splice(0)) follow(record({ kind: 'failure', task, zone: '', failure }), 'recording');
  }

  function feed(job: ActiveJob, phase: ActivePhase, { isAlone, sandbox }: { isAlone: boolean; sandbox: Isolation }): void {
    if (phase.broken) failQueue(phase, phase.broken);
    const depth = isAlone ? chooseDepth(phase, slots) : 1;
    const next = (): Task | undefined => (state.running < mostRunning ? phase.queue.shift() : undefined);
    for (const active of phase.zones) {
      // Tasks that are handed over together are one write: a zone gets more when half of them are over.
      if (active.load > depth / 2) continue;
      while (active.load < (active.isLate ? 1 : depth) && (active.load > 0 || loads.busy < slots)) {
        const task = next();
        if (!task) return;
        begin(active, task);
      }
    }
    while (phase.queue.length > phase.opening && loads.busy < slots && state.running < mostRunning) {
      evictIdle();
      const opened = loads.open(phase, () => makeZone(job, phase, sandbox)).finally(pump);
      follow(opened, 'opening a zone');
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
        if (phase.queue.length > 0) feed(job, phase, { isAlone: waiting.length === 1, sandbox: isolation });
      }
    }
  }

  async function endJob(job: ActiveJob): Promise<void> {
    if (job.isEnding) return;
    job.isEnding = true;
    await loads.endAll(job);
    await Promise.all(job.running);
    for (let delayMs = pause; !state.closed; delayMs = Math.min(delayMs * 2, longestPause)) {
      try {
        for (const obstacle of await archiveJob(store, job, now())) log(`jobs: a file of job ${job.id} is missing: ${obstacle}`);
        jobs.delete(job.id);
        return;
      } catch (error) {
        job.problem = describeProblem('its end cannot be written', error);
        log(`jobs: the end of job ${job.id} cannot be written, next attempt in ${delayMs / 1000} s: ${String(error)}`);
        // Closing does not wait for the next attempt.
        await sleep(delayMs, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    }
  }

  async function refresh(id: string): Promise<void> {
    const job = jobs.get(id) ?? (await loadJob(store.db, id, now));
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
    const found = await detected;
    if ('refusal' in found) return;
    ({ isolation } = found);
    for (const id of await listRunningJobs(store)) wake(id);
  }

  async function detect(): Promise<Detected> {
    await removeTree(zonesDir);
    const wanted = options.isolation;
    if (typeof wanted === 'object') return { isolation: wanted };
    const tools = [{ source: installTools(dataDir), target: toolsTarget }];
    return detectIsolation({ dataDir, wanted, log, tools, follow: (work) => follow(work, 'ending a trial sandbox') });
  }
  const detected = detect().catch((error: unknown): Detected => ({ refusal: `jobs are off: ${String(error)}` }));
  follow(start(), 'starting');

  return {
    wake,
    problemOf: (id) => jobs.get(id)?.problem,
    detected,
    close: async () => {
      state.closed = true;
      closing.abort();
      await Promise.all([...jobs.values()].map(loads.endAll));
      await background.finish();
      await Promise.all([...jobs.values()].flatMap(({ running }) => [...running]));
      await Promise.all([...jobs.values()].map(loads.endAll));
    },
  };
}
