import { availableParallelism } from 'node:os';
import type { LimitValues } from '../../api/service-limits.ts';
import type { Store } from '../store/store.ts';
import type { Result } from './result.ts';
import type { IsolationKind } from '../../api/isolation.ts';
import type { Isolation } from './isolation.ts';

/** Observes tasks, for metrics. */
export interface TaskObserver {
  /** Called once, when the engine starts. @param slots number of concurrent tasks @param busy returns how many slots are in use */
  started(slots: number, busy: () => number): void;
  /** Called with outcomes handed to the database, and the number that it refused because other engines have claimed the tasks. */
  recorded(results: readonly Pick<Result, 'kind' | 'task'>[], refused: number): void;
  /** Called with the number of tasks whose engine was not heard of again; they now wait for another engine. */
  takenOver(tasks: number): void;
}

/** Default number of concurrent tasks: the number of cores. */
export const usualSlots = availableParallelism;

/** Milliseconds between attempts at a job's work while the database or the content store is unavailable. */
export const passingPause = 300;

/** Options of a job engine. */
export interface EngineOptions {
  readonly store: Store;
  /** Directory that this engine alone uses. */
  readonly dataDir: string;
  /** Identifies this engine among others on the same database. */
  readonly owner?: string | undefined;
  /** URL of the object storage, which tasks find in their environment. */
  readonly url: () => string;
  /** Name of this server in error records. */
  readonly server: string;
  readonly now: () => number;
  readonly log: (line: string) => void;
  readonly observer?: TaskObserver | undefined;
  /** How tasks are isolated from the rest of the machine: exactly this kind, or the strongest one available if absent. */
  readonly isolation?: Isolation | IsolationKind | undefined;
  /** Number of concurrent tasks; the number of cores when absent. */
  readonly slots?: number | undefined;
  /**
   * Maximum number of concurrent tasks of one account, in this process or in all processes on the database that have this limit; no limit
   * when absent.
   */
  readonly accountTasks?: number | undefined;
  /** Limits of the service. Those of bytes and objects apply to outputs of accounts without limits of their own. */
  readonly serviceLimits?: LimitValues | undefined;
  /** Time limit of a task, milliseconds. */
  readonly timeLimit?: number | undefined;
}
