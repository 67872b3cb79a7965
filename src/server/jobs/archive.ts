import { sql, type Transaction } from 'kysely';
import { streamOf, type ByteStream } from '../../api/message.ts';
import { undoOnFailure } from '../../base/undo-on-failure.ts';
import { joinLines } from '../http/response.ts';
import type { StoredBytes } from '../store/bytes.ts';
import type { JobRow } from '../store/job-schema.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { discardContents, releaseContents, removeGarbage, type Garbage } from '../storage/garbage.ts';
import { describeStored, ensureDirectory, findEntry, findObstacle, putEntry, type EntryValues } from '../storage/entries.ts';
import { defaultCopies } from '../storage/headers.ts';
import type { archiveNames } from '../storage/job-places.ts';
import { childOf, type Place } from '../storage/paths.ts';
import type { ActiveJob } from './active-job.ts';
import { describeJob } from './describe.ts';
import { jobDirectory, lockJob } from './find.ts';
import { removeIntermediate } from './intermediate.ts';
import { claimedState, hasLiveTasks } from './leases.ts';
import { readErrors, readFailures, readInputs, readOutputs } from './streams.ts';

interface File {
  readonly name: (typeof archiveNames)[number];
  readonly type: string;
  readonly bytes: StoredBytes;
}

/** Result of storing the archive files. */
interface Outcome {
  readonly garbage: readonly Garbage[];
  readonly leftOut: readonly File[];
  /** Why files were left out, as messages. */
  readonly told: readonly string[];
}

/** Writes the contents of the archive files of a finished job: its record and the four streams. If one cannot be written, removes the others. */
async function writeFiles(store: Store, job: JobRow, done: number, signal?: AbortSignal): Promise<File[]> {
  const { db, bytes } = store;
  const described = await describeJob(db, { ...job, state: 'done', done });
  const asIs = (line: string): string => line;
  const json = 'application/json';
  const contents: { name: File['name']; type: string; body: ByteStream }[] = [
    { name: 'job.json', type: json, body: streamOf(Buffer.from(`${JSON.stringify(described)}\n`)) },
    { name: 'in.txt', type: 'text/plain', body: joinLines(readInputs(db, job.id, signal), asIs) },
    { name: 'out.txt', type: 'text/plain', body: joinLines(readOutputs(db, job.id, signal), asIs) },
    { name: 'fail.txt', type: 'text/plain', body: joinLines(readFailures(store, job, signal), asIs) },
    {
      name: 'err.txt',
      type: 'application/x-json-stream; type=job-error',
      body: joinLines(readErrors(db, job.id, signal), (record) => JSON.stringify(record)),
    },
  ];
  const files: File[] = [];
  return undoOnFailure(
    () => discardFiles(store, files),
    async () => {
      for (const { name, type, body } of contents) files.push({ name, type, bytes: await bytes.writeCompressed(body) });
      return files;
    },
  );
}

function discardFiles(store: Store, files: readonly File[]): Promise<void> {
  const rows = files.map(({ bytes }) => ({ content: bytes.id }));
  return discardContents(store, rows);
}

/** Puts the archive files into the directory of the job, as a PUT would. Files that cannot be stored are left out and reported. */
async function putFiles(transaction: Transaction<Schema>, directory: Place, files: readonly File[], now: number): Promise<Outcome> {
  const obstacle = await findObstacle(transaction, directory, files.length);
  if (obstacle !== undefined) return { garbage: [], leftOut: files, told: [obstacle] };
  const roleTags = await ensureDirectory(transaction, directory, now);
  const replaced: (EntryRow | undefined)[] = [];
  const leftOut: File[] = [];
  for (const file of files) {
    const place = childOf(directory, file.name);
    const found = await findEntry(transaction, place, 'own');
    if (found?.type === 'directory') {
      leftOut.push(file);
      continue;
    }
    replaced.push(found);
    await putEntry(transaction, place, found, { ...describeFile(file, now), role_tags: found?.role_tags ?? roleTags });
  }
  const told = leftOut.map(({ name }) => `${childOf(directory, name).path} is a directory`);
  return { garbage: await releaseContents(transaction, replaced), leftOut, told };
}

function describeFile({ type, bytes }: File, mtime: number): Omit<EntryValues, 'role_tags'> {
  return { ...describeStored(bytes, mtime), copies: defaultCopies, headers: JSON.stringify({ 'content-type': type }) };
}

/** Result of `archiveJob`. */
export interface Ended {
  /** True if the job is done; otherwise other engines still hold some of its tasks, or results were recorded meanwhile. */
  readonly isDone: boolean;
  /** Why archive files are missing: older releases allowed other objects to take their names. */
  readonly missing: readonly string[];
}

/** Ends a job in one transaction; undefined if that must wait, because others have written to the job since `seen` was read. */
async function writeDone(
  transaction: Transaction<Schema>,
  { job, directory, files, now, seen }: { job: ActiveJob; directory: Place; files: readonly File[]; now: number; seen: JobRow },
): Promise<Outcome | undefined> {
  const row = await lockJob(transaction, job.id);
  const isSame = row?.errors === seen.errors && row.outputs === seen.outputs && row.cancelled === seen.cancelled;
  if (row?.state !== 'running' || !isSame) return undefined;
  const outcome = await putFiles(transaction, directory, files, now);
  // Nobody needs the remaining tasks of a cancelled job any more.
  for (const state of new Set(['waiting' as const, claimedState(transaction)]))
    await transaction
      .updateTable('job_tasks')
      .set({ state: 'failed' })
      .where('state', '=', sql.lit(state))
      .where('job', '=', job.id)
      .execute();
  await transaction.updateTable('jobs').set({ state: 'done', done: now }).where('id', '=', job.id).execute();
  return outcome;
}

/** Tasks changed per transaction: none takes long, however many tasks there are. */
const batchSize = 5000;

/**
 * Fails the tasks of a cancelled job that never began, in batches, before the transaction that ends the job. The state is part of the text of
 * the queries, because with a parameter SQLite does not use the index of waiting tasks.
 */
async function dropWaiting(store: Store, job: string, signal?: AbortSignal): Promise<void> {
  const waiting = (db: Store['db']) =>
    db.selectFrom('job_tasks').select(['phase', 'number']).where('job', '=', job).where('state', '=', sql.lit('waiting'));
  for (;;) {
    signal?.throwIfAborted();
    const first = await waiting(store.db).orderBy('phase').orderBy('number').limit(1).executeTakeFirst();
    if (first === undefined) return;
    await store.writeEntry(async (transaction) => {
      await lockJob(transaction, job);
      // A range of the key: while the table has no statistics, a join with chosen rows would compare each row with all others.
      const batch = transaction.updateTable('job_tasks').set({ state: 'failed' }).where('job', '=', job).where('phase', '=', first.phase);
      const range = batch.where('number', '>=', first.number).where('number', '<', first.number + batchSize);
      await range.where('state', '=', sql.lit('waiting')).execute();
    });
  }
}

/**
 * Removes the outputs of all phases but the last, then writes the archive files of a job and marks it done, in one transaction. Any number
 * of engines may do so concurrently, and again after a crash: only one of them marks it.
 * @param signal ends the work within moments, however large the job is; a later call continues it
 * @throws the reason of `signal`
 */
export async function archiveJob(store: Store, job: ActiveJob, now: number, signal?: AbortSignal): Promise<Ended> {
  if (await hasLiveTasks(store, job.id)) return { isDone: false, missing: [] };
  const seen = await store.db.selectFrom('jobs').selectAll().where('id', '=', job.id).executeTakeFirst();
  if (seen?.state !== 'running') return { isDone: true, missing: [] };
  if (seen.cancelled === 1) await dropWaiting(store, job.id, signal);
  await removeIntermediate(store, job, signal);
  const files = await writeFiles(store, seen, now, signal);
  const directory = jobDirectory(job.account.login, job.id);
  const outcome = await store.writeEntry((transaction) => writeDone(transaction, { job, directory, files, now, seen }));
  await discardFiles(store, outcome?.leftOut ?? files);
  await removeGarbage(store, outcome?.garbage ?? []);
  return { isDone: outcome !== undefined, missing: outcome?.told ?? [] };
}
