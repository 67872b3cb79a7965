import { randomBytes } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { StoreUnavailable } from '../../src/server/store/unavailable.ts';
import { createSharedPlace, type SharedPlace } from '../support/cluster-database.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** The folder of contents is away, as a file system of others can be: what needs it is refused for a while, and nothing else. */

let service: TestService;
let place: SharedPlace;

beforeAll(async () => {
  place = await createSharedPlace();
  service = await createTestService({ open: place.open });
});
afterAll(async () => {
  await service.close();
  await place.remove();
});

async function readFirst({ bytes }: Store): Promise<string | undefined> {
  for await (const id of bytes.list()) return id;
  return undefined;
}

/** Does something while the folder is away. */
async function whileAway<T>(work: () => Promise<T>): Promise<T> {
  const folder = place.dir;
  await rename(folder, `${folder}.away`);
  try {
    return await work();
  } finally {
    await rename(`${folder}.away`, folder);
  }
}

test('a commit of an upload is refused with 503, and done when the folder is back', async () => {
  const { json } = await service.storage('POST', '/demo/uploads', { json: { objectPath: '/demo/stor/whole' } });
  const { partsDirectory } = json as { partsDirectory: string };
  const parts = [randomBytes(5 * 1024 ** 2), randomBytes(100_000)];
  const etags: unknown[] = [];
  const [first = new Uint8Array(), last = new Uint8Array()] = parts;
  // The second part comes first, so that nothing of the MD5 is known before the commit.
  etags[1] = (await service.storage('PUT', `${partsDirectory}/1`, { body: last })).headers['etag'];
  etags[0] = (await service.storage('PUT', `${partsDirectory}/0`, { body: first })).headers['etag'];
  const commit = () => service.storage('POST', `${partsDirectory}/commit`, { json: { parts: etags } });
  const refused = await whileAway(commit);
  expect([refused.status, refused.code, Number(refused.headers['retry-after'])]).toEqual([503, 'ServiceUnavailable', expect.any(Number)]);
  expect((await commit()).status).toBe(201);
  expect(Buffer.concat(parts).equals((await service.storage('GET', '/demo/stor/whole')).bytes)).toBe(true);
});

test('what needs no content goes on; the rest is refused with 503, and is there again afterwards', async () => {
  const body = randomBytes(200_000);
  for (const name of ['large', 'middle']) expect((await service.storage('PUT', `/demo/stor/${name}`, { body })).status).toBe(204);
  expect((await service.storage('PUT', '/demo/stor/middle', { body: body.subarray(0, 40_000) })).status).toBe(204);
  const found = await whileAway(async () => {
    const ask = async (method: string, name: string, sent = {}): Promise<number> =>
      (await service.storage(method, `/demo/stor${name}`, sent)).status;
    return {
      list: await ask('GET', ''),
      head: await ask('HEAD', '/large'),
      small: [await ask('PUT', '/small', { body: 'small', headers: { 'content-length': '5' } }), await ask('GET', '/small')],
      large: [await ask('GET', '/large'), await ask('GET', '/middle'), await ask('PUT', '/other', { body })],
    };
  });
  expect(found).toEqual({ list: 200, head: 200, small: [204, 200], large: [503, 503, 503] });
  await whileAway(async () => {
    // Neither removed nor forgotten, nor is nothing there.
    await expect(service.store.bytes.remove('aa-not-there')).rejects.toThrow(StoreUnavailable);
    await expect(readFirst(service.store)).rejects.toThrow(StoreUnavailable);
  });
  await service.store.bytes.remove('aa-not-there');
  expect((await service.storage('GET', '/demo/stor/other')).status).toBe(404);
  expect(body.equals((await service.storage('GET', '/demo/stor/large')).bytes)).toBe(true);
});
