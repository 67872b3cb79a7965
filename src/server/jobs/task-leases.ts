import type { ActiveJob, ActivePhase, ClaimedRow, Task } from './active-job.ts';

/** The claimed tasks of one engine. */
export interface TaskLeases {
  /** True if other engines run tasks of the same jobs. */
  readonly isShared: boolean;
  /**
   * Claims the next tasks of a phase. Of tasks that were lost before, an engine holds at most one at a time, so that a task which kills its
   * worker can be told from the others.
   */
  claim(job: ActiveJob, phase: ActivePhase, limit: number): Promise<readonly ClaimedRow[]>;
  /** Holds claimed tasks until they are forgotten or given back. */
  keep(tasks: readonly Task[]): void;
  /** Stops holding tasks that have ended or that another engine may claim. */
  forget(tasks: readonly Task[]): void;
  /** The held tasks of a job, or all held tasks. */
  list(job?: string): readonly Task[];
  /** Lets other engines claim tasks; the tasks count as not begun. */
  giveBack(tasks: readonly Task[]): Promise<void>;
  /** Renews all leases. @returns tasks that now belong to other engines */
  renew(): Promise<readonly Task[]>;
  /**
   * Makes tasks whose lease has expired claimable again; on SQLite, tasks that ran when the process before this one died. @returns how many
   */
  collectLost(): Promise<number>;
  /** Notes that a task runs. @returns a function to be called when it has ended */
  begin(task: Task): () => void;
  close(): void;
}
