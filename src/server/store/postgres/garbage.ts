import { sql, type Kysely } from 'kysely';
import type { Schema } from '../schema.ts';
import { listRows, listValues } from '../list-rows.ts';

/**
 * Unreferenced ids of the byte store. They are noted in the transaction that removes the last reference, and removed by the collector when
 * nobody can be reading them any more, on any gateway.
 *
 * A reader that begins after an id was noted, but before that transaction commits, still finds the id in use. The time that counts is
 * therefore not when the id was noted, but when the note was seen: by then it was committed, and later readers find no reference.
 */

/** Maximum number of notes per statement, which must not time out. */
const batchSize = 10_000;

/** Marks all committed notes as seen. */
export async function seeGarbage(db: Kysely<Schema>): Promise<void> {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      update garbage set seen = clock_timestamp()
      where bytes in (select bytes from garbage where seen is null limit ${batchSize}) and seen is null`.execute(db);
    if (numAffectedRows < batchSize) return;
  }
}

/** A time of the database before which no activity in progress on a live gateway began; as text and in milliseconds. */
export interface Horizon {
  readonly text: string;
  readonly milliseconds: number;
}

/**
 * Removes the rows of expired leases, after the writes in progress of their gateways; these can then neither write nor renew their leases.
 * Then finds the start of the oldest activity on the other gateways.
 */
export async function findHorizon(db: Kysely<Schema>): Promise<Horizon> {
  await sql`delete from gateways where until <= clock_timestamp()`.execute(db);
  const { rows } = await sql<Horizon>`
    select cast(oldest as text) as text, extract(epoch from oldest) * 1000 as milliseconds
    from (select coalesce(min(oldest), clock_timestamp()) as oldest from gateways) as known`.execute(db);
  const [horizon] = rows;
  if (horizon === undefined) throw new Error('the database returns no row');
  return horizon;
}

/**
 * Milliseconds for which unreferenced contents are kept: the longest time that a live gateway reports, so that no collector shortens the
 * window within which the backups of another can be restored. While no gateway runs, it is that of the last ones. Also the time of the
 * database, milliseconds since 1970.
 */
export async function findKeep(db: Kysely<Schema>): Promise<{ keep: number; now: number }> {
  const { rows } = await sql<{ keep: number | null; now: number }>`
    update contents_folder set keep = coalesce((select max(keep) from gateways where until > clock_timestamp()), keep)
    returning keep, extract(epoch from clock_timestamp()) * 1000 as now`.execute(db);
  const [found] = rows;
  if (found === undefined) throw new Error('the database returns no row');
  return { keep: found.keep ?? 0, now: found.now };
}

/** A note, with the time when it was seen. */
export interface Note {
  readonly bytes: string;
  readonly seen: string;
}

/** Lists notes of contents that nobody can be reading, with ids after `after`. @param keep milliseconds for which they are kept anyway */
export async function listGarbage(
  db: Kysely<Schema>,
  { text }: Horizon,
  { keep, after, most }: { keep: number; after: string; most: number },
): Promise<readonly Note[]> {
  const { rows } = await sql<Note>`
    select bytes, cast(seen as text) as seen from garbage
    where seen < cast(${text} as timestamptz) and noted <= clock_timestamp() - cast(${keep} as double precision) * interval '1 millisecond'
    and bytes > ${after} order by bytes limit ${most}`.execute(db);
  return rows;
}

/** Deletes notes unless they have been made again. */
export async function forgetGarbage(db: Kysely<Schema>, notes: readonly Note[]): Promise<void> {
  const pairs = notes.map(({ bytes, seen }) => [bytes, seen]);
  await sql`
    delete from garbage using ${listRows(db, pairs)}
    where bytes = value ->> 0 and seen = cast(value ->> 1 as timestamptz)`.execute(db);
}

/** Which of these ids are noted. */
export async function findNoted(db: Kysely<Schema>, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ bytes: string }>`
    select bytes from garbage where bytes in (select value from ${listValues(db, JSON.stringify(ids))})`.execute(db);
  return new Set(rows.map(({ bytes }) => bytes));
}

/** The number of notes and the age of the oldest in milliseconds; null if there are none. */
export async function measureGarbage(db: Kysely<Schema>): Promise<{ count: number; age: number | null }> {
  const { rows } = await sql<{ count: number; age: number | null }>`
    select count(*) as count, extract(epoch from clock_timestamp() - min(noted)) * 1000 as age from garbage`.execute(db);
  return rows[0] ?? { count: 0, age: null };
}
