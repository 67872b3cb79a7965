import { sql, type Kysely } from 'kysely';
import type { Schema } from '../schema.ts';

/** Work that only one process does for some time. Two that do it concurrently do no harm: a duty only avoids repeated work. */
export type Duty = 'collect' | 'sweep' | 'lifetimes';

/** Claims or keeps a duty. @param seconds for which nobody else can claim it @returns true if this holder has it */
export async function takeDuty(db: Kysely<Schema>, name: Duty, holder: string, seconds: number): Promise<boolean> {
  const { rows } = await sql`
    insert into duties (name, holder, until) values (${name}, ${holder}, clock_timestamp() + ${seconds} * interval '1 second')
    on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where duties.until <= clock_timestamp() or duties.holder = excluded.holder
    returning name`.execute(db);
  return rows.length > 0;
}

/** Releases a duty. */
export async function leaveDuty(db: Kysely<Schema>, name: Duty, holder: string): Promise<void> {
  await sql`delete from duties where name = ${name} and holder = ${holder}`.execute(db);
}
