import { sql, type Kysely } from 'kysely';
import type { ObjectPut } from '../object-put.ts';
import { prepareQuery } from '../prepared-query.ts';
import type { Schema } from '../schema.ts';

type Parameters = Readonly<Record<keyof ReturnType<typeof listParameters>, unknown>>;

/** The parameters in the order of the function, after the time. */
function listParameters({ place, above, mostChildren, isBound, seen, most, values, bytes }: ObjectPut, lease: string | null) {
  const { type: _type, role_tags: tags, ...written } = values;
  const finite = (limit: number): number | null => (limit === Infinity ? null : limit);
  return {
    lease,
    login: place.login,
    parent: place.parent,
    name: place.name,
    aboveParent: above.parent,
    aboveName: above.name,
    mostChildren,
    tags,
    isBound,
    seenEtag: seen?.etag ?? null,
    seenMtime: seen?.mtime ?? null,
    mostBytes: finite(most.bytes),
    mostObjects: finite(most.objects),
    etag: written.etag,
    mtime: written.mtime,
    size: written.size,
    md5: written.md5,
    content: written.content,
    copies: written.copies,
    headers: written.headers,
    bytes: bytes ?? null,
  };
}

const callFunction = prepareQuery((db, each: Parameters) =>
  sql<{ noted: number | null }>`select put_object(clock_timestamp(), ${sql.join(Object.values(each))}) as noted`.compile(db),
);

/**
 * Writes an object in one statement, which is a transaction of its own (`store/put-object-function.ts`).
 * @param lease id of the lease that must be in force
 * @returns how many contents were left to the collector; undefined if nothing was written
 */
export async function putObjectAtOnce(db: Kysely<Schema>, put: ObjectPut, lease: string | null): Promise<number | undefined> {
  const [row] = await callFunction(db, listParameters(put, lease));
  return row?.noted ?? undefined;
}
