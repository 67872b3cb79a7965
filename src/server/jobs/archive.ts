import { randomUUID } from 'node:crypto';
import { streamOf, type ByteStream } from '../../api/message.ts';
import { joinLines } from '../reply.ts';
import type { StoredBytes } from '../store/bytes.ts';
import type { Store } from '../store/store.ts';
import { releaseContents, removeGarbage } from '../storage/contents.ts';
import { ensureDirectory, findEntry, putEntry } from '../storage/entries.ts';
import { defaultCopies } from '../storage/headers.ts';
import { childOf } from '../storage/paths.ts';
import type { ActiveJob } from './active-job.ts';
import { describeJob } from './describe.ts';
import { jobDirectory } from './find.ts';
import { readErrors, readFailures, readInputs, readOutputs } from './streams.ts';

interface File {
  readonly name: string;
  readonly type: string;
  readonly bytes: StoredBytes;
}

/** What a job that is done leaves in its directory: its record and the four streams. */
async function writeFiles(store: Store, job: ActiveJob, done: number): Promise<File[]> {
  const { db, bytes } = store;
  const row = await db.selectFrom('jobs').selectAll().where('id', '=', job.id).executeTakeFirstOrThrow();
  const described = await describeJob(db, { ...row, state: 'done', done });
  const asIs = (line: string): string => line;
  const json = 'application/json';
  const contents: { name: string; type: string; body: ByteStream }[] = [
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
  for (const { name, type, body } of contents) files.push({ name, type, bytes: await bytes.write(body) });
  return files;
}

/** Writes the archive files of a job and marks it done, in one transaction. */
export async function archiveJob(store: Store, job: ActiveJob, now: number): Promise<void> {
  const files = await writeFiles(store, job, now);
  const directory = jobDirectory(job.account.login, job.id);
  const garbage = await store.write(async (transaction) => {
    const roleTags = await ensureDirectory(transaction, directory, now);
    const replaced: (string | null | undefined)[] = [];
    for (const { name, type, bytes } of files) {
      const place = childOf(directory, name);
      const found = await findEntry(transaction, place);
      replaced.push(found?.content);
      await putEntry(transaction, place, found, {
        type: 'object',
        etag: randomUUID(),
        mtime: now,
        size: bytes.size,
        md5: bytes.md5,
        content: bytes.id,
        copies: defaultCopies,
        headers: JSON.stringify({ 'content-type': type }),
        role_tags: found?.role_tags ?? roleTags,
      });
    }
    // Tasks that a cancelled job leaves are nobody's business any more.
    await transaction.updateTable('job_tasks').set({ state: 'failed' }).where('state', '=', 'waiting').where('job', '=', job.id).execute();
    await transaction.updateTable('jobs').set({ state: 'done', done: now }).where('id', '=', job.id).execute();
    return releaseContents(transaction, replaced);
  });
  await removeGarbage(store, garbage);
}
