import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { Entry } from '../../api/objects.ts';
import type { InputOf } from '../../api/operation.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import type { Call, Handler } from '../http/handler.ts';
import { WrittenRecords } from '../http/response.ts';
import { asBytes } from '../store/as-bytes.ts';
import { prepareQuery } from '../store/prepared-query.ts';
import { rememberQuery } from '../store/remembered-query.ts';
import type { EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { showCors } from './cors.ts';
import { findDirectory } from './directories.ts';
import { findEntry } from './entries.ts';
import { readStoredHeaders } from './headers.ts';
import { rememberPageEnd, recallPageEnd } from './page-ends.ts';
import { childOf, placeOf, type Place } from './paths.ts';
import { showRoleTags } from './roles.ts';
import { writtenPage } from './written-entries.ts';

/** Default and maximum number of entries in a response: deployed clients request 1024 (section 8 has 1000). */
export const defaultLimit = 1000;
const mostEntries = 1024;

type Query = SelectQueryBuilder<Schema, 'entries', EntryRow>;
type Start = Pick<EntryRow, 'name' | 'mtime'>;

/** Selection, start and order of a page. */
interface Page {
  limit: number;
  type: EntryRow['type'] | undefined;
  by: 'name' | 'mtime';
  reverse: boolean;
  /** The entry to begin with; with `after`, it is excluded. */
  start: Start | undefined;
  after: boolean;
}

type PageInput = Pick<InputOf<typeof storage.listDirectory>, 'limit' | 'sort' | 'sort_order'>;

/** Throws what `createError` makes of a message, unless a page of a listing can be selected in this way. */
export function assertPage(
  { limit = defaultLimit, sort = 'name', sort_order: order }: PageInput,
  createError: (message: string) => ApiError,
): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > mostEntries)
    throw createError(`limit is ${limit}: it must be a whole number from 1 to ${mostEntries}`);
  if (!['name', 'mtime', 'none'].includes(sort)) throw createError(`sort is "${sort}": it must be name, mtime or none`);
  if (order !== undefined && order !== 'reverse') throw createError(`sort_order is "${order}": it must be reverse or absent`);
}

/** Lists the entries of a directory. Whatever its size, a page is one range of an index; the total is kept in the directory's row. */
export const listDirectory: Handler<typeof storage.listDirectory> = async (input, call) => {
  const place = placeOf(call.account.login, input.path);
  const { limit = defaultLimit, marker, sort, sort_order: order } = input;
  assertPage(input, createListingError);
  const directory = await findDirectory(call.store.db, place);
  const by = sort === 'mtime' ? 'mtime' : 'name';
  const page: Page = {
    limit,
    type: chooseType(input.dir !== undefined, input.obj !== undefined),
    by,
    reverse: order === 'reverse',
    start: await findStart(call, place, by, marker),
    after: place.parts.length === 0,
  };
  const { 'content-type': _, ...headers } = showCors(readStoredHeaders(directory), call);
  const tags = await showRoleTags(call, directory);
  return {
    headers: { ...headers, ...tags, 'result-set-size': String(directory.count) },
    records: await readPage(call, place, page),
  };
};

/** A request for both types lists both. */
function chooseType(directories: boolean, objects: boolean): EntryRow['type'] | undefined {
  if (directories === objects) return undefined;
  return directories ? 'directory' : 'object';
}

/**
 * Finds where a page begins. A marker is a name. In the order of modification times, a marker is one of these: the name of an entry,
 * meaning the position that it had at the end of its page; `TIME/NAME`, which states the position; or a time.
 */
export async function findStart(
  { store, now }: Call,
  place: Place,
  by: Page['by'],
  marker: string | undefined,
): Promise<Start | undefined> {
  if (marker === undefined) return undefined;
  if (by === 'name') return { name: marker, mtime: 0 };
  const slash = marker.indexOf('/');
  const name = slash === -1 ? marker : marker.slice(slash + 1);
  const recalled = slash === -1 ? recallPageEnd(store, { parent: place.path, name }, now()) : Date.parse(marker.slice(0, slash));
  const entry = recalled !== undefined || name === '' ? undefined : await findEntry(store.db, childOf(place, name));
  const mtime = recalled ?? entry?.mtime;
  if (mtime !== undefined && !Number.isNaN(mtime)) return { name, mtime };
  const time = Date.parse(marker);
  if (!Number.isNaN(time)) return { name: '', mtime: time };
  throw createListingError(`marker is "${marker}": with sort=mtime it must be an entry of the directory, TIME/NAME, or a time`);
}

/** Values of a page query. Those that the form of the query does not need are ignored. */
interface PageValues {
  readonly parent: string;
  readonly limit: number;
  readonly type: EntryRow['type'] | null;
  readonly name: string | null;
  readonly mtime: number | null;
}

/** A page as one text. */
interface PageRow {
  readonly page: Uint8Array | null;
}

type PageQuery = (db: Kysely<Schema>, values: PageValues) => Promise<PageRow[]>;

/** The conditions and order of a page query. */
type Form = Pick<Page, 'by' | 'reverse' | 'after'> & { readonly ofType: boolean; readonly started: boolean };

/** Compiled queries by their form, as JSON. */
const pageQueries = new Map<string, PageQuery>();

function findPageQuery(form: string): PageQuery {
  const known = pageQueries.get(form);
  if (known) return known;
  const { by, reverse, after, ofType, started } = JSON.parse(form) as Form;
  const made: PageQuery = prepareQuery((db, values: PageValues) => {
    let page = db.selectFrom('entries').selectAll().where('parent', '=', values.parent).limit(values.limit);
    if (ofType) page = page.where('type', '=', values.type as EntryRow['type']);
    // True for every name; with this condition the database uses the index by type and name.
    if (ofType && by === 'name') page = page.where('name', '>=', '');
    if (started) page = startAt(page, { by, reverse, after }, values);
    const direction = reverse ? 'desc' : 'asc';
    if (by === 'mtime') page = page.orderBy('mtime', direction);
    const ordered = page.orderBy('name', direction).as('page');
    return db.selectFrom(ordered).select(writtenPage(db).as('page')).compile();
  });
  pageQueries.set(form, made);
  return made;
}

const selectPage = rememberQuery(
  'entries',
  (db: Kysely<Schema>, { form, ...values }: PageValues & { form: string }) => findPageQuery(form)(db, values),
  ({ page }) => page?.byteLength ?? 0,
);

async function readPage({ store, now }: Call, place: Place, page: Page): Promise<WrittenRecords<Entry>> {
  const { type = null, start, limit, by } = page;
  const values = { parent: place.path, limit, type, name: start?.name ?? null, mtime: start?.mtime ?? null };
  const { reverse, after } = page;
  const form: Form = { by, reverse, after, ofType: type !== null, started: start !== undefined };
  const [row] = await selectPage(store.db, { form: JSON.stringify(form), ...values });
  const records = new WrittenRecords<Entry>(asBytes(row?.page ?? new Uint8Array()));
  if (by === 'mtime') rememberLast(store, place, records.bytes, now());
  return records;
}

/** Remembers the last entry of a page, for a marker that names it. */
function rememberLast(store: Store, { path }: Place, bytes: Uint8Array, now: number): void {
  const last = Buffer.from(bytes).toString().trimEnd().split('\n').at(-1) ?? '';
  if (last === '') return;
  const { name, mtime } = JSON.parse(last) as Entry;
  rememberPageEnd(store, { parent: path, name, mtime: Date.parse(mtime) }, now);
}

/** Lets a page begin at an entry; with `after`, behind it. */
export function startAt(
  query: Query,
  { by, reverse, after }: Pick<Page, 'by' | 'reverse' | 'after'>,
  { name, mtime }: Pick<PageValues, 'name' | 'mtime'>,
): Query {
  const compare = `${reverse ? '<' : '>'}${after ? '' : '='}` as const;
  if (by === 'name') return query.where('entries.name', compare, name);
  return query.where(sql<boolean>`(entries.mtime, entries.name) ${sql.raw(compare)} (${mtime}, ${name})`);
}

function createListingError(message: string): ApiError {
  return new ApiError(400, 'InvalidArgumentError', message);
}
