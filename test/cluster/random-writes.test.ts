import { EventEmitter, once } from 'node:events';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findEntry, removeEntry } from '../../src/server/storage/entries.ts';
import { releaseContents } from '../../src/server/storage/garbage.ts';
import { placeOf } from '../../src/server/storage/paths.ts';
import { foldCounts } from '../../src/server/store/counts.ts';
import type { Store } from '../../src/server/store/store.ts';
import { countWrites } from '../../src/server/store/postgres/write.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { CrowdedTree } from '../support/crowded-tree.ts';
import { findDamage } from '../support/find-damage.ts';
import { HistoryDriver, type SendToStorage } from '../support/history-driver.ts';
import { judgeHistory } from '../support/linearizability.ts';
import { createRandom } from '../support/random.ts';
import { scale, seed } from '../support/scale.ts';
import { createTestService, joinServices, type Send, type TestReply, type TestService } from '../support/service.ts';

/**
 * Clients of two gateways over one database do everything at once that writes entries; afterwards everything that was acknowledged is
 * there, nothing dangles, every directory counts its entries, and what was answered has an order. `CLOUD_SEED` repeats the choices.
 */

let first: TestService;
let second: Pick<TestService, 'compute' | 'storage'>;
let store: Store;
let place: SharedPlace;

beforeAll(async () => {
  place = await createSharedPlace();
  first = await createTestService({ open: place.open });
  store = await place.open();
  second = joinServices(store, first.key);
});
afterAll(async () => {
  await store.close();
  await first.close();
  await place.remove();
});

const rounds = scale(2, 40);
const clients = 12;
const steps = 30;
const random = createRandom(seed);

/** Requests by one of the gateways. */
function sendBy(storage: Send): SendToStorage {
  return async (method, path, sent) => {
    const { status, headers, bytes } = await storage(method, path, sent);
    return { status, headers, bytes: Buffer.from(bytes) };
  };
}

const gateways = (): readonly SendToStorage[] => [sendBy(first.storage), sendBy(second.storage)];

/** Lets clients of both gateways do their steps at once, while counts are folded by both. */
async function crowd(step: (client: number, send: SendToStorage) => Promise<void>): Promise<void> {
  const end = new AbortController();
  const fold = async ({ db }: Store): Promise<void> => {
    while (!end.signal.aborted) await foldCounts(db);
  };
  const folding = Promise.all([fold(store), fold(first.store)]);
  const work = async (client: number): Promise<void> => {
    const send = gateways()[client % 2] ?? sendBy(first.storage);
    for (let done = 0; done < steps; done += 1) await step(client, send);
  };
  try {
    await Promise.all(Array.from({ length: clients }, (_, client) => work(client)));
  } finally {
    end.abort();
    await folding;
  }
}

const directory = { headers: { 'content-type': 'application/json; type=directory' } };

test('histories of objects that clients of two gateways write can be put in order', { timeout: 60_000 + rounds * 30_000 }, async () => {
  for (let round = 1; round <= rounds; round += 1) {
    const path = `/demo/stor/history${round}`;
    await first.storage('PUT', path, directory);
    const driver = new HistoryDriver(path, ['a', 'b', 'c', 'd', 'e'], random);
    const errors: string[] = [];
    await crowd((client, send) => {
      const tell: SendToStorage = async (method, path, sent) => {
        const answered = await send(method, path, sent);
        // On a busy machine a write may wait for others for longer than a gateway tries again.
        if (answered.status >= 500 && answered.status !== 503) errors.push(`${method} ${path}: ${answered.status}`);
        return answered;
      };
      return driver.step(client, tell);
    });
    await driver.look(gateways()[1] ?? sendBy(first.storage));
    const { history, wrong } = driver.finish();
    expect([seed, round, errors, wrong]).toEqual([seed, round, [], []]);
    expect([seed, round, judgeHistory(history).violation]).toEqual([seed, round, undefined]);
    expect(history.length).toBeGreaterThan(clients * steps);
    expect(await findDamage(store)).toEqual([]);
  }
});

test('directories, links and uploads of many clients: what was acknowledged is there', { timeout: 60_000 + rounds * 30_000 }, async () => {
  const met = new Set<string>();
  for (let round = 1; round <= rounds; round += 1) {
    const tree = new CrowdedTree(`/demo/stor/tree${round}`, random);
    await tree.begin(sendBy(first.storage));
    await crowd((client, send) => tree.step(send, gateways()[(client + 1) % 2] ?? send));
    expect([seed, round, await tree.finish(sendBy(second.storage))]).toEqual([seed, round, []]);
    for (const kind of tree.counts.keys()) met.add(kind);
    expect([seed, round, await findDamage(store)]).toEqual([seed, round, []]);
  }
  // All that can meet has met.
  const all = ['mkdir 204', 'rmdir 204', 'rmdir 400', 'put 204', 'link 204', 'mark 204', 'delete 204', 'part 204', 'commit 201'];
  expect([seed, all.filter((kind) => !met.has(kind))]).toEqual([seed, []]);
});

test('uploads that many clients of two gateways begin at once do not stand in each other’s way', async () => {
  const begin = async (_: unknown, number: number): Promise<number> =>
    (await gateways()[number % 2]?.('POST', '/demo/uploads', { json: { objectPath: `/demo/stor/begun${number}` } }))?.status ?? 0;
  const before = countWrites().retries;
  const begun = await Promise.all(Array.from({ length: 60 }, begin));
  expect(new Set(begun)).toEqual(new Set([201]));
  // Those whose ids begin with the same letters make the same directory: hardly two of them.
  expect(countWrites().retries - before).toBeLessThan(10);
  expect(await findDamage(store)).toEqual([]);
});

describe('an upload that gets a part while it ends', () => {
  /** A gateway whose next write waits, with all its locks, before it commits. */
  const beginSlowWrite = (): { storage: Send; reached: Promise<unknown>; goOn: () => void } => {
    const [reached, released] = [new EventEmitter(), new EventEmitter()];
    const [isReached, isReleased] = [once(reached, 'event'), once(released, 'event')];
    const slow: Store = {
      ...store,
      writeEntry: (work) =>
        store.writeEntry(async (transaction) => {
          const value = await work(transaction);
          reached.emit('event');
          await isReleased;
          return value;
        }),
    };
    return { storage: joinServices(slow, first.key).storage, reached: isReached, goOn: () => void released.emit('event') };
  };
  /** How many connections wait for a lock of another one. */
  const countWaiting = async (): Promise<number> => {
    const { rows } = await sql<{ waiting: number }>`
      select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(store.db);
    return rows[0]?.waiting ?? 0;
  };

  test.each(['commit', 'abort'])('%s takes it along, as it sees what was committed while it waited', async (verb) => {
    const { json } = await first.storage('POST', '/demo/uploads', { json: { objectPath: `/demo/stor/late-${verb}` } });
    const { partsDirectory } = json as { partsDirectory: string };
    const { headers } = await first.storage('PUT', `${partsDirectory}/0`, { body: Buffer.from('first') });
    const slow = beginSlowWrite();
    const putting = slow.storage('PUT', `${partsDirectory}/1`, { body: Buffer.from('late') });
    await slow.reached;
    const ending = first.storage('POST', `${partsDirectory}/${verb}`, { json: { parts: [headers['etag']] } });
    // Under its lock nobody else of this database waits.
    await expect.poll(countWaiting, { timeout: 20_000, interval: 20 }).toBeGreaterThan(0);
    slow.goOn();
    expect([(await putting).status, (await ending).status]).toEqual([204, verb === 'commit' ? 201 : 204]);
    expect(await findDamage(store)).toEqual([]);
  });
});

describe('one content of several names', () => {
  const link = (source: string) => ({ headers: { 'content-type': 'application/json; type=link', location: source } });
  const remove = (turn: number, path: string): Promise<TestReply> => (turn % 2 === 0 ? first : second).storage('DELETE', path);

  test('is gone when its last names are removed at once', async () => {
    for (let round = 0; round < 15; round += 1) {
      await first.storage('PUT', '/demo/stor/name0', { body: Buffer.alloc(2000, 'x') });
      const names = [1, 2, 3].map((number) => `/demo/stor/name${number}`);
      for (const name of names) expect((await second.storage('PUT', name, link('/demo/stor/name0'))).status).toBe(204);
      const removed = await Promise.all(['/demo/stor/name0', ...names].map((name, turn) => remove(turn, name)));
      expect(removed.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    }
    expect(await findDamage(store)).toEqual([]);
  });

  test('stays under a link that was made after a serializable transaction began that removes it', async () => {
    const body = Buffer.alloc(2000, 'y');
    await first.storage('PUT', '/demo/stor/source', { body });
    const place = placeOf('demo', 'stor/source');
    let runs = 0;
    await store.write(async (transaction) => {
      runs += 1;
      const entry = await findEntry(transaction, place);
      if (runs === 1) expect((await first.storage('PUT', '/demo/stor/linked', link('/demo/stor/source'))).status).toBe(204);
      await removeEntry(transaction, place);
      return releaseContents(transaction, [entry]);
    });
    expect(runs).toBe(2);
    const read = await second.storage('GET', '/demo/stor/linked');
    expect([read.status, read.bytes.length]).toEqual([200, body.length]);
    expect(await findDamage(store)).toEqual([]);
  });
});
