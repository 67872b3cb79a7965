import type { ByteStream } from '../../api/message.ts';
import { jobError, type JobError } from '../../api/objects.ts';
import type { Listing } from '../../api/operation.ts';
import { isTransient } from '../../http/network-error.ts';
import { readLines } from '../../client/response.ts';
import { checkInterrupted, unlessMissing } from '../../base/errors.ts';
import { flatMapEach, mapEach } from '../../base/iterate.ts';
import { pause } from '../../client/retry.ts';
import { openArchive, readJob, readKept, type JobContext } from './find.ts';
import { createProblemWarning } from './wait.ts';

/** The streams of a job: inputs, outputs, failed inputs and errors, with the type of a record. */
export interface JobStreams {
  inputs: string;
  outputs: string;
  failures: string;
  errors: JobError;
}

export type StreamName = keyof JobStreams;

/** Maximum number of records that deployed services list while a job runs. */
const cap = 100;
/** Minimum and maximum delay between two reads of a followed stream, milliseconds. */
const shortest = 100;
const longest = 2000;
/** How long the files of a finished job are waited for, milliseconds. */
const archiving = 10_000;

const files: Readonly<Record<StreamName, string>> = { inputs: 'in.txt', outputs: 'out.txt', failures: 'fail.txt', errors: 'err.txt' };

/** Renames the fields of an error record to those of the specification's table; its sample records use other names. */
function readErrorRecord(record: object): JobError {
  const { id, phase, key } = record as { id?: string; phase?: string; key?: string };
  const other = { taskId: id, phaseNum: phase, input: key };
  const known = Object.fromEntries(Object.entries(other).filter(([, value]) => value !== undefined));
  const read = { ...known, ...record } as Omit<JobError, 'phaseNum'> & { phaseNum?: number | string };
  const { phaseNum, ...rest } = read;
  // Some services send the number of the phase as text.
  return phaseNum === undefined ? rest : { ...read, phaseNum: Number(phaseNum) };
}

function readArchivedErrors(body: ByteStream): AsyncGenerator<JobError> {
  return flatMapEach(readLines(body), (line) => (line.trim() === '' ? [] : [readErrorRecord(readKept(line, jobError))]));
}

/** A live stream is silent while the job produces no records. */
const liveCall = { mayPause: true };

const calls: {
  [N in StreamName]: (context: JobContext, id: string) => Promise<Listing<JobStreams[N]>>;
} = {
  inputs: ({ storage, account }, id) => storage.getJobInput({ account, id }, liveCall),
  outputs: ({ storage, account }, id) => storage.getJobOutput({ account, id }, liveCall),
  failures: ({ storage, account }, id) => storage.getJobFailures({ account, id }, liveCall),
  errors: async ({ storage, account }, id) => {
    const { headers, records } = await storage.getJobErrors({ account, id }, liveCall);
    return { headers, records: mapEach(records, readErrorRecord) };
  },
};

/** Reads a stream of a job repeatedly, and yields each record once. */
export interface JobReader<T> {
  /** Yields the new records; all remaining ones if the job was done before the call. */
  readNew(isDone: boolean): AsyncGenerator<T>;
  /** Number of records that the service does not list until the job is done. */
  readonly hidden: number;
}

/** Yields the records of a file except those that were yielded before. */
async function* readRest<N extends StreamName>(name: N, body: ByteStream, given: readonly string[]): AsyncGenerator<JobStreams[N]> {
  const seen = new Map<string, number>();
  for (const record of given) seen.set(record, (seen.get(record) ?? 0) + 1);
  const records = (name === 'errors' ? readArchivedErrors(body) : readLines(body)) as AsyncIterable<JobStreams[N]>;
  for await (const record of records) {
    const key = JSON.stringify(record);
    const times = seen.get(key) ?? 0;
    if (times > 0) seen.set(key, times - 1);
    else yield record;
  }
}

/** Opens a file of a finished job; waits for it up to `limit` milliseconds, because the service may still be writing it. */
async function waitForFile(context: JobContext, id: string, name: StreamName, limit: number): Promise<ByteStream | undefined> {
  const { interrupted, now } = context.world;
  const end = now() + limit;
  for (;;) {
    const body = await openArchive(context, id, files[name]);
    if (body !== undefined || now() >= end) return body;
    await pause(500, interrupted);
    checkInterrupted(interrupted);
  }
}

/** Creates a reader of one of a job's streams. It reads the files in the job's directory if the service lists only the latest records. */
export function createReader<N extends StreamName>(context: JobContext, id: string, name: N): JobReader<JobStreams[N]> {
  type T = JobStreams[N];
  let given = 0;
  let hidden = 0;
  /** The first records that were yielded, to recognize them in a file with another order. */
  const early: string[] = [];

  function remember(record: T): T {
    given += 1;
    if (early.length < cap) early.push(JSON.stringify(record));
    return record;
  }

  /** Yields the new records of the live stream. Returns `held` records and the number of `missing` ones if the service did not list all. */
  async function* readLive({ headers, records }: Listing<T>): AsyncGenerator<T, { held: T[]; missing: number } | undefined> {
    const total = headers['result-set-size'] === undefined ? undefined : Number(headers['result-set-size']);
    const held: T[] = [];
    let count = 0;
    for await (const record of records) {
      count += 1;
      if (total !== undefined && total > cap && count <= cap) {
        held.push(record);
        continue;
      }
      if (count === cap + 1) for (const each of held.slice(given)) yield remember(each);
      if (count > given) yield remember(record);
    }
    const isCut = total === undefined ? count === cap : total > count;
    return isCut ? { held, missing: (total ?? count) - count } : undefined;
  }

  async function* readNew(isDone: boolean): AsyncGenerator<T> {
    // The live stream is missing once the job is archived.
    const live = await unlessMissing(calls[name](context, id));
    if (live === undefined) {
      const body = isDone ? await openArchive(context, id, files[name]) : undefined;
      if (body !== undefined) yield* readRest(name, body, early);
      return;
    }
    const cut = yield* readLive(live);
    if (cut === undefined) return;
    hidden = cut.missing;
    const body = isDone ? await waitForFile(context, id, name, hidden > 0 ? archiving : 0) : undefined;
    if (body !== undefined) {
      hidden = 0;
      yield* readRest(name, body, early);
    } else if (isDone || given === 0) {
      const known = new Set(early);
      for (const record of cut.held) if (!known.has(JSON.stringify(record))) yield remember(record);
    }
  }

  return {
    readNew,
    get hidden() {
      return hidden;
    },
  };
}

/** Yields the records that a stream of a job has now; with `follow` also later ones until the job is done. */
export async function* readStream<N extends StreamName>(
  context: JobContext & { warn: (message: string) => void },
  id: string,
  name: N,
  follow: boolean,
): AsyncGenerator<JobStreams[N]> {
  const reader = createReader(context, id, name);
  const { interrupted } = context.world;
  const warnOfProblem = createProblemWarning(context);
  for (let wait = shortest; ;) {
    const job = await readJob(context, id);
    const isDone = job.state === 'done';
    if (follow) warnOfProblem(job);
    let isQuiet = true;
    try {
      for await (const record of reader.readNew(isDone)) {
        isQuiet = false;
        yield record;
      }
    } catch (error) {
      // A live stream that failed, for example by a timeout, is read again.
      if (!follow || isDone || !isTransient(error)) throw error;
    }
    if (isDone || !follow) break;
    wait = isQuiet ? Math.min(longest, wait * 1.5) : shortest;
    await pause(wait, interrupted);
    checkInterrupted(interrupted);
  }
  if (reader.hidden > 0) {
    context.warn(`the service returns only the latest records: ${reader.hidden} are missing until the job is done`);
  }
}
