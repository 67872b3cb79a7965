import type { Store } from '../store/store.ts';
import type { Isolation, IsolationKind } from './isolation.ts';

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
  /** How tasks are kept from the rest of the machine: this kind and no other, or the strongest that is found when absent. */
  readonly isolation?: Isolation | IsolationKind | undefined;
  /** Tasks at once; as many as there are cores when absent. */
  readonly slots?: number | undefined;
  /** Most tasks of one account at once, here or on all processes of a database that have this limit; no limit when absent. */
  readonly accountTasks?: number | undefined;
  /** Most milliseconds of a task. */
  readonly timeLimit?: number | undefined;
}
