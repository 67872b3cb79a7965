import { sql } from 'kysely';

/** The time of a PostgreSQL database, milliseconds since the epoch: the clocks of processes differ, and that of the database is one. */
export const databaseTime = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`;
