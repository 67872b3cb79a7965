import { createHash } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { lazily } from '../../base/lazily.ts';
import { asBytes } from '../store/as-bytes.ts';
import type { ResumableDigest } from '../store/resumable-digest.ts';
import type { EntryRow, Schema, UploadDigestRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { useContent } from './contents.ts';
import { findEntry } from './entries.ts';
import { mapForEachStore } from './for-each-store.ts';
import { childOf, type Place } from './paths.ts';

/**
 * The MD5 of an upload whose parts several processes receive: its state is saved in a row after each part, and whichever process continues
 * starts from there. Lost state is computed again.
 */

/** A part by its content in the byte store. */
export type PartContent = Pick<EntryRow, 'content' | 'size'>;

/** Identifies what a digest covers: the previous contents, and one more. */
function addLink(chain: string, content: string): string {
  return createHash('sha256').update(`${chain} ${content}`).digest('hex');
}

async function findSaved(db: Kysely<Schema>, uploadId: string): Promise<UploadDigestRow | undefined> {
  return db.selectFrom('upload_digests').selectAll().where('upload', '=', uploadId).executeTakeFirst();
}

/** A digest of the first parts of an upload. */
interface Running {
  readonly digest: ResumableDigest;
  parts: number;
  chain: string;
}

const loadDigest = lazily(() => import('../store/resumable-digest.ts'));

async function resume(saved: UploadDigestRow | undefined): Promise<Running> {
  const { openDigest } = await loadDigest();
  const digest = await openDigest(saved && asBytes(saved.state));
  return saved && digest.isResumed ? { digest, parts: saved.parts, chain: saved.chain } : { digest, parts: 0, chain: '' };
}

/** False if the next part could not be read; the digest is unchanged then. */
async function addPart(store: Store, running: Running, { content, size }: PartContent): Promise<boolean> {
  if (content === null) return false;
  const add = async (): Promise<boolean> => {
    await running.digest.add(await store.bytes.read(content, 0, size ?? 0));
    return true;
  };
  if ((await useContent(store, content, add)) !== true) return false;
  running.chain = addLink(running.chain, content);
  running.parts += 1;
  return true;
}

/** Saves the state of a digest unless another process has got further, or the upload is done. */
async function save(store: Store, uploadId: string, { digest, parts, chain }: Running): Promise<void> {
  const state = digest.state();
  await store.write(async (transaction) => {
    await sql`
      insert into upload_digests (upload, parts, chain, state)
      select id, ${parts}, ${chain}, ${state} from uploads where id = ${uploadId} and state <> 'done'
      on conflict (upload) do update set parts = excluded.parts, chain = excluded.chain, state = excluded.state
      where upload_digests.parts < excluded.parts`.execute(transaction);
  });
}

/** The work in progress on each upload; this process does one piece of work at a time on an upload. */
const findWork = mapForEachStore<Promise<void>>();

async function addPresent(store: Store, uploadId: string, directory: Place): Promise<void> {
  const running = await resume(await findSaved(store.db, uploadId));
  for (;;) {
    const part = await findEntry(store.db, childOf(directory, String(running.parts)));
    if (!part || !(await addPart(store, running, part))) return;
    await save(store, uploadId, running);
  }
}

/** Continues an upload's MD5 in the background, up to the first missing part. */
export function goOnAhead(store: Store, uploadId: string, directory: Place): void {
  const work = findWork(store);
  // An error here occurs again at the commit, which reports it.
  const next = (work.get(uploadId) ?? Promise.resolve()).then(() => addPresent(store, uploadId, directory)).catch(() => undefined);
  work.set(uploadId, next);
  void next.then(() => {
    if (work.get(uploadId) === next) work.delete(uploadId);
  });
}

/** Base64 MD5 of the parts in order; undefined if one of them has been replaced meanwhile. */
export async function digestSaved(store: Store, uploadId: string, parts: readonly PartContent[]): Promise<string | undefined> {
  await findWork(store).get(uploadId);
  const saved = await findSaved(store.db, uploadId);
  const first = parts.slice(0, saved?.parts ?? 0);
  const fits = saved?.parts === first.length && first.reduce((chain, { content }) => addLink(chain, content ?? ''), '') === saved.chain;
  const running = await resume(fits ? saved : undefined);
  for (const part of parts.slice(running.parts)) if (!(await addPart(store, running, part))) return undefined;
  return running.digest.value();
}

/** Discards the MD5 state of a completed upload. */
export function forgetSaved(store: Store, uploadId: string): void {
  const forget = (): Promise<unknown> =>
    store.write((transaction) => transaction.deleteFrom('upload_digests').where('upload', '=', uploadId).execute());
  // A row that is left behind costs 300 bytes and does no harm.
  void (findWork(store).get(uploadId) ?? Promise.resolve()).then(forget).catch(() => undefined);
}
