import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Task } from './active-job.ts';
import type { EngineOptions, TaskObserver } from './engine-options.ts';
import { databaseTime, leaseTime, renewalTime, type TaskLeases } from './leases.ts';

/** What other engines do to the jobs of a database, found by asking it again and again: a notice may be lost, an answer not. Notices only make the next question come sooner. */

/** Milliseconds between two questions, give or take a quarter, so that engines do not ask all at once. */
const usualPollTime = 1000;

/** Milliseconds from one question to the next however many notices come. */
const shortestPause = 100;

/** What a watch works with. */
export interface WatchOptions extends Pick<EngineOptions, 'store' | 'log'> {
  readonly leases: TaskLeases;
  /** Jobs that the engine knows. */
  readonly jobs: ReadonlyMap<string, ActiveJob>;
  /** Milliseconds; one second when absent. */
  readonly pollTime?: number | undefined;
  readonly observer?: Pick<TaskObserver, 'takenOver'> | undefined;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Told of a job that is new, was cancelled, or whose end nobody writes. */
  onChange(job: string): void;
  /** Told of a job that another engine has ended. */
  onDone(job: ActiveJob): void;
  /** Told when jobs that are known may have tasks to claim. */
  onTasks(): void;
}

/** How far a phase of a job that runs is. */
interface Progress {
  readonly job: string;
  readonly phase: number;
  readonly cancelled: number;
  /** Whether no task is left and none will come. */
  readonly isOver: boolean;
  /** Whether a task can be claimed. */
  readonly hasTasks: boolean;
}

async function readProgress({ db }: Store): Promise<Progress[]> {
  const { rows } = await sql<Progress>`
    select jobs.id as job, jobs.cancelled, job_phases.phase,
      closed = 1 and finished = tasks as "isOver",
      exists (
        select 1 from job_tasks where job_tasks.state = 'waiting' and job_tasks.job = jobs.id and job_tasks.phase = job_phases.phase
        and (lost = 0 or lease is null or lease <= ${databaseTime})
      ) as "hasTasks"
    from jobs join job_phases on job_phases.job = jobs.id where jobs.state = 'running' order by jobs.created, job_phases.phase`.execute(db);
  return rows;
}

/** Jobs of which every phase is over. */
function listOver(progress: readonly Progress[]): Set<string> {
  const over = new Set(progress.map(({ job }) => job));
  for (const { job, isOver } of progress) if (!isOver) over.delete(job);
  return over;
}

/** A pause that ends early when it is rung for. */
interface Bell {
  ring(): void;
  /** @param time milliseconds; less when it was rung for since the last pause ended */
  pause(time: number, signal: AbortSignal): Promise<void>;
}

function createBell(): Bell {
  let isRung = false;
  let endPause = (): void => undefined;
  return {
    ring: () => {
      isRung = true;
      endPause();
    },
    pause: async (time, signal) => {
      await sleep(Math.min(time, shortestPause), undefined, { signal }).catch(() => undefined);
      if (!isRung && !signal.aborted) {
        const rung = new AbortController();
        const end = (): void => rung.abort();
        endPause = end;
        signal.addEventListener('abort', end, { once: true });
        await sleep(Math.max(0, time - shortestPause), undefined, { signal: rung.signal }).catch(() => undefined);
        signal.removeEventListener('abort', end);
      }
      isRung = false;
    },
  };
}

/** Does work again and again; a failure is logged once until it succeeds again. */
async function repeat(
  work: () => Promise<void>,
  pause: number,
  { signal, log }: Pick<WatchOptions, 'signal' | 'log'>,
  what: string,
  bell: Bell = createBell(),
): Promise<void> {
  let isFailing = false;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    // Jobs that were there before are gone on with at once.
    if (!isFirst) await bell.pause(pause * (0.75 + Math.random() / 2), signal);
    if (signal.aborted) return;
    try {
      await work();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log(`jobs: ${what} failed: ${String(error)}`);
      isFailing = true;
    }
  }
}

/** Tasks that another engine has taken are not begun here; what comes of those that run is refused. */
function dropQueued(tasks: readonly Task[]): void {
  for (const { phase, number, attempt } of tasks) {
    const at = phase.queue.findIndex((task) => task.number === number && task.attempt === attempt);
    if (at !== -1) phase.queue.splice(at, 1);
  }
}

/** Keeps leases, and keeps up with other engines, until the signal. Nothing is to be done where one process has the database. */
export async function watchJobs(options: WatchOptions): Promise<void> {
  const { store, leases, jobs, onChange, onDone, onTasks, observer, pollTime = usualPollTime } = options;
  let overBefore = new Set<string>();
  /** Since when the database has answered without a failure, on the monotonic clock. */
  let answeringSince = performance.now();
  const asking = async <T>(question: () => Promise<T>): Promise<T> => {
    try {
      return await question();
    } catch (error) {
      answeringSince = performance.now();
      throw error;
    }
  };

  async function poll(): Promise<void> {
    const progress = await asking(() => readProgress(store));
    const over = listOver(progress);
    for (const { job: id, phase, cancelled, hasTasks } of progress) {
      const job = jobs.get(id);
      const isChanged = cancelled === 1 && job?.cancelled !== true;
      if (!job || isChanged) onChange(id);
      const known = job?.phases[phase];
      if (known && hasTasks) known.mayHaveMore = true;
    }
    // Who recorded the last task writes the end; another does when that has not happened for as long as a question takes to come again.
    for (const id of over) if (overBefore.has(id) && jobs.get(id)?.isEnding === false) onChange(id);
    overBefore = over;
    const running = new Set(progress.map(({ job }) => job));
    for (const [id, job] of jobs) if (!running.has(id) && !job.isEnding) onDone(job);
    onTasks();
  }

  async function collect(): Promise<void> {
    // After a failure of the database all leases may have ended: whoever is alive renews its own before any is taken away.
    if (performance.now() - answeringSince <= leaseTime) return;
    const tasks = await asking(() => leases.collectLost());
    observer?.takenOver(tasks);
  }

  const bell = createBell();
  const stopListening = store.notices?.listen(bell.ring);
  await Promise.all([
    repeat(poll, pollTime, options, 'asking for tasks', bell),
    repeat(async () => dropQueued(await asking(() => leases.renew())), renewalTime, options, 'renewing leases'),
    repeat(collect, renewalTime, options, 'taking over lost tasks'),
  ]);
  await stopListening?.();
}
