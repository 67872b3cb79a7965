import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { Entry } from '../../api/objects.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../errors.ts';
import type { Handler } from '../handler.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import { findDirectory } from './directories.ts';
import { findEntry } from './entries.ts';
import { readStoredHeaders } from './headers.ts';
import { childOf, placeOf, type Place } from './paths.ts';
import { showRoleTags } from './roles.ts';

/** Entries in a reply when the request does not say, and at most: deployed clients ask for 1024 (section 8 has 1000). */
const defaultLimit = 1000;
const mostEntries = 1024;

type Query = SelectQueryBuilder<Schema, 'entries', EntryRow>;
type Start = Pick<EntryRow, 'name' | 'mtime'>;

/** Which entries, from where on, and in which order. */
interface Page {
  limit: number;
  type: EntryRow['type'] | undefined;
  by: 'name' | 'mtime';
  reverse: boolean;
  /** The entry to begin with; `after` leaves it out itself. */
  start: Start | undefined;
  after: boolean;
}

/** The entries of a directory. Whatever its size, a page is one range of an index; the total is kept in the directory's row. */
export const listDirectory: Handler<typeof storage.listDirectory> = async (input, call) => {
  const place = placeOf(call.account.login, input.path);
  const { limit = defaultLimit, marker, sort = 'name', sort_order: order } = input;
  if (!Number.isInteger(limit) || limit < 1 || limit > mostEntries)
    throw refuse(`limit is ${limit}: it must be a whole number from 1 to ${mostEntries}`);
  if (!['name', 'mtime', 'none'].includes(sort)) throw refuse(`sort is "${sort}": it must be name, mtime or none`);
  if (order !== undefined && order !== 'reverse') throw refuse(`sort_order is "${order}": it must be reverse or left out`);
  const directory = await findDirectory(call.store.db, place);
  const by = sort === 'mtime' ? 'mtime' : 'name';
  const page: Page = {
    limit,
    type: chooseType(input.dir !== undefined, input.obj !== undefined),
    by,
    reverse: order === 'reverse',
    start: await findStart(call.store.db, place, by, marker),
    after: place.parts.length === 0,
  };
  const { 'content-type': _, ...headers } = readStoredHeaders(directory);
  const tags = await showRoleTags(call, directory);
  return { headers: { ...headers, ...tags, 'result-set-size': String(directory.children) }, records: readPage(call.store.db, place, page) };
};

/** Asked for both, a listing has both. */
function chooseType(directories: boolean, objects: boolean): EntryRow['type'] | undefined {
  if (directories === objects) return undefined;
  return directories ? 'directory' : 'object';
}

/** A marker is a name; in the order of times that of an entry of the directory, since its time is needed, or a time. */
async function findStart(db: Kysely<Schema>, place: Place, by: Page['by'], marker: string | undefined): Promise<Start | undefined> {
  if (marker === undefined) return undefined;
  if (by === 'name') return { name: marker, mtime: 0 };
  const entry = marker === '' ? undefined : await findEntry(db, childOf(place, marker));
  const mtime = entry?.mtime ?? Date.parse(marker);
  if (Number.isNaN(mtime)) throw refuse(`marker is "${marker}": with sort=mtime it must be an entry of the directory, or a time`);
  return { name: entry ? marker : '', mtime };
}

async function* readPage(db: Kysely<Schema>, place: Place, page: Page): AsyncGenerator<Entry> {
  let query: Query = db.selectFrom('entries').selectAll().where('parent', '=', place.path).limit(page.limit);
  if (page.type) query = query.where('type', '=', page.type);
  // Every name is at least the empty one; said so, the database takes the index by type and name.
  if (page.type && page.by === 'name') query = query.where('name', '>=', '');
  if (page.start) query = startAt(query, page, page.start);
  const direction = page.reverse ? 'desc' : 'asc';
  if (page.by === 'mtime') query = query.orderBy('mtime', direction);
  for (const row of await query.orderBy('name', direction).execute()) yield describeEntry(row);
}

function startAt(query: Query, { by, reverse, after }: Page, start: Start): Query {
  const compare = `${reverse ? '<' : '>'}${after ? '' : '='}` as const;
  if (by === 'name') return query.where('name', compare, start.name);
  return query.where(sql<boolean>`(mtime, name) ${sql.raw(compare)} (${start.mtime}, ${start.name})`);
}

function describeEntry(row: EntryRow): Entry {
  const { name, type, etag, size, md5, copies } = row;
  const mtime = new Date(row.mtime).toISOString();
  if (type === 'directory') return { name, type, mtime };
  return {
    name,
    type,
    mtime,
    etag: etag ?? '',
    size: size ?? 0,
    contentType: readStoredHeaders(row)['content-type'],
    contentMD5: md5 ?? '',
    durability: copies ?? 0,
  };
}

function refuse(message: string): ApiError {
  return new ApiError(400, 'InvalidArgumentError', message);
}
