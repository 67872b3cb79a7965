import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { databaseTime } from '../store/database-time.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Task } from './active-job.ts';
import type { EngineOptions, TaskObserver } from './engine-options.ts';
import { leaseTime, renewalTime } from './leases.ts';
import type { TaskLeases } from './task-leases.ts';

/**
 * Follows what other engines do to the jobs of a database, by polling. A notice may be lost, a poll cannot: notices only make the next poll
 * come sooner.
 */

/** Milliseconds between two polls, give or take a quarter, so that engines do not all poll at the same time. */
const usualPollTime = 1000;

/** Minimum milliseconds between two polls, however many notices arrive. */
const shortestPause = 100;

/** Options of `watchJobs`. */
export interface WatchOptions extends Pick<EngineOptions, 'store' | 'log'> {
  readonly leases: TaskLeases;
  /** Jobs that the engine has loaded. */
  readonly jobs: ReadonlyMap<string, ActiveJob>;
  /** Poll interval, milliseconds; one second when absent. */
  readonly pollTime?: number | undefined;
  readonly observer?: Pick<TaskObserver, 'takenOver'> | undefined;
  /** Stops the watch. */
  readonly signal: AbortSignal;
  /** Called for a job that is new, was cancelled, or is over without an engine writing its end. */
  onChange(job: string): void;
  /** Called for a job that another engine has ended. */
  onDone(job: ActiveJob): void;
  /** Called when loaded jobs may have tasks to claim. */
  onTasks(): void;
}

/** Progress of a phase of a running job. */
interface Progress {
  readonly job: string;
  readonly phase: number;
  readonly cancelled: number;
  /** True if no task is left and none will come. */
  readonly isOver: boolean;
  /** True if a task can be claimed. */
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

/** Ids of the jobs whose phases are all over. */
function listOver(progress: readonly Progress[]): Set<string> {
  const over = new Set(progress.map(({ job }) => job));
  for (const { job, isOver } of progress) if (!isOver) over.delete(job);
  return over;
}

/** A pause that `ring` ends early. */
interface Bell {
  ring(): void;
  /** @param time milliseconds; the pause is shorter if `ring` was called since the last one ended */
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

/** Repeats work until the signal. Of consecutive failures only the first is logged. */
async function repeat(
  work: () => Promise<void>,
  pause: number,
  { signal, log }: Pick<WatchOptions, 'signal' | 'log'>,
  what: string,
  bell: Bell = createBell(),
): Promise<void> {
  let isFailing = false;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    // The first run is not delayed, so that jobs from before the start continue immediately.
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

/** Removes from the queues the tasks that another engine has claimed. The outcomes of those that are running already will be refused. */
function dropQueued(tasks: readonly Task[]): void {
  for (const { phase, number, attempt } of tasks) {
    const at = phase.queue.findIndex((task) => task.number === number && task.attempt === attempt);
    if (at !== -1) phase.queue.splice(at, 1);
  }
}

/** Renews leases and follows other engines until the signal. Not needed where one process has the database to itself. */
export async function watchJobs(options: WatchOptions): Promise<void> {
  const { store, leases, jobs, onChange, onDone, onTasks, observer, pollTime = usualPollTime } = options;
  let overBefore = new Set<string>();
  /** Time of the last database failure, on the monotonic clock: since then the database has responded. */
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
    // The engine that recorded the last task writes the end of the job. If it has not done so by the next poll, this engine does.
    for (const id of over) if (overBefore.has(id) && jobs.get(id)?.isEnding === false) onChange(id);
    overBefore = over;
    const running = new Set(progress.map(({ job }) => job));
    for (const [id, job] of jobs) if (!running.has(id) && !job.isEnding) onDone(job);
    onTasks();
  }

  async function collect(): Promise<void> {
    // After a database failure all leases may have expired: live engines get time to renew theirs before any is collected.
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
