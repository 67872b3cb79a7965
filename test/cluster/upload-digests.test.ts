import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestReply } from '../support/service.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { chooseTestS3 } from '../support/byte-stores.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createTestService, joinServices, type Send, type TestService } from '../support/service.ts';

/** Two processes that get the parts of an upload in turns: no part is read twice for the MD5 of the whole. */

const partSize = 5 * 1024 ** 2;
let dir: string;
let database: Awaited<ReturnType<typeof createDatabase>>;
let first: TestService;
let second: Store;
let sends: readonly [Send, Send];
/** Contents that were read, of both. */
const reads: string[] = [];

function watch(store: Store): Store {
  const { read } = store.bytes;
  store.bytes.read = (id, start, end) => {
    reads.push(id);
    return read(id, start, end);
  };
  return store;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-digests-'));
  database = await createDatabase();
  const open = (): Promise<Store> => openClusterStore({ database: database.url, bytes: chooseTestS3(dir) ?? dir });
  first = await createTestService({ open: async () => watch(await open()) });
  second = watch(await open());
  sends = [first.storage, joinServices(second, first.key).storage];
});
afterAll(async () => {
  await second.close();
  await first.close();
  await database.drop();
  await rm(dir, { recursive: true, force: true });
});

const md5Of = (content: Uint8Array): string => createHash('md5').update(content).digest('base64');

async function create(target: string, headers: Record<string, string> = {}): Promise<{ id: string; partsDirectory: string }> {
  const { status, json, text } = await sends[0]('POST', '/demo/uploads', { json: { objectPath: target, headers } });
  expect(status, text).toBe(201);
  return json as { id: string; partsDirectory: string };
}

async function put(send: Send, directory: string, number: number, body: Uint8Array): Promise<string> {
  const { status, headers, text } = await send('PUT', `${directory}/${number}`, {
    body,
    headers: { 'content-length': String(body.length) },
  });
  expect(status, text).toBe(204);
  return headers['etag'] ?? '';
}

/** How many parts the digest of an upload is of. */
async function partsOf(id: string): Promise<number> {
  const row = await second.db.selectFrom('upload_digests').select('parts').where('upload', '=', id).executeTakeFirst();
  return row?.parts ?? 0;
}

const commit = (send: Send, directory: string, parts: readonly string[]): Promise<TestReply> =>
  send('POST', `${directory}/commit`, { json: { parts } });

test('parts and commit in turns: each part is read once, and the row goes with the upload', async () => {
  const parts = [...Array.from({ length: 4 }, () => randomBytes(partSize)), randomBytes(1000)];
  const whole = Buffer.concat(parts);
  const { id, partsDirectory } = await create('/demo/stor/turns', { 'content-md5': md5Of(whole) });
  reads.length = 0;
  const etags: string[] = [];
  for (const [index, part] of parts.entries()) {
    etags.push(await put(sends[index % 2 === 0 ? 0 : 1], partsDirectory, index, part));
    await expect.poll(() => partsOf(id)).toBe(index + 1);
  }
  const committed = await commit(sends[1], partsDirectory, etags);
  expect([committed.status, committed.headers['computed-md5']]).toEqual([201, md5Of(whole)]);
  expect(reads).toHaveLength(parts.length);
  await expect.poll(() => partsOf(id)).toBe(0);
  const again = await commit(sends[0], partsDirectory, etags);
  expect([again.status, again.headers['etag']]).toEqual([201, committed.headers['etag']]);
  const got = await sends[0]('GET', '/demo/stor/turns');
  expect(whole.equals(got.bytes)).toBe(true);
});

test('a part that is replaced at the other side, and parts that come in another order', async () => {
  const parts = [randomBytes(partSize), randomBytes(partSize), randomBytes(10)];
  const { id, partsDirectory } = await create('/demo/stor/replaced');
  const [a, b] = sends;
  const last = await put(a, partsDirectory, 2, parts[2] ?? Buffer.alloc(0));
  await put(b, partsDirectory, 0, randomBytes(partSize));
  await expect.poll(() => partsOf(id)).toBe(1);
  const middle = await put(a, partsDirectory, 1, parts[1] ?? Buffer.alloc(0));
  await expect.poll(() => partsOf(id)).toBe(3);
  const begin = await put(b, partsDirectory, 0, parts[0] ?? Buffer.alloc(0));
  const { status, headers } = await commit(a, partsDirectory, [begin, middle, last]);
  expect([status, headers['computed-md5']]).toEqual([201, md5Of(Buffer.concat(parts))]);
});

test('a state that nobody can read is begun anew', async () => {
  const parts = [randomBytes(partSize), randomBytes(7)];
  const { id, partsDirectory } = await create('/demo/stor/unreadable');
  const etags = [await put(sends[0], partsDirectory, 0, parts[0] ?? Buffer.alloc(0))];
  await expect.poll(() => partsOf(id)).toBe(1);
  await second.db
    .updateTable('upload_digests')
    .set({ state: Buffer.from('what another release kept') })
    .where('upload', '=', id)
    .execute();
  etags.push(await put(sends[1], partsDirectory, 1, parts[1] ?? Buffer.alloc(0)));
  const { status, headers } = await commit(sends[1], partsDirectory, etags);
  expect([status, headers['computed-md5']]).toEqual([201, md5Of(Buffer.concat(parts))]);
});
