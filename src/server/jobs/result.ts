import type { Task } from './active-job.ts';
import type { Failure, TaskOutputs } from './outcome.ts';

/** What became of a task. */
export type Result = { readonly task: Task; readonly zone: string } & (
  | { readonly kind: 'output'; readonly output: TaskOutputs }
  | { readonly kind: 'failure'; readonly failure: Failure }
  /** The service failed it: it is to be done again. */
  | { readonly kind: 'retry' }
  /** An input of a reducer that could not be read; the reducer itself goes on. */
  | { readonly kind: 'complaint'; readonly input: string; readonly failure: Failure }
);
