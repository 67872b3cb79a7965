import { randomUUID } from 'node:crypto';
import type { JobError } from '../../api/objects.ts';
import type { Failure, Task } from './active-job.ts';

/** A failure with what it is of. */
interface Failed {
  readonly task: Task;
  readonly zone: string;
  /** An input of a reducer. */
  readonly input?: string;
  readonly failure: Failure;
}

/** The error record of a failure (section 2), as JSON, and the input that it is of: that of phase 0 where it is known. */
export function describeFailure({ task, zone, input: given, failure }: Failed, server: string): { record: string; input: string | null } {
  const { phase, origin } = task;
  const input = given ?? task.input;
  const p0input = origin ?? (phase.number === 0 ? input : null);
  const record: JobError = {
    taskId: randomUUID(),
    phaseNum: String(phase.number),
    what: `phase ${phase.number}: ${input === null ? 'reduce' : `input "${input}"`}`,
    code: failure.code,
    message: failure.message,
    server,
    ...(zone !== '' && { machine: zone }),
    ...(input !== null && { input }),
    ...(p0input !== null && { p0input }),
    ...(failure.core !== undefined && { core: failure.core }),
    ...(failure.stderr !== undefined && { stderr: failure.stderr }),
  };
  return { record: JSON.stringify(record), input: p0input ?? input };
}
