/** Tables of the jobs. Numbers count from 0 within their table's first columns, in the order in which rows were added. */
export interface JobSchema {
  jobs: JobRow;
  job_phases: JobPhaseRow;
  job_tasks: JobTaskRow;
  job_reduce_inputs: JobReduceInputRow;
  job_outputs: JobOutputRow;
  job_errors: JobErrorRow;
}

/** A job. Primary key id. */
export interface JobRow {
  id: string;
  /** UUIDs of the account, and of the sub-user who created it, or null. */
  account: string;
  user: string | null;
  /** JSON object of what decides about the creator's rights: the roles that the request named, its address, its program. */
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
  state: 'waiting' | 'done' | 'failed';
  /** Path of the object to be processed; null for a reducer. */
  input: string | null;
  /** Path of the input of phase 0 that it comes from; null after a reduce. */
  origin: string | null;
  /** Times that the service itself failed it. */
  tries: number;
}

/** An input of a reduce phase. Primary key (job, phase, number). */
export interface JobReduceInputRow {
  job: string;
  phase: number;
  number: number;
  reducer: number;
  input: string;
}

/** An output of the last phase. Primary key (job, number). */
export interface JobOutputRow {
  job: string;
  number: number;
  /** Path of the object. */
  output: string;
}

/** An error of a job. Primary key (job, number). */
export interface JobErrorRow {
  job: string;
  number: number;
  /** The error record, JSON. */
  record: string;
  /** The input that failed, that of phase 0 where it is known; null for a reducer. */
  input: string | null;
}
