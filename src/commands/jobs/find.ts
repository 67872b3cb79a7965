import type { ByteStream } from '../../api/message.ts';
import type { Field } from '../../api/fields.ts';
import { job, type Entry, type Job } from '../../api/objects.ts';
import { isEmptyResponse, readBounded } from '../../client/response.ts';
import { checkShape } from '../../client/shape.ts';
import type { Context } from '../../cli/command.ts';
import { findNamed } from '../../cli/named.ts';
import { isForbidden } from '../../cli/shapes.ts';
import { withHint } from '../../base/error-copies.ts';
import { isMissing, NetworkError, NotFoundError, unlessMissing, UsageError } from '../../base/errors.ts';
import { runOrdered } from '../../base/parallel.ts';
import { isUuid } from '../../base/uuid.ts';

/** The part of the context that functions for jobs need. */
export type JobContext = Pick<Context, 'storage' | 'account' | 'world'>;

/** Maximum size of a job's record, bytes. */
const largestRecord = 16 * 1024 * 1024;
/** Number of jobs whose records are requested concurrently. */
const width = 8;

/** Opens a file of a job's directory, which services write when the job is done; undefined when it does not exist. */
export async function openArchive({ storage, account }: JobContext, id: string, file: string): Promise<ByteStream | undefined> {
  return (await unlessMissing(storage.getObject({ account, path: `jobs/${id}/${file}` })))?.body;
}

/** Reads a record that a service has archived in a file, and checks it against its declaration like a response. */
export function readKept<T>(text: string, shape: Field<T>): T {
  try {
    return checkShape(JSON.parse(text), shape, 'the service');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new NetworkError('the service returned a job file that is not JSON', { code: 'UnreadableReply', cause: error });
  }
}

/** Explains the error for an unknown job, with the command that lists the jobs. */
export async function explainJob<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw withHint(error, 'cloud jobs list', `job ${id} does not exist`);
  }
}

/** What is known of a job: a service that responds 204 without a record for a running job shows only that it exists. */
export type KnownJob = Pick<Job, 'id'> & Partial<Job>;

/**
 * Reads the record of a job. A service that no longer keeps the job live, or that responds 204 without a record, has archived the record in
 * a file once the job is done.
 * @throws {ApiError} with status 404 when there is no such job
 */
export async function readJob(context: JobContext, id: string): Promise<KnownJob> {
  try {
    return await context.storage.getJob({ account: context.account, id });
  } catch (error) {
    const isGone = isMissing(error) || (error instanceof NetworkError && error.code === 'UnreadableReply');
    const kept = isGone || isEmptyResponse(error) ? await openArchive(context, id, 'job.json') : undefined;
    if (kept === undefined && isEmptyResponse(error)) return { id };
    if (kept === undefined) return await explainJob(id, () => Promise.reject(error as Error));
    return readKept(Buffer.from(await readBounded(kept, largestRecord, 'the service')).toString(), job);
  }
}

/** Selects the jobs to list. */
export interface JobFilter {
  state?: string | undefined;
  name?: string | undefined;
}

/** Entries of the jobs directory, page after page. A service without paging sends all entries in each response: the first one is used. */
export async function* listJobEntries({ storage, account }: JobContext, filter: JobFilter = {}): AsyncGenerator<Entry> {
  let first: string | undefined;
  let marker: string | undefined;
  for (;;) {
    const { records } = await storage.listJobs({ account, ...filter, marker });
    let last: string | undefined;
    const seen = new Set<string>();
    for await (const entry of records) {
      if (typeof entry.name !== 'string') throw new NetworkError('a record of the listing has no name', { code: 'UnreadableReply' });
      if (marker !== undefined && entry.name === first) return;
      // Each entry costs a request, so that an endless page would cost an endless number of requests.
      if (seen.has(entry.name)) throw new NetworkError('the listing of jobs contains a job twice', { code: 'UnreadableReply' });
      seen.add(entry.name);
      first ??= entry.name;
      if (entry.name === marker) continue;
      last = entry.name;
      yield entry;
    }
    if (last === undefined) return;
    marker = last;
  }
}

function fitsState({ state }: KnownJob, wanted: string | undefined): boolean {
  return wanted === undefined || state === wanted || (wanted === 'live' && state !== 'done');
}

/** The records of the listed jobs that fit, in the order of the listing. Filters that a service does not know are applied here. */
async function* readJobs(context: JobContext, entries: AsyncIterable<Entry>, filter: JobFilter): AsyncGenerator<KnownJob> {
  const read = async ({ name }: { name: string }): Promise<KnownJob | undefined> => {
    try {
      return await readJob(context, name);
    } catch (error) {
      // A job may be removed between the listing and this request.
      if (isMissing(error)) return undefined;
      // A caller who may list all jobs may not be allowed to read each of them; the listing gives the ids of the others.
      if (isForbidden(error)) return filter.name === undefined ? { id: name } : undefined;
      throw error;
    }
  };
  const jobs = runOrdered(entries, read, { limit: width });
  for await (const found of jobs) {
    if (found === undefined) continue;
    // A job that this caller may not read has no state here; the service has filtered it by state.
    const fits = found.state === undefined || fitsState(found, filter.state);
    if (fits && (filter.name === undefined || found.name === filter.name)) yield found;
  }
}

/** Entries of jobs that a service has archived and no longer knows: its filters select none of them. */
async function* listForgotten(context: JobContext): AsyncGenerator<Entry> {
  const served = new Set<string>();
  // In this order, so that a job that ends meanwhile is in one of the lists.
  for (const state of ['running', 'done']) for await (const { name } of listJobEntries(context, { state })) served.add(name);
  for await (const entry of listJobEntries(context)) if (!served.has(entry.name)) yield entry;
}

/** The records of all jobs that fit, also of those that a service no longer knows: they are done, and follow the others. */
export async function* listJobs(context: JobContext, filter: JobFilter = {}): AsyncGenerator<KnownJob> {
  yield* readJobs(context, listJobEntries(context, filter), filter);
  const isFiltered = filter.state !== undefined || filter.name !== undefined;
  if (isFiltered && (filter.state ?? 'done') === 'done') yield* readJobs(context, listForgotten(context), filter);
}

/**
 * Returns the id of a job by its id, by the first eight or more characters of its id, or by its name.
 * @throws {UsageError} with the candidates when several jobs match, and for an empty word, such as an unset variable in a script: a job may
 * have an empty name
 */
export async function findJob(context: JobContext, word: string): Promise<string> {
  if (word === '') throw new UsageError('the id or name of a job is empty', { hint: 'cloud jobs list' });
  if (isUuid(word)) return word.toLowerCase();
  const candidates: { id: string; name: string }[] = [];
  if (/^[0-9a-f-]{8,}$/.test(word)) {
    for await (const { name } of listJobEntries(context)) if (name.startsWith(word)) candidates.push({ id: name, name: '' });
  }
  const served = listJobEntries(context, { name: word });
  for await (const { id, name = '' } of readJobs(context, served, { name: word })) candidates.push({ id, name });
  if (candidates.length === 0)
    for await (const { id, name = '' } of readJobs(context, listForgotten(context), { name: word })) candidates.push({ id, name });
  const found = findNamed(candidates, word, 'job');
  if (!found) throw new NotFoundError(`job "${word}" does not exist`, { hint: 'cloud jobs list' });
  return found.id;
}
