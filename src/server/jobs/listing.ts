import { sql } from 'kysely';
import type { Entry } from '../../api/objects.ts';
import type { storage } from '../../api/storage.ts';
import { ApiError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import type { Handler } from '../http/handler.ts';
import { listDirectory } from '../storage/listing.ts';
import { placeOf } from '../storage/paths.ts';

const defaultLimit = 1000;
const mostJobs = 1024;

/** Job states that each value of `state` selects. */
const states: ReadonlyMap<string, readonly ('running' | 'done')[]> = new Map([
  ['running', ['running']],
  ['live', ['running']],
  ['queued', []],
  ['done', ['done']],
]);

function refuse(message: string): ApiError {
  return new ApiError(400, 'InvalidParameter', message);
}

/**
 * Lists the jobs of the account, by id, as entries of their directories; a job whose directory was deleted is missing. Without `state` and
 * `name` this is an ordinary directory listing with all its parameters.
 */
export const listJobs: Handler<typeof storage.listJobs> = async ({ state, name, ...wishes }, call) => {
  const { limit = defaultLimit, marker } = wishes;
  const { db } = call.store;
  if (!Number.isInteger(limit) || limit < 1 || limit > mostJobs)
    throw refuse(`limit is ${limit}: it must be a whole number from 1 to ${mostJobs}`);
  const wanted = state === undefined ? undefined : states.get(state);
  if (state !== undefined && wanted === undefined) throw refuse(`state is "${state}": it must be running, live, queued or done`);
  if (state === undefined && name === undefined) return listDirectory({ ...wishes, path: 'jobs' }, call);
  let query = db
    .selectFrom('entries')
    .leftJoin('jobs', 'jobs.id', 'entries.name')
    .where('entries.parent', '=', placeOf(call.account.login, 'jobs').path);
  if (wanted) query = wanted.length === 0 ? query.where(sql<boolean>`false`) : query.where('jobs.state', 'in', wanted);
  if (name !== undefined) query = query.where('jobs.name', '=', name);
  const { count } = await query.select(({ fn }) => fn.countAll<number>().as('count')).executeTakeFirstOrThrow();
  let page = query.select(['entries.name', 'entries.type', 'entries.mtime']).orderBy('entries.name').limit(limit);
  if (marker !== undefined) page = page.where('entries.name', '>=', marker);
  const rows = await page.execute();
  const records = mapEach(rows, ({ mtime, ...row }): Entry => ({ ...row, mtime: new Date(mtime).toISOString() }));
  return { headers: { 'result-set-size': String(count) }, records };
};
