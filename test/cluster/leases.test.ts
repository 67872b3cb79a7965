import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import { countRequests } from '../../src/server/running-requests.ts';
import { createLoadGuard } from '../../src/server/shed-load.ts';
import type { Schema } from '../../src/server/store/schema.ts';
import { findHorizon } from '../../src/server/store/postgres/garbage.ts';
import { openPostgres } from '../../src/server/store/postgres/open.ts';
import { StoreUnavailable } from '../../src/server/store/unavailable.ts';
import { catchUp, createDatabase, openLeased, type LeasedStore } from '../support/cluster-database.ts';

/** The leave to write that each gateway has, how it is lost, and what others know of the work of a gateway. */

let dir = '';
let url = '';
let db: Kysely<Schema>;
/** Run after a test, the last one first. */
const ends: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-lease-'));
  const { url: made, drop } = await createDatabase();
  url = made;
  ends.push(drop);
  db = await openPostgres(url);
  ends.push(() => db.destroy());
});
afterEach(async () => {
  while (ends.length > 0) await ends.pop()?.();
  await rm(dir, { recursive: true, force: true });
});

async function open(clock?: () => number): Promise<LeasedStore> {
  const opened = await openLeased(url, dir, clock);
  ends.push(() => opened.store.close());
  return opened;
}

const write = ({ store }: LeasedStore, name: string): Promise<unknown> =>
  store.write((transaction) => transaction.insertInto('networks').values({ id: name, name }).execute());

/** As after a freeze that lasted longer than the lease. */
async function expire({ lease }: LeasedStore): Promise<void> {
  await sql`update gateways set until = clock_timestamp() - interval '1 second' where id = ${lease.id}`.execute(db);
}

async function listNetworks(): Promise<string[]> {
  const rows = await db.selectFrom('networks').select('id').orderBy('id').execute();
  return rows.map(({ id }) => id);
}

describe('the lease', () => {
  test('any number of gateways write, and those that ended are no longer among them', async () => {
    const [first, second] = [await open(), await open()];
    await Promise.all([write(first, 'a'), write(second, 'b')]);
    expect(await listNetworks()).toEqual(['a', 'b']);
    const ids = async (): Promise<unknown[]> => (await sql<{ id: string }>`select id from gateways`.execute(db)).rows;
    expect(await ids()).toHaveLength(2);
    await first.lease.release();
    expect(await ids()).toEqual([{ id: second.lease.id }]);
    await expect(write(first, 'c')).rejects.toBeInstanceOf(StoreUnavailable);
  });

  test('a gateway that wakes after its lease commits nothing of what it began before, whether that was noticed or not', async () => {
    for (const isNoticed of [false, true]) {
      const frozen = await open();
      const running = frozen.lease.begin();
      const goOn = (name: string): Promise<unknown> => frozen.lease.within(running, () => write(frozen, `${name} ${isNoticed}`));
      await goOn('before');
      await expire(frozen);
      await expect(goOn('expired')).rejects.toBeInstanceOf(StoreUnavailable);
      if (isNoticed) await findHorizon(db);
      expect(await frozen.lease.renew()).toBe(false);
      await expect(goOn('late')).rejects.toBeInstanceOf(StoreUnavailable);
      // What nobody has noticed can go on reading: nothing was removed meanwhile.
      expect(running.term.isLost).toBe(isNoticed);
      await write(frozen, `after ${isNoticed}`);
      expect(await frozen.lease.renew()).toBe(true);
    }
    expect(await listNetworks()).toEqual(['after false', 'after true', 'before false', 'before true']);
  });

  test('whoever finds that a lease has ended waits for the writes under way', async () => {
    const slow = await open();
    let isFound = false;
    let go = (): void => undefined;
    const waiting = new Promise<void>((resolve) => {
      go = resolve;
    });
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const writing = slow.store.write(async (transaction) => {
      await transaction.insertInto('networks').values({ id: 'x', name: 'x' }).execute();
      begun();
      await waiting;
    });
    await running;
    await expire(slow);
    const finding = findHorizon(db).then(() => {
      isFound = true;
    });
    // It waits for a lock in the database, where one can see it.
    const isWaiting = async (): Promise<boolean> => {
      const { rows } = await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
        db,
      );
      return rows.length > 0;
    };
    await expect.poll(isWaiting).toBe(true);
    expect(isFound).toBe(false);
    go();
    await finding;
    // Which of both answers comes first is left to the machine; what was written is there when the lease is gone.
    expect(await listNetworks()).toEqual(['x']);
    await writing;
  });
});

test('a response that is cut off because the lease was lost leaves what it reads', async () => {
  const gateway = await open();
  const held: string[] = [];
  const service = countRequests(
    async () => {
      // As a content that is opened after the lease was taken again.
      await expire(gateway);
      await findHorizon(db);
      await gateway.lease.renew();
      const { end } = gateway.lease.begin();
      held.push('content');
      const read = async function* (): AsyncGenerator<Uint8Array> {
        try {
          yield new Uint8Array();
          yield Buffer.from('bytes');
        } finally {
          end();
          held.pop();
        }
      };
      const body = read();
      await body.next();
      return { status: 200, headers: {}, body };
    },
    gateway.lease,
    createLoadGuard({}),
  );
  const request = { method: 'GET', target: '/', headers: {} };
  const { body } = await service(request, { remoteAddress: '127.0.0.1', secure: true });
  await expect(readAll(body)).rejects.toThrow('the lease was lost');
  expect(held).toEqual([]);
});

describe('the start of the oldest work that runs', () => {
  /** Milliseconds of a gateway's process. */
  let now = 0;
  const clock = (): number => now;
  const horizon = async (): Promise<number> => (await findHorizon(db)).milliseconds;
  const databaseTime = async (): Promise<number> => {
    const { rows } = await sql<{ now: number }>`select extract(epoch from clock_timestamp()) * 1000 as now`.execute(db);
    return rows[0]?.now ?? 0;
  };

  test('is never later than the truth, whatever ended before it, and moves on when it is over', async () => {
    now = 1000;
    const gateway = await open(clock);
    const early = gateway.lease.begin();
    const begun = await databaseTime();
    await gateway.lease.renew();
    const later = gateway.lease.begin();
    await gateway.lease.renew();
    expect(await horizon()).toBeLessThanOrEqual(begun);
    later.end();
    later.end();
    await gateway.lease.renew();
    expect(await horizon()).toBeLessThanOrEqual(begun);
    early.end();
    now += 60_000;
    await gateway.lease.renew();
    expect(await horizon()).toBeGreaterThan(begun);
  });

  test('is that of the slowest gateway; what was lost does not count', async () => {
    const [busy, idle] = [await open(), await open()];
    const begun = await databaseTime();
    busy.lease.begin();
    await busy.lease.renew();
    const after = await databaseTime();
    await idle.lease.renew();
    expect(await horizon()).toBeLessThan(after);
    await expire(busy);
    await catchUp(db, idle.lease);
    expect(await horizon()).toBeGreaterThan(begun);
    // Its row is gone.
    expect(await busy.lease.renew()).toBe(false);
  });

  test('a clock of the database that goes back, as on a server that takes its place, moves it back too', async () => {
    now = 5_000_000;
    const gateway = await open(clock);
    const begun = await databaseTime();
    gateway.lease.begin();
    // The same as a database that is three hours behind.
    now += 3 * 3_600_000;
    await gateway.lease.renew();
    await gateway.lease.renew();
    expect(await horizon()).toBeLessThan(begun - 2 * 3_600_000);
  });
});
