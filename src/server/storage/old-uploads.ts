import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Schema } from '../store/schema.ts';

/** Rows removed by one statement, so few that other requests hardly wait: a row has up to 390 KB, the etags of 10,000 parts. */
const batchSize = 100;

/** The uploads that ended before a time, oldest first. The state is a literal because the index has only uploads in this state. */
export function selectFinishedUploads(db: Kysely<Schema>, before: RawBuilder<number>) {
  return db.selectFrom('uploads').select('id').where('state', '=', sql.lit('done')).where('ended', '<', before).orderBy('ended');
}

/**
 * Forgets uploads that were committed or aborted long ago; objects stay. Repeating such a commit or abort gets 404 from then on.
 * @param before uploads that ended earlier are forgotten, milliseconds since the epoch
 * @returns how many; 100 if there may be more
 */
export async function forgetFinishedUploads(db: Kysely<Schema>, before: RawBuilder<number>): Promise<number> {
  const finished = selectFinishedUploads(db, before).limit(batchSize);
  const { numDeletedRows } = await db.deleteFrom('uploads').where('id', 'in', finished).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
