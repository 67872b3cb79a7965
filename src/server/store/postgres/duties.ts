import { sql, type Kysely } from 'kysely';
import type { Schema } from '../schema.ts';

/** Work that one process at a time does, for a while. Two that do it at once harm nothing: it saves that everybody does the same. */
export type Duty = 'collect' | 'sweep' | 'lifetimes';

/** Takes a duty, or keeps it. @param seconds for which it is nobody else's @returns whether it is this holder's */
export async function takeDuty(db: Kysely<Schema>, name: Duty, holder: string, seconds: number): Promise<boolean> {
  const { rows } = await sql`
    insert into duties (name, holder, until) values (${name}, ${holder}, clock_timestamp() + ${seconds} * interval '1 second')
    on conflict (name) do update set holder = excluded.holder, until = excluded.until
    where duties.until <= clock_timestamp() or duties.holder = excluded.holder
    returning name`.execute(db);
  return rows.length > 0;
}

/** Gives a duty back. */
export async function leaveDuty(db: Kysely<Schema>, name: Duty, holder: string): Promise<void> {
  await sql`delete from duties where name = ${name} and holder = ${holder}`.execute(db);
}
