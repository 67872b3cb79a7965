import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readStatus } from '../../src/server/cluster/status.ts';
import { findUnready } from '../../src/server/operator/member-metrics.ts';
import { measureSkew } from '../../src/server/store/postgres/clock-skew.ts';
import { keepLease, takeLease } from '../../src/server/store/postgres/lease.ts';
import { openPostgres } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';

/** A gateway whose clock is wrong, through which every signed request fails. */

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Awaited<ReturnType<typeof openPostgres>>;
beforeAll(async () => {
  database = await createDatabase();
  db = await openPostgres(database.url);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

test.each([
  [1000, 900, 1100, 0],
  [1000, 1600, 1700, 600],
  [1000, 300, 400, -600],
])('at %i of the database, between %i and %i of the machine, it is off by %i', (time, begun, ended, skew) => {
  expect(measureSkew(time, begun, ended)).toBe(skew);
});

test('it says so, and is not ready while the clocks of most members are right', async () => {
  let ahead = -600_000;
  const lease = await takeLease(db, { address: 'process 1 of a', now: () => Date.now() + ahead });
  const said: string[] = [];
  const keeping = keepLease(lease, (line) => void said.push(line), { renewal: 20 });
  const wrong = 'the clock of this machine is 600 s behind the clock of the database';
  const readReason = (): string | undefined => findUnready({ phase: 'serving', lease });
  expect(said).toEqual([expect.stringContaining(wrong)]);
  // Alone or with one other, it may be the database whose clock is wrong.
  const others = [await takeLease(db, { address: 'process 2 of b' })];
  await others[0]?.renew();
  await sleep(100);
  expect(readReason()).toBeUndefined();
  others.push(await takeLease(db, { address: 'worker 3 of c', slots: 1 }));
  await others[1]?.renew();
  await expect.poll(readReason).toBe(wrong);
  const rows = await readStatus(database.url);
  expect(rows.filter(({ item }) => item === 'gateway')).toEqual([
    expect.objectContaining({ host: 'a', state: 'clock', detail: expect.stringContaining("clock 600 s behind the database's") }),
    expect.objectContaining({ host: 'b', state: 'ok', skew: expect.closeTo(0, 0) }),
  ]);
  ahead = 0;
  await expect.poll(readReason).toBeUndefined();
  expect(said.at(-1)).toBe('the clock of this machine is right again');
  // A lease that is taken again is named as `status` does.
  await sql`delete from gateways where id = ${lease.id}`.execute(db);
  await expect.poll(() => said.at(-1) === `the lease was lost, and taken again as ${lease.id}`).toBe(true);
  await keeping.stop();
});
