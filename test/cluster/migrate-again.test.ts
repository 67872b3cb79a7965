import { afterAll, beforeAll, expect, test } from 'vitest';
import { readVersion } from '../../src/server/store/migrations.ts';
import { migratePostgres } from '../../src/server/store/postgres/migrate.ts';
import { openPostgres } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { runStatement } from '../support/postgres.ts';

/** A migration that transactions of gateways are in the way of. */

let database: Awaited<ReturnType<typeof createDatabase>>;

beforeAll(async () => {
  database = await createDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

test('a migration that PostgreSQL ends because of a deadlock is run again', async () => {
  // A sequence goes on where a transaction is undone: only the first time a step is noted it fails as of a deadlock.
  await runStatement(
    database.url,
    `create table steps (number bigint primary key, done bigint not null);
    create sequence noted;
    create function fail_once() returns trigger as $$
      begin
        if nextval('noted') = 1 then raise exception 'deadlock detected' using errcode = '40P01'; end if;
        return new;
      end $$ language plpgsql;
    create trigger fail_once before insert on steps for each row when (new.number > 0) execute function fail_once();`,
  );
  const db = await openPostgres(database.url, 2);
  try {
    const { from, to } = await migratePostgres(db, 1);
    expect(from).toBe(0);
    expect(await readVersion(db as never)).toBe(to);
  } finally {
    await db.destroy();
  }
});
