import type { Task } from './active-job.ts';
import type { Failure, TaskOutputs } from './outcome.ts';

/** An input of a reducer that could not be read; the reducer itself goes on. */
export interface Complaint {
  readonly input: string;
  readonly failure: Failure;
}

/** What became of a task. */
export type Result = { readonly task: Task; readonly zone: string; readonly complaints?: readonly Complaint[] } & (
  | { readonly kind: 'output'; readonly output: TaskOutputs }
  | { readonly kind: 'failure'; readonly failure: Failure }
  /** The service failed it: it is to be done again. What was in the way passes by itself where `counts` is false, and is no try of the task. */
  | { readonly kind: 'retry'; readonly counts: boolean }
);
