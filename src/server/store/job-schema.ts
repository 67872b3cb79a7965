import type { Generated } from 'kysely';

/** Tables of the jobs. Numbers count from 0 within their table's first columns, in the order in which rows were added. */
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
  /** UUID of the account whose job it is. */
  account: string;
  /** UUIDs of the account that created it (null: the same), and of its sub-user, or null. */
  creator: string | null;
  user: string | null;
  /** JSON object of type `Access`: what decides about the creator's rights beside who that is. */
  access: string;
  name: string | null;
  /** JSON array of the phases as they were given. */
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

/** Somebody other than the creator who added inputs. Primary key (job, number). */
export interface JobAdderRow {
  job: string;
  number: number;
  /** UUIDs of the account, and of its sub-user, or null. */
  account: string;
  user: string | null;
  /** JSON object of type `Access`. */
  access: string;
}

/** What is known of a phase of a job as a whole. Primary key (job, phase). */
export interface JobPhaseRow {
  job: string;
  phase: number;
  /** Number of reducers; 0 for a map phase. */
  reducers: number;
  /** Inputs that arrived. */
  inputs: number;
  tasks: number;
  /** Tasks that are over, in whichever way. */
  finished: number;
  /** 1 when no further input comes. */
  closed: number;
}

/** A task: one input of a map phase, or one reducer. Primary key (job, phase, number). */
export interface JobTaskRow {
  job: string;
  phase: number;
  number: number;
  /** On SQLite a task waits until its outcome is recorded: the one process that has the data does it. */
  state: 'waiting' | 'running' | 'done' | 'failed';
  /** Path of the object to be processed; null for a reducer. */
  input: string | null;
  /** Path of the input of phase 0 that it comes from; null after a reduce. */
  origin: string | null;
  /** Times that the service itself failed it. */
  tries: number;
  /** Number of who added the input; null for the creator. */
  adder: number | null;
  /** 1 when a task of the phase before named the path, 0 when the service wrote the object; of no meaning in phase 0. */
  given: number;
  /** Engine that runs it, or did last; null on SQLite. */
  owner: Generated<string | null>;
  /** While it runs: until when nobody else may take it, while it waits: from when on it may be taken. Milliseconds of the database's clock; null for any time. */
  lease: Generated<number | null>;
  /** Times that it was claimed; an outcome counts for the latest of them alone. 0 on SQLite. */
  attempt: Generated<number>;
  /** Times that whoever ran it was not heard of again. */
  lost: Generated<number>;
}

/** An input of a reduce phase. Primary key (job, phase, number). */
export interface JobReduceInputRow {
  job: string;
  phase: number;
  number: number;
  reducer: number;
  input: string;
  /** As for a task. */
  adder: number | null;
  given: number;
}

/** An output of the last phase. Primary key (job, number). */
export interface JobOutputRow {
  job: string;
  number: number;
  /** Path of the object. */
  output: string;
  /** 1 when the task named the path, 0 when the service chose it. */
  given: number;
}

/** An error of a job. Primary key (job, number). */
export interface JobErrorRow {
  job: string;
  number: number;
  /** The error record, JSON; empty where a cause stands for it. */
  record: string;
  /** The input that failed, that of phase 0 where it is known; null for a reducer. */
  input: string | null;
  cause: number | null;
}

/** What the records of many errors of a job have in common. Primary key (job, cause). */
export interface JobCauseRow {
  job: string;
  cause: number;
  /** JSON of an error record without what the number and the input of the error say. */
  template: string;
}
