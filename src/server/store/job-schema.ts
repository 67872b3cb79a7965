import type { Generated } from 'kysely';

/** Tables of the jobs. Numbers count from 0 within the preceding key columns, in the order in which rows were added. */
export interface JobSchema {
  jobs: JobRow;
  job_phases: JobPhaseRow;
  job_adders: JobAdderRow;
  job_tasks: JobTaskRow;
  job_reduce_inputs: JobReduceInputRow;
  job_outputs: JobOutputRow;
  job_errors: JobErrorRow;
  job_causes: JobCauseRow;
}

/** A job. Primary key id. */
export interface JobRow {
  id: string;
  /** UUID of the account that owns the job. */
  account: string;
  /** UUIDs of the account that created the job (null: the owner), and of its sub-user, or null. */
  creator: string | null;
  user: string | null;
  /** JSON object of type `Access`: what the creator's permissions depend on, in addition to the creator. */
  access: string;
  name: string | null;
  /** JSON array of the phases as submitted. */
  phases: string;
  state: 'running' | 'done';
  cancelled: number;
  input_done: number;
  created: number;
  done: number | null;
  outputs: number;
  errors: number;
  retries: number;
}

/** A caller other than the creator who added inputs. Primary key (job, number). */
export interface JobAdderRow extends Pick<JobRow, 'access' | 'user'> {
  job: string;
  number: number;
  /** UUID of the account of the caller. */
  account: string;
}

/** State of a phase of a job. Primary key (job, phase). */
export interface JobPhaseRow {
  job: string;
  phase: number;
  /** Number of reducers; 0 for a map phase. */
  reducers: number;
  /** Number of inputs that have arrived. */
  inputs: number;
  tasks: number;
  /** Number of tasks that have ended, with any outcome. */
  finished: number;
  /** 1 when no further inputs will arrive. */
  closed: number;
}

/** A task: one input of a map phase, or one reducer. Primary key (job, phase, number). */
export interface JobTaskRow {
  job: string;
  phase: number;
  number: number;
  /** On SQLite a task is `waiting` until its outcome is recorded: the only process that has the data runs it. */
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** Path of the object to process; null for a reducer. */
  input: string | null;
  /** Path of the phase 0 input from which this input derives; null after a reduce phase. */
  origin: string | null;
  /** Number of failures caused by the service itself. */
  tries: number;
  /** `number` of the caller who added the input; null for the creator. */
  adder: number | null;
  /** 1 if a task of the previous phase named the path, 0 if the service wrote the object; meaningless in phase 0. */
  given: number;
  /** Engine that runs the task, or ran it last; null on SQLite. */
  owner: Generated<string | null>;
  /** If running: when the lease ends. If waiting: when the task may be claimed; null: at any time. Milliseconds by the database's clock. */
  lease: Generated<number | null>;
  /** Number of claims; only the outcome of the latest one counts. 0 on SQLite. */
  attempt: Generated<number>;
  /** Number of times that its engine disappeared while running it. */
  lost: Generated<number>;
}

/** An input of a reduce phase. Primary key (job, phase, number). */
export interface JobReduceInputRow extends Pick<JobTaskRow, 'job' | 'phase' | 'number' | 'origin' | 'adder' | 'given'> {
  reducer: number;
  input: string;
}

/** An output of the last phase. Primary key (job, number). */
export interface JobOutputRow {
  job: string;
  number: number;
  /** Path of the object. */
  output: string;
  /** 1 if the task named the path, 0 if the service chose it. */
  given: number;
}

/** An error of a job. Primary key (job, number). */
export interface JobErrorRow {
  job: string;
  number: number;
  /** The error record as JSON; empty if `cause` refers to it. */
  record: string;
  /** The input of phase 0 that failed; null for a reducer, and for what derives from one. */
  input: string | null;
  cause: number | null;
}

/** The common part of the records of many errors of a job. Primary key (job, cause). */
export interface JobCauseRow {
  job: string;
  cause: number;
  /** JSON of an error record without the fields that follow from the number and input of the error. */
  template: string;
}
