import { createHash, randomUUID } from 'node:crypto';
import type { JobError } from '../../api/objects.ts';
import type { Task } from './active-job.ts';
import type { Failure } from './outcome.ts';

/** A failure, with the task, zone and input that it belongs to. */
export interface Failed {
  readonly task: Task;
  readonly zone: string;
  /** Set for an input of a reducer. */
  readonly input?: string;
  /** Set for an input of a reducer: the input of phase 0 from which it derives, or null. */
  readonly origin?: string | null;
  readonly failure: Failure;
}

/** An error as it is stored: either a full record, or a template that it shares with many other errors, plus its number and input. */
export interface StoredError {
  /** The input of phase 0 that failed, if it is known. */
  readonly input: string | null;
  readonly record: string;
  readonly template: string | undefined;
}

/** Stands for the input in a template: no input contains NUL. */
const placeholder = '\0';

function describeWhat(phase: number, input: string | null): string {
  return `phase ${phase}: ${input === null ? 'reduce' : `input "${input}"`}`;
}

/** The error record of a failure (section 2). `record` is empty if a template and the input say everything. */
export function describeFailure({ task, zone, failure, ...given }: Failed, server: string): StoredError {
  const { phase } = task;
  const { code, message, core, stderr, machine = zone === '' ? server : zone } = failure;
  const { input, origin = null } = given.input === undefined ? task : { input: given.input, origin: given.origin };
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
  return { input: p0input, record: JSON.stringify(record), template: undefined };
}

/** A UUID derived from its arguments: the same at every call. */
function nameTask(job: string, number: number): string {
  const hash = createHash('sha256').update(`${job}/${number}`).digest('hex');
  return [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `a${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-');
}

/** Builds an error record from its template. */
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

/** Parses an error record. Earlier releases stored the number of the phase as text. */
export function readRecord(record: string): JobError {
  const { phaseNum, ...read } = JSON.parse(record) as Omit<JobError, 'phaseNum'> & { phaseNum?: number | string };
  return { ...read, ...(phaseNum !== undefined && { phaseNum: Number(phaseNum) }) };
}
