import { sql, type Transaction } from 'kysely';
import { sliceList } from '../../../base/batches.ts';
import { ApiError, checkInterrupted, isSystemError, LocalError } from '../../../base/errors.ts';
import { openContent, storeBody } from '../../storage/contents.ts';
import { countInParents } from '../../storage/entries.ts';
import { discardContents } from '../../storage/garbage.ts';
import type { StoredBytes } from '../../store/bytes.ts';
import { isCompressed } from '../../store/compressed-bytes.ts';
import { isAmong } from '../../store/list-rows.ts';
import { insertRow, type RowBytes } from '../../store/row-bytes.ts';
import { readPages } from '../../store/read-pages.ts';
import type { EntryRow, Schema } from '../../store/schema.ts';
import { skip } from '../../store/skip.ts';
import type { Store } from '../../store/store.ts';

/** Imports the entries of the object storage with their contents; links share a content. */

/** Entries per transaction, and contents that are copied concurrently. */
const batchSize = 200;
const copiesAtOnce = 8;

/** Where entries come from and where they go. */
export interface EntryCopy {
  readonly from: Store;
  readonly to: Store;
  /** Contents of images: ids in the cluster by ids in the data directory. */
  readonly images: ReadonlyMap<string, string>;
  /** Paths that are left out, with all entries below them. */
  readonly leftOut: ReadonlySet<string>;
  /** Called after each transaction with the number of entries so far. */
  readonly onProgress: (entries: number) => void;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Totals of the copied entries. */
export interface CopiedEntries {
  readonly entries: number;
  readonly objects: number;
  /** Sum of the sizes of all objects. */
  readonly bytes: number;
}

type Key = Pick<EntryRow, 'parent' | 'name'>;

function pathOf({ parent, name }: Key): string {
  return parent === '' ? name : `${parent}/${name}`;
}

/** True if an entry is at or below one of the paths. */
function isLeftOut({ parent, name }: Key, paths: ReadonlySet<string>): boolean {
  const [, login = '', root = '', id = ''] = pathOf({ parent, name }).split('/');
  return paths.has(`/${login}/${root}/${id}`);
}

function isPart(key: Key): boolean {
  return pathOf(key).split('/')[2] === 'uploads';
}

async function findThere({ to: { db } }: EntryCopy, keys: readonly Key[]): Promise<Map<string, EntryRow>> {
  const rows = await db.selectFrom('entries').selectAll().where(isAmong(db, keys)).execute();
  return new Map(rows.map((row) => [pathOf(row), row]));
}

/** @throws {LocalError} when an entry of an earlier run differs from the source */
function assertSame(row: EntryRow, there: EntryRow): void {
  const columns = ['type', 'etag', 'size', 'md5', 'headers', 'role_tags'] as const;
  if (columns.every((column) => row[column] === there[column])) return;
  const login = pathOf(row).split('/')[1] ?? '';
  throw new LocalError(`${pathOf(row)} was changed since the import was begun`, {
    hint: `cloud server accounts delete ${login}, and import again`,
  });
}

/** The first entry that has a content; the others are links to it. */
async function findFirst({ from, leftOut }: EntryCopy, content: string): Promise<Key | undefined> {
  const rows = await from.db
    .selectFrom('entries')
    .select(['parent', 'name'])
    .where('content', '=', content)
    .orderBy('parent')
    .orderBy('name')
    .execute();
  return rows.find((row) => !isLeftOut(row, leftOut));
}

function createDamagedError(row: EntryRow, why: string, cause?: unknown): LocalError {
  return new LocalError(`${pathOf(row)} is damaged in the data directory: ${why}`, {
    hint: 'delete the object in the local service, and run the command again',
    cause,
  });
}

/** Copies a content, and compares size and MD5 of what was read with the record. @throws {LocalError} */
async function copyContent({ from, to, now }: EntryCopy, row: EntryRow & { content: string }): Promise<StoredBytes | RowBytes> {
  const { content, md5 } = row;
  const size = row.size ?? 0;
  try {
    const body = await openContent(from, content, { start: 0, end: size });
    if (!body) throw createDamagedError(row, 'its content is missing');
    const stored = isCompressed(content)
      ? await to.bytes.writeCompressed(body)
      : // Parts of uploads become pieces of an object, which are never rows.
        await storeBody(to, body, { limit: size, length: size, ...(!isPart(row) && { now }) });
    if (stored.size === size && stored.md5 === md5) return stored;
    if (!('row' in stored)) await discardContents(to, [{ content: stored.id }]);
    const differs = stored.size === size ? `the MD5 of its bytes is ${stored.md5}, not ${md5}` : `it has ${stored.size} bytes, not ${size}`;
    throw createDamagedError(row, differs);
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') throw createDamagedError(row, 'its content is missing', error);
    if (error instanceof ApiError && error.status === 507) throw new LocalError(error.message, { cause: error });
    throw error;
  }
}

/** Finds or copies the contents of objects, in their order, several concurrently. */
async function copyContents(
  copy: EntryCopy,
  rows: readonly EntryRow[],
): Promise<{ of: ReadonlyMap<string, string>; stored: readonly (StoredBytes | RowBytes)[] }> {
  const of = new Map<string, string>();
  const work: (EntryRow & { content: string })[] = [];
  for (const { content, ...row } of rows) {
    if (content === null || of.has(content)) continue;
    const image = copy.images.get(content);
    const first = image === undefined ? await findFirst(copy, content) : undefined;
    // Contents of earlier batches and runs.
    const there = first && (await findThere(copy, [first])).values().next().value;
    const known = image ?? there?.content ?? undefined;
    of.set(content, known ?? '');
    if (known === undefined) work.push({ ...row, content });
  }
  const stored: (StoredBytes | RowBytes)[] = [];
  for (const some of sliceList(work, copiesAtOnce)) {
    checkInterrupted(copy.signal);
    const copied = await Promise.all(some.map((row) => copyContent(copy, row)));
    for (const [at, { content }] of some.entries()) of.set(content, copied[at]?.id ?? '');
    stored.push(...copied);
  }
  return { of, stored };
}

async function insertEntries(transaction: Transaction<Schema>, rows: readonly EntryRow[]): Promise<void> {
  const added = await transaction.insertInto('entries').values(rows).onConflict(skip).returning('parent').execute();
  if (added.length < rows.length) throw new LocalError('another import of the same data directory runs', { hint: 'let it end' });
  await countInParents(transaction, added, 1);
}

/** Copies the entries that do not exist yet, in one transaction. */
async function copyBatch(copy: EntryCopy, rows: readonly EntryRow[]): Promise<void> {
  const there = await findThere(copy, rows);
  for (const row of rows) {
    const found = there.get(pathOf(row));
    if (found) assertSame(row, found);
  }
  const missing = rows.filter((row) => !there.has(pathOf(row)));
  if (missing.length === 0) return;
  const { of, stored } = await copyContents(copy, missing);
  const values = missing.map((row) => ({ ...row, children: 0, content: row.content === null ? null : (of.get(row.content) ?? null) }));
  await copy.to.write(async (transaction) => {
    for (const each of stored) if ('row' in each) await insertRow(transaction, each);
    await insertEntries(transaction, values);
  });
}

/**
 * Copies all entries that are not left out, in the order of their paths, so that each finds its directory and each link its source. Entries
 * of earlier runs are compared and kept.
 * @throws {LocalError} when a content differs from its record; {InterruptedError}
 */
export async function copyEntries(copy: EntryCopy): Promise<CopiedEntries> {
  const total = { entries: 0, objects: 0, bytes: 0 };
  const pages = readPages<EntryRow>(copy.from.db, 'entries', { key: ['parent', 'name'], where: sql`true`, size: batchSize });
  for await (const batch of pages) {
    checkInterrupted(copy.signal);
    const rows = batch.filter((row) => !isLeftOut(row, copy.leftOut));
    if (rows.length > 0) await copyBatch(copy, rows);
    total.entries += rows.length;
    const objects = rows.filter(({ type }) => type === 'object');
    total.objects += objects.length;
    total.bytes += objects.reduce((sum, { size }) => sum + (size ?? 0), 0);
    copy.onProgress(total.entries);
  }
  checkInterrupted(copy.signal);
  return total;
}

/** Totals of the entries of accounts in a cluster. */
export async function measureEntries({ db }: Store, logins: readonly string[]): Promise<CopiedEntries> {
  const total = { entries: 0, objects: 0, bytes: 0 };
  for (const login of logins) {
    const root = `/${login}`;
    const { rows } = await sql<CopiedEntries>`
      select count(*) as entries, count(etag) as objects, coalesce(sum(size), 0) as bytes from entries
      where (parent >= ${`${root}/`} and parent < ${`${root}0`}) or parent = ${root} or (parent = '' and name = ${root})`.execute(db);
    for (const row of rows) {
      total.entries += row.entries;
      total.objects += row.objects;
      total.bytes += row.bytes;
    }
  }
  return total;
}
