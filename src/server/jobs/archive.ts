import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import { streamOf, type ByteStream } from '../../api/message.ts';
import { joinLines } from '../http/response.ts';
import type { StoredBytes } from '../store/bytes.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { releaseContents, removeGarbage, type Garbage } from '../storage/contents.ts';
import { ensureDirectory, findEntry, findObstacle, putEntry, type EntryValues } from '../storage/entries.ts';
import { defaultCopies } from '../storage/headers.ts';
import type { archiveNames } from '../storage/job-places.ts';
import { childOf, type Place } from '../storage/paths.ts';
import type { ActiveJob } from './active-job.ts';
import { describeJob } from './describe.ts';
import { jobDirectory } from './find.ts';
import { removeIntermediate } from './intermediate.ts';
import { readErrors, readFailures, readInputs, readOutputs } from './streams.ts';

interface File {
  readonly name: (typeof archiveNames)[number];
  readonly type: string;
  readonly bytes: StoredBytes;
}

/** What became of the archive files. */
interface Outcome {
  readonly garbage: readonly Garbage[];
  readonly leftOut: readonly File[];
  /** Why files were left out. */
  readonly told: readonly string[];
}

/** What a job that is done leaves in its directory: its record and the four streams. Nothing when the job was removed with its account. */
async function writeFiles(store: Store, job: ActiveJob, done: number): Promise<File[]> {
  const { db, bytes } = store;
  const row = await db.selectFrom('jobs').selectAll().where('id', '=', job.id).executeTakeFirst();
  if (!row) return [];
  const described = await describeJob(db, { ...row, state: 'done', done });
  const asIs = (line: string): string => line;
  const json = 'application/json';
  const contents: { name: File['name']; type: string; body: ByteStream }[] = [
    { name: 'job.json', type: json, body: streamOf(Buffer.from(`${JSON.stringify(described)}\n`)) },
    { name: 'in.txt', type: 'text/plain', body: joinLines(readInputs(db, job.id), asIs) },
    { name: 'out.txt', type: 'text/plain', body: joinLines(readOutputs(db, job.id), asIs) },
    { name: 'fail.txt', type: 'text/plain', body: joinLines(readFailures(db, job.id), asIs) },
    {
      name: 'err.txt',
      type: 'application/x-json-stream; type=job-error',
      body: joinLines(readErrors(db, job.id), (record) => JSON.stringify(record)),
    },
  ];
  const files: File[] = [];
  for (const { name, type, body } of contents) files.push({ name, type, bytes: await bytes.writeCompressed(body) });
  return files;
}

/** Puts the archive files into the directory of the job, as a PUT would: what cannot take its place is left out, and told. */
async function putFiles(transaction: Transaction<Schema>, directory: Place, files: readonly File[], now: number): Promise<Outcome> {
  const obstacle = await findObstacle(transaction, directory, files.length);
  if (obstacle !== undefined) return { garbage: [], leftOut: files, told: [obstacle] };
  const roleTags = await ensureDirectory(transaction, directory, now);
  const replaced: (string | null | undefined)[] = [];
  const leftOut: File[] = [];
  for (const file of files) {
    const place = childOf(directory, file.name);
    const found = await findEntry(transaction, place);
    if (found?.type === 'directory') {
      leftOut.push(file);
      continue;
    }
    replaced.push(found?.content);
    await putEntry(transaction, place, found, { ...describeFile(file, now), role_tags: found?.role_tags ?? roleTags });
  }
  const told = leftOut.map(({ name }) => `${childOf(directory, name).path} is a directory`);
  return { garbage: await releaseContents(transaction, replaced), leftOut, told };
}

function describeFile({ type, bytes }: File, mtime: number): Omit<EntryValues, 'role_tags'> {
  const headers = JSON.stringify({ 'content-type': type });
  return { type: 'object', etag: randomUUID(), mtime, size: bytes.size, md5: bytes.md5, content: bytes.id, copies: defaultCopies, headers };
}

/**
 * Removes the outputs of all phases but the last; then writes the archive files of a job and marks it done, in one transaction.
 * @returns why files are missing: older releases let others take their names.
 */
export async function archiveJob(store: Store, job: ActiveJob, now: number): Promise<readonly string[]> {
  await removeIntermediate(store, job);
  const files = await writeFiles(store, job, now);
  const directory = jobDirectory(job.account.login, job.id);
  const { garbage, leftOut, told } = await store.write(async (transaction) => {
    const row = await transaction.selectFrom('jobs').select('id').where('id', '=', job.id).executeTakeFirst();
    if (!row) return { garbage: [], leftOut: files, told: [] };
    const outcome = await putFiles(transaction, directory, files, now);
    // Tasks that a cancelled job leaves are nobody's business any more.
    await transaction.updateTable('job_tasks').set({ state: 'failed' }).where('state', '=', 'waiting').where('job', '=', job.id).execute();
    await transaction.updateTable('jobs').set({ state: 'done', done: now }).where('id', '=', job.id).execute();
    return outcome;
  });
  for (const { bytes } of leftOut) await store.bytes.remove(bytes.id);
  await removeGarbage(store, garbage);
  return told;
}
