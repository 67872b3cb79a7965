import { existsSync, readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import { countRemoved } from '../../src/server/cluster-collector.ts';
import type { Unfinished } from '../../src/server/store/bytes.ts';
import { keepCollecting } from '../../src/server/keep-collecting.ts';
import { catchUp } from '../support/cluster-database.ts';
import { createTestGateways, type TestGateway, type TestGateways } from '../support/cluster-gateways.ts';

/** What becomes of contents that nothing refers to any more, while several gateways read and write. */

let gateways: TestGateways;
let first: TestGateway;
let second: TestGateway;
beforeAll(async () => {
  gateways = await createTestGateways();
  [first, second] = [await gateways.add(), await gateways.add()];
});
afterAll(() => gateways.close());
beforeEach(async () => {
  await settle();
});

/** Collects until nothing is left that can go. */
async function settle(): Promise<void> {
  await gateways.collect();
  await gateways.renewAll();
  await gateways.collect();
}

/** Something that one part of a test waits for and another gives. */
function createSignal(): { readonly given: Promise<void>; give(): void } {
  let give = (): void => undefined;
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

const fileOf = (id: string): string => join(gateways.dir, 'bytes', id.slice(0, 2), id);
const large = Buffer.alloc(100_000, 'large');
let names = 0;

/** A new object. @returns its path and the id of its content */
async function put({ storage }: TestGateway, body = large): Promise<{ path: string; content: string }> {
  names += 1;
  const path = `/demo/stor/object${names}`;
  const { status } = await storage('PUT', path, { body });
  const { content } = await gateways.service.store.db
    .selectFrom('entries')
    .select('content')
    .where('name', '=', `object${names}`)
    .executeTakeFirstOrThrow();
  expect(status).toBe(204);
  return { path, content: content ?? '' };
}

/** An object of two parts. */
async function putParts({ storage }: TestGateway): Promise<{ path: string; bytes: Buffer }> {
  names += 1;
  const path = `/demo/stor/parts${names}`;
  const { json } = await storage('POST', '/demo/uploads', { json: { objectPath: path } });
  const { id, partsDirectory } = json as { id: string; partsDirectory: string };
  const parts = [Buffer.alloc(5 * 1024 * 1024, 'a'), Buffer.alloc(1_000_000, 'b')];
  const etags: unknown[] = [];
  for (const [index, body] of parts.entries()) etags.push((await storage('PUT', `${partsDirectory}/${index}`, { body })).headers['etag']);
  const { status } = await storage('POST', `/demo/uploads/${id.slice(0, 3)}/${id}/commit`, { json: { parts: etags } });
  expect(status).toBe(201);
  return { path, bytes: Buffer.concat(parts) };
}

test('what is overwritten or deleted goes when all that could read it is over, and not before', async () => {
  const [replaced, deleted] = [await put(first), await put(second)];
  const before = countRemoved().unused;
  expect((await second.storage('PUT', replaced.path, { body: Buffer.from('new'.repeat(5000)) })).status).toBe(204);
  expect((await first.storage('DELETE', deleted.path)).status).toBe(204);
  // Who began before may have looked it up before.
  expect(await gateways.collect()).toMatchObject({ removed: 0, waiting: 2 });
  expect([existsSync(fileOf(replaced.content)), existsSync(fileOf(deleted.content))]).toEqual([true, true]);
  await first.lease.renew();
  expect(await gateways.collect()).toMatchObject({ removed: 0, waiting: 2 });
  await gateways.renewAll();
  expect(await gateways.collect()).toMatchObject({ removed: 2, waiting: 0 });
  expect(countRemoved().unused).toBe(before + 2);
  expect([existsSync(fileOf(replaced.content)), existsSync(fileOf(deleted.content))]).toEqual([false, false]);
  expect((await first.storage('GET', replaced.path)).text).toBe('new'.repeat(5000));
});

test('a reader gets all bytes of an object of several parts that another gateway deletes and the collector removes', async () => {
  const { path, bytes } = await putParts(first);
  const { body } = await second.read(path);
  const reader = body[Symbol.asyncIterator]();
  const begun = await reader.next();
  expect((await first.storage('DELETE', path)).status).toBe(204);
  await settle();
  await settle();
  const rest = await readAll({ [Symbol.asyncIterator]: () => reader });
  expect(Buffer.concat([begun.value as Uint8Array, rest]).equals(bytes)).toBe(true);
  await gateways.renewAll();
  expect(await gateways.collect()).toMatchObject({ removed: 2, waiting: 0 });
});

test('a reader who finds an object between the note and its commit keeps the content', async () => {
  const { path, content } = await put(first);
  const [held, noted] = [createSignal(), createSignal()];
  // The transaction of a DELETE that is slow to commit.
  const deleting = first.store.write(async (transaction) => {
    await transaction.deleteFrom('entries').where('content', '=', content).execute();
    await sql`insert into garbage (bytes, noted) values (${content}, clock_timestamp())`.execute(transaction);
    noted.give();
    await held.given;
  });
  await noted.given;
  // All that ran before is over: the note is older than anything that runs.
  await gateways.renewAll();
  const { body } = await second.read(path);
  const reader = body[Symbol.asyncIterator]();
  held.give();
  await deleting;
  await settle();
  expect(existsSync(fileOf(content))).toBe(true);
  expect(Buffer.from(await readAll({ [Symbol.asyncIterator]: () => reader })).equals(large)).toBe(true);
  await settle();
  expect(existsSync(fileOf(content))).toBe(false);
});

test('bytes of a request that has run for hours stay until their row is there; those that a crash left go', async () => {
  // The clock of the gateway is three hours ahead when the request has been running for so long.
  let now = 0;
  const slow = await gateways.add(() => now);
  const running = slow.lease.begin();
  const [{ id: mine }, { id: lost }] = [await slow.store.bytes.write(large), await first.store.bytes.write(large)];
  const long = new Date(Date.now() - 2 * 3_600_000);
  for (const id of [mine, lost]) utimesSync(fileOf(id), long, long);
  now += 3 * 3_600_000;
  await gateways.renewAll();
  await gateways.renewAll();
  expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: 0 });
  expect(existsSync(fileOf(mine))).toBe(true);
  running.end();
  await slow.end();
  expect(await gateways.collect({ sweep: true, dryRun: true })).toMatchObject({ orphans: 2 });
  expect(existsSync(fileOf(lost))).toBe(true);
  expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: 2 });
  expect([existsSync(fileOf(mine)), existsSync(fileOf(lost))]).toEqual([false, false]);
});

test('contents that were begun in parts before all that runs, and never finished, are given up by a sweep', async () => {
  let now = 0;
  const slow = await gateways.add(() => now);
  const running = slow.lease.begin();
  now += 3 * 3_600_000;
  await gateways.renewAll();
  await gateways.renewAll();
  const hour = 3_600_000;
  // Those of requests that run, and older ones.
  const begun = new Map([
    ['running', Date.now() - 2 * hour],
    ['lost', Date.now() - 5 * hour],
  ]);
  const { bytes, db } = gateways.service.store;
  const listUnfinished = async function* (before: number): AsyncGenerator<Unfinished> {
    for (const [id, time] of begun) if (time < before) yield { id, abort: async () => void begun.delete(id) };
  };
  const store = { db, bytes: { ...bytes, listUnfinished } };
  const gone: string[] = [];
  const onGone = (id: string, why: string): void => void gone.push(`${id} ${why}`);
  await gateways.collect({ store });
  await gateways.collect({ store, sweep: true, dryRun: true, onGone });
  expect([gone, [...begun.keys()]]).toEqual([['lost unfinished'], ['running', 'lost']]);
  expect(await gateways.collect({ store, sweep: true })).toMatchObject({ orphans: 1 });
  expect([...begun.keys()]).toEqual(['running']);
  running.end();
  await gateways.renewAll();
  expect(await gateways.collect({ store, sweep: true })).toMatchObject({ orphans: 1 });
  expect(begun.size).toBe(0);
  await slow.end();
});

test('what is kept for a time stays for so long, and a sweep does not take it for lost', async () => {
  const long = new Date(Date.now() - 2 * 3_600_000);
  const kept = await put(first);
  await first.storage('DELETE', kept.path);
  utimesSync(fileOf(kept.content), long, long);
  for (let round = 0; round < 2; round += 1) {
    await gateways.renewAll();
    expect(await gateways.collect({ sweep: true, keep: 3_600_000 })).toMatchObject({ removed: 0, orphans: 0, waiting: 1 });
  }
  expect(existsSync(fileOf(kept.content))).toBe(true);
  await gateways.collect();
  expect(existsSync(fileOf(kept.content))).toBe(false);
});

test('all contents are looked through once in hours, also where the same gateway collects again and again', async () => {
  const lose = async (): Promise<string> => {
    const { id } = await first.store.bytes.write(large);
    utimesSync(fileOf(id), new Date(0), new Date(0));
    return id;
  };
  const lost = await lose();
  await sql`delete from duties`.execute(first.store.db);
  const options = { store: first.store, settings: {}, keeping: { isSteady: () => true }, log: () => undefined };
  const collecting = keepCollecting({ ...options, holder: first.lease.id, pause: 10 });
  try {
    await expect.poll(() => existsSync(fileOf(lost))).toBe(false);
    const later = await lose();
    // When the second one is gone, the round that removed the first one is over.
    for (let round = 0; round < 2; round += 1) {
      const { path, content } = await put(first);
      await first.storage('DELETE', path);
      const isGone = async (): Promise<boolean> => {
        await gateways.renewAll();
        return !existsSync(fileOf(content));
      };
      await expect.poll(isGone).toBe(true);
    }
    expect(existsSync(fileOf(later))).toBe(true);
  } finally {
    await collecting.stop();
  }
  expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: 1 });
});

test('two links that are deleted at the same time leave nothing behind', async () => {
  for (const body of [large, Buffer.from('small')]) {
    const { path, content } = await put(first, body);
    await second.storage('PUT', `${path}-link`, { headers: { 'content-type': 'application/json; type=link', location: path } });
    // As two transactions that do not see each other leave it.
    await gateways.service.store.db.deleteFrom('entries').where('content', '=', content).execute();
    if (body === large) utimesSync(fileOf(content), new Date(0), new Date(0));
    await gateways.renewAll();
    expect(await gateways.collect({ sweep: true })).toMatchObject({ orphans: content.startsWith('inline/') ? 0 : 1 });
  }
});

test('more notes than one statement can take are all seen, and go', async () => {
  await sql`
    insert into garbage (bytes, noted) select 'ff' || number, clock_timestamp() from generate_series(1, 10500) as number`.execute(
    gateways.service.store.db,
  );
  expect(await gateways.collect({ dryRun: true })).toMatchObject({ removed: 0, waiting: 10_500 });
  await gateways.renewAll();
  expect(await gateways.collect()).toMatchObject({ removed: 10_500, waiting: 0 });
});

describe('a gateway that is lost', () => {
  test('holds nothing up, and its readers get an error where bytes are gone, never others', async () => {
    const lost = await gateways.add();
    const { path, bytes } = await putParts(first);
    const { body } = await lost.read(path);
    const reader = body[Symbol.asyncIterator]();
    const begun = await reader.next();
    expect((await first.storage('DELETE', path)).status).toBe(204);
    await sql`update gateways set until = clock_timestamp() where id = ${lost.lease.id}`.execute(gateways.service.store.db);
    await gateways.collect();
    for (const { lease } of [first, second]) await catchUp(gateways.service.store.db, lease);
    expect(await gateways.collect()).toMatchObject({ removed: 2, waiting: 0 });
    expect(await lost.lease.renew()).toBe(false);
    const read = [begun.value as Uint8Array];
    const readRest = async (): Promise<void> => {
      for (;;) {
        const { value, done } = await reader.next();
        if (done === true) return;
        read.push(value);
      }
    };
    await expect(readRest()).rejects.toThrow('the lease was lost');
    expect(
      bytes
        .subarray(
          0,
          read.reduce((sum, { length }) => sum + length, 0),
        )
        .equals(Buffer.concat(read)),
    ).toBe(true);
    expect((await lost.storage('PUT', path, { body: large })).status).toBe(204);
    await lost.end();
  });
});

test('collectors beside each other and beside writers and readers remove nothing that is in use', async () => {
  const collecting = { isOver: false };
  const collectAll = async (): Promise<void> => {
    while (!collecting.isOver) {
      await gateways.collect({ sweep: true });
      await gateways.renewAll();
    }
  };
  const work = async (gateway: TestGateway, other: TestGateway, name: string): Promise<void> => {
    for (let round = 0; round < 15; round += 1) {
      const body = Buffer.alloc(70_000 + round, `${name}${round}`);
      const path = `/demo/stor/${name}${round % 3}`;
      expect((await gateway.storage('PUT', path, { body })).status).toBe(204);
      const response = await other.storage('GET', path);
      expect([response.status, Buffer.from(response.bytes).equals(body)]).toEqual([200, true]);
      if (round % 3 === 2) expect((await other.storage('DELETE', path)).status).toBe(204);
    }
  };
  const collectors = [collectAll(), collectAll()];
  await Promise.all([work(first, second, 'x'), work(second, first, 'y'), work(first, first, 'z')]).finally(() => {
    collecting.isOver = true;
  });
  await Promise.all(collectors);
  await settle();
  const { db } = gateways.service.store;
  const rows = await db.selectFrom('entries').select('content').where('content', 'is not', null).execute();
  const files = rows.map(({ content }) => content ?? '').filter((content) => !content.includes('/'));
  for (const content of files) expect(existsSync(fileOf(content)), content).toBe(true);
  const stored = readdirSync(join(gateways.dir, 'bytes'), { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('/'));
  expect(stored).toHaveLength(new Set(files).size);
});
