import { createHash, randomUUID } from 'node:crypto';
import type { JobError } from '../../api/objects.ts';
import type { Task } from './active-job.ts';
import type { Failure } from './outcome.ts';

/** A failure with what it is of. */
export interface Failed {
  readonly task: Task;
  readonly zone: string;
  /** An input of a reducer. */
  readonly input?: string;
  readonly failure: Failure;
}

/** An error as it is stored: a record of its own, or what it has in common with many others beside their number and input. */
export interface StoredError {
  /** The input that it is of: that of phase 0 where it is known. */
  readonly input: string | null;
  readonly record: string;
  readonly template: string | undefined;
}

/** Stands for the input in a template: no input has it. */
const placeholder = '\0';

function describeWhat(phase: number, input: string | null): string {
  return `phase ${phase}: ${input === null ? 'reduce' : `input "${input}"`}`;
}

/** The error record of a failure (section 2); short where a template and the input say all of it. */
export function describeFailure({ task, zone, input: given, failure }: Failed, server: string): StoredError {
  const { phase, origin } = task;
  const { code, message, core, stderr, machine = zone === '' ? server : zone } = failure;
  const input = given ?? task.input;
  const p0input = origin ?? (phase.number === 0 ? input : null);
  if (input !== null && input === p0input && core === undefined && stderr === undefined) {
    const template = { phaseNum: phase.number, code, message: message.replaceAll(`"${input}"`, `"${placeholder}"`), server, machine };
    return { input, record: '', template: JSON.stringify(template) };
  }
  const record: JobError = {
    taskId: randomUUID(),
    phaseNum: phase.number,
    what: describeWhat(phase.number, input),
    code,
    message,
    server,
    machine,
    ...(input !== null && { input }),
    ...(p0input !== null && { p0input }),
    ...(core !== undefined && { core }),
    ...(stderr !== undefined && { stderr }),
  };
  return { input: p0input ?? input, record: JSON.stringify(record), template: undefined };
}

/** A UUID that is the same whenever it is asked for. */
function nameTask(job: string, number: number): string {
  const hash = createHash('sha256').update(`${job}/${number}`).digest('hex');
  return [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
}

/** The error record that a template stands for. */
export function fillTemplate(template: string, { job, number, input }: { job: string; number: number; input: string }): JobError {
  const { phaseNum = 0, code, message, server = '', machine = '' } = JSON.parse(template) as JobError;
  return {
    taskId: nameTask(job, number),
    phaseNum,
    what: describeWhat(phaseNum, input),
    code,
    message: message.replaceAll(placeholder, () => input),
    server,
    machine,
    input,
    p0input: input,
  };
}

/** The record of an error that an earlier release may have stored: there the number of the phase is text. */
export function readRecord(record: string): JobError {
  const { phaseNum, ...read } = JSON.parse(record) as Omit<JobError, 'phaseNum'> & { phaseNum?: number | string };
  return { ...read, ...(phaseNum !== undefined && { phaseNum: Number(phaseNum) }) };
}
