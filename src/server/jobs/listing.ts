import { sql, type SelectQueryBuilder } from 'kysely';
import type { Entry } from '../../api/objects.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import type { Call, Handler } from '../http/handler.ts';
import { assertPage, defaultLimit, findStart, listDirectory, startAt } from '../storage/listing.ts';
import { rememberPageEnd } from '../storage/page-ends.ts';
import { placeOf } from '../storage/paths.ts';
import type { EntryRow, Schema } from '../store/schema.ts';

/** Job states that each value of `state` selects. */
const states: ReadonlyMap<string, readonly ('running' | 'done')[]> = new Map([
  ['running', ['running']],
  ['live', ['running']],
  ['queued', []],
  ['done', ['done']],
]);

type Wishes = Omit<Parameters<typeof listJobs>[0], 'state' | 'name'>;
type Query = SelectQueryBuilder<Schema, 'entries', EntryRow>;

function refuse(message: string): ApiError {
  return new ApiError(400, 'InvalidParameter', message);
}

/** A page of the directories of selected jobs, in the order of a directory listing with the same parameters. */
async function readPage(call: Call, directories: Query, wishes: Wishes): Promise<EntryRow[]> {
  const { limit = defaultLimit, marker, sort, sort_order: order } = wishes;
  const place = placeOf(call.account.login, 'jobs');
  const by = sort === 'mtime' ? 'mtime' : 'name';
  const reverse = order === 'reverse';
  const start = await findStart(call, place, by, marker);
  const direction = reverse ? 'desc' : 'asc';
  let page = directories.limit(limit);
  // Every job is a directory.
  if (wishes.obj !== undefined && wishes.dir === undefined) page = page.where('type', '=', 'object');
  if (start) page = startAt(page, { by, reverse, after: false }, start);
  if (by === 'mtime') page = page.orderBy('mtime', direction);
  const rows = await page.orderBy('name', direction).execute();
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
  assertPage(wishes, refuse);
  const wanted = state === undefined ? undefined : states.get(state);
  if (state !== undefined && wanted === undefined) throw refuse(`state is "${state}": it must be running, live, queued or done`);
  if (state === undefined && name === undefined) return listDirectory({ ...wishes, path: 'jobs' }, call);
  let jobs = db.selectFrom('jobs').select('id').whereRef('jobs.id', '=', sql.ref('entries.name'));
  if (wanted) jobs = wanted.length === 0 ? jobs.where(sql<boolean>`false`) : jobs.where('jobs.state', 'in', wanted);
  if (name !== undefined) jobs = jobs.where('jobs.name', '=', name);
  const directories = db
    .selectFrom('entries')
    .where('parent', '=', placeOf(call.account.login, 'jobs').path)
    .where(({ exists }) => exists(jobs));
  const { count } = await directories.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  const rows = await readPage(call, directories.selectAll(), wishes);
  const records = mapEach(rows, ({ name, type, mtime }): Entry => ({ name, type, mtime: new Date(mtime).toISOString() }));
  return { headers: { 'result-set-size': String(count) }, records };
};
