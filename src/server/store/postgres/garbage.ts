import { sql, type Kysely } from 'kysely';
import type { Schema } from '../schema.ts';
import { listRows, listValues } from '../list-rows.ts';

/**
 * Ids of the byte store that nothing refers to any more. They are noted in the transaction that takes the last reference away, and removed
 * by the collector when nobody can read them any more, on whichever gateway.
 *
 * Whoever begins to read after an id was noted, and before that was committed, still finds it in use. So the time that counts is not that
 * of the note but one when the note was seen: by then it was committed, and who begins later finds no reference.
 */

/** Notes in one statement, which must end in time however many there are. */
const batchSize = 10_000;

/** Says of all notes that were committed that they were. */
export async function seeGarbage(db: Kysely<Schema>): Promise<void> {
  for (;;) {
    const { numAffectedRows = 0n } = await sql`
      update garbage set seen = clock_timestamp()
      where bytes in (select bytes from garbage where seen is null limit ${batchSize}) and seen is null`.execute(db);
    if (numAffectedRows < batchSize) return;
  }
}

/** A time of the database before which nothing began that still runs on a gateway that is alive, as its text; and of the same as milliseconds. */
export interface Horizon {
  readonly text: string;
  readonly milliseconds: number;
}

/**
 * Removes the rows of leases that ended, after the writes under way of their gateways, which can neither write nor renew them any more;
 * then finds the start of what runs longest on the others.
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

/** A note, with the time when it was seen. */
export interface Note {
  readonly bytes: string;
  readonly seen: string;
}

/** Notes that nobody can be reading about, behind an id. @param keep milliseconds for which they are kept all the same */
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

/** Forgets notes, unless they were made again since. */
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

/** How many notes there are, and the age of the oldest of them, milliseconds; null without any. */
export async function measureGarbage(db: Kysely<Schema>): Promise<{ count: number; age: number | null }> {
  const { rows } = await sql<{ count: number; age: number | null }>`
    select count(*) as count, extract(epoch from clock_timestamp() - min(noted)) * 1000 as age from garbage`.execute(db);
  return rows[0] ?? { count: 0, age: null };
}
