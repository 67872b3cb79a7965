import type { Task } from './active-job.ts';
import type { Failure, TaskOutputs } from './outcome.ts';

/** An input of a reducer that could not be read; the reducer itself continues. */
export interface Complaint {
  readonly input: string;
  /** The input of phase 0 from which it derives, if that is known. */
  readonly origin: string | null;
  readonly failure: Failure;
}

/** The outcome of a task. */
export type Result = { readonly task: Task; readonly zone: string; readonly complaints?: readonly Complaint[] } & (
  | { readonly kind: 'output'; readonly output: TaskOutputs }
  | { readonly kind: 'failure'; readonly failure: Failure }
  /** The service failed the task, which is retried. `counts` is false if the cause is transient: then it does not count as a try. */
  | { readonly kind: 'retry'; readonly counts: boolean }
);

/** Number of outputs and objects of an outcome. */
export function countOutputs(result: Result): number {
  if (result.kind !== 'output') return 0;
  const { outputs, objects, named } = result.output;
  return Math.max(outputs.length, objects.length + named.length);
}
