import { availableParallelism } from 'node:os';
import type { LimitValues } from '../../api/service-limits.ts';
import type { Store } from '../store/store.ts';
import type { Result } from './result.ts';
import type { Isolation, IsolationKind } from './isolation.ts';

/** Is told of tasks, for metrics. */
export interface TaskObserver {
  /** Told once, when the engine starts. @param slots tasks at once @param busy how many of them are taken, whenever it is asked */
  started(slots: number, busy: () => number): void;
  /** Told of outcomes that were handed to the database, and how many of them it refused because others have taken the tasks. */
  recorded(results: readonly Pick<Result, 'kind' | 'task'>[], refused: number): void;
  /** Told of tasks whose engine was not heard of again, and which wait for another now. */
  takenOver(tasks: number): void;
}

/** Tasks at once when nobody says: as many as there are cores. */
export const usualSlots = availableParallelism;

/** Milliseconds from one attempt at work of a job to the next while the database or the store of contents is away. */
export const passingPause = 300;

/** What the engine works with. */
export interface EngineOptions {
  readonly store: Store;
  /** Directory of this engine alone. */
  readonly dataDir: string;
  /** Names this engine among others on the same database. */
  readonly owner?: string | undefined;
  /** Address of the object storage, which tasks find in their environment. */
  readonly url: () => string;
  /** Name of this server in error records. */
  readonly server: string;
  readonly now: () => number;
  readonly log: (line: string) => void;
  readonly observer?: TaskObserver | undefined;
  /** How tasks are kept from the rest of the machine: this kind and no other, or the strongest that is found when absent. */
  readonly isolation?: Isolation | IsolationKind | undefined;
  /** Tasks at once; as many as there are cores when absent. */
  readonly slots?: number | undefined;
  /** Most tasks of one account at once, here or on all processes of a database that have this limit; no limit when absent. */
  readonly accountTasks?: number | undefined;
  /** Limits of the service, of which those of bytes and objects hold for outputs of accounts that have none of their own. */
  readonly serviceLimits?: LimitValues | undefined;
  /** Most milliseconds of a task. */
  readonly timeLimit?: number | undefined;
}
