import { sql, type Kysely, type SelectQueryBuilder } from 'kysely';
import type { Entry } from '../../api/objects.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import { createPauses } from '../../base/pauses.ts';
import type { Call, Handler } from '../http/handler.ts';
import { assertPage, defaultLimit, findStart, listDirectory, startAt } from '../storage/listing.ts';
import { rememberPageEnd } from '../storage/page-ends.ts';
import { placeOf, type Place } from '../storage/paths.ts';
import type { EntryRow, Schema } from '../store/schema.ts';

/** The state of the jobs that each value of `state` selects; null if there are none. */
const states: ReadonlyMap<string, 'running' | 'done' | null> = new Map([
  ['running', 'running'],
  ['live', 'running'],
  ['queued', null],
  ['done', 'done'],
]);

type Wishes = Omit<Parameters<typeof listJobs>[0], 'state' | 'name'>;

function createListingError(message: string): ApiError {
  return new ApiError(400, 'InvalidParameter', message);
}

/** Selected jobs of an account, and the directory of their directories. */
interface Selection {
  readonly place: Place;
  readonly jobs: SelectQueryBuilder<Schema, 'jobs', object>;
}

/** Jobs counted per query. */
const countSize = 5000;

/**
 * The number of selected jobs that have a directory. They are counted in pages, so that other requests get their turn however many there
 * are; each page is a range of an index.
 */
export async function countJobs(db: Kysely<Schema>, { place, jobs }: Selection): Promise<number> {
  const pause = createPauses();
  let total = 0;
  for (let after = ''; ;) {
    const page = jobs.select('jobs.id').where('jobs.id', '>', after).orderBy('jobs.id').limit(countSize).as('page');
    const { seen, listed, last } = await db
      .selectFrom(page)
      .leftJoin('entries', (join) => join.on('entries.parent', '=', place.path).onRef('entries.name', '=', 'page.id'))
      .select(({ fn }) => [
        fn.countAll<number>().as('seen'),
        fn.count<number>('entries.name').as('listed'),
        fn.max<string | null>('page.id').as('last'),
      ])
      .executeTakeFirstOrThrow();
    total += listed;
    if (seen < countSize || last === null) return total;
    after = last;
    await pause();
  }
}

/** Maximum number of selected jobs whose directories are sorted. */
const mostSorted = 5000;

/** Order and start of a page. */
interface Order {
  readonly by: 'name' | 'mtime';
  readonly reverse: boolean;
  readonly start: Pick<EntryRow, 'name' | 'mtime'> | undefined;
}

/**
 * The query of a page of the directories of `count` selected jobs, in the order of a directory listing. By name it reads a range of an index
 * of the jobs. By modification time it sorts few directories; if there are many, it reads all of the account in order until the page is full.
 */
export function selectDirectories(
  db: Kysely<Schema>,
  { place, jobs }: Selection,
  count: number,
  { by, reverse, start }: Order,
): SelectQueryBuilder<Schema, 'entries', EntryRow> {
  const direction = reverse ? 'desc' : 'asc';
  if (by === 'name') {
    const started = start ? jobs.where('jobs.id', reverse ? '<=' : '>=', start.name) : jobs;
    return joinDirectories(started, place).orderBy('jobs.id', direction);
  }
  const ofJob = jobs.select('jobs.id').whereRef('jobs.id', '=', sql.ref('entries.name'));
  const all = db.selectFrom('entries').selectAll().where('entries.parent', '=', place.path);
  const directories = count <= mostSorted ? joinDirectories(jobs, place) : all.where(({ exists }) => exists(ofJob));
  const started = start ? startAt(directories, { by, reverse, after: false }, start) : directories;
  return started.orderBy('entries.mtime', direction).orderBy('entries.name', direction);
}

/** The directories of jobs. SQLite reads the tables of a cross join in the written order: the jobs first. */
function joinDirectories(jobs: Selection['jobs'], { path }: Place): SelectQueryBuilder<Schema, 'entries' | 'jobs', EntryRow> {
  const joined = jobs.crossJoin('entries').selectAll('entries').where('entries.parent', '=', path);
  return joined.whereRef('entries.name', '=', 'jobs.id');
}

/** A page of the directories of selected jobs. */
async function readPage(call: Call, selection: Selection, count: number, wishes: Wishes): Promise<EntryRow[]> {
  const { limit = defaultLimit, marker, sort, sort_order: order, obj, dir } = wishes;
  const by = sort === 'mtime' ? 'mtime' : 'name';
  const start = await findStart(call, selection.place, by, marker);
  // Every job is a directory.
  if (obj !== undefined && dir === undefined) return [];
  const rows = await selectDirectories(call.store.db, selection, count, { by, reverse: order === 'reverse', start })
    .limit(limit)
    .execute();
  const last = rows.at(-1);
  if (by === 'mtime' && last) rememberPageEnd(call.store, last, call.now());
  return rows;
}

/**
 * Lists the jobs of the account, by id, as entries of their directories; a job whose directory was deleted is missing. Without `state` and
 * `name` this is an ordinary directory listing; with them, `Result-Set-Size` is the number of jobs that they select.
 */
export const listJobs: Handler<typeof storage.listJobs> = async ({ state, name, ...wishes }, call) => {
  const { db } = call.store;
  assertPage(wishes, createListingError);
  const wanted = state === undefined ? undefined : states.get(state);
  if (state !== undefined && wanted === undefined)
    throw createListingError(`state is "${state}": it must be running, live, queued or done`);
  if (state === undefined && name === undefined) return listDirectory({ ...wishes, path: 'jobs' }, call);
  let jobs: Selection['jobs'] = db.selectFrom('jobs').where('jobs.account', '=', call.account.id);
  if (wanted === null) jobs = jobs.where(sql<boolean>`false`);
  else if (wanted !== undefined) jobs = jobs.where('jobs.state', '=', wanted);
  if (name !== undefined) jobs = jobs.where('jobs.name', '=', name);
  const selection = { place: placeOf(call.account.login, 'jobs'), jobs };
  const count = await countJobs(db, selection);
  const rows = await readPage(call, selection, count, wishes);
  const records = mapEach(rows, ({ name, type, mtime }): Entry => ({ name, type, mtime: new Date(mtime).toISOString() }));
  return { headers: { 'result-set-size': String(count) }, records };
};
