import { createHash } from 'node:crypto';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyImage } from '../../../src/server/store/empty-image.ts';
import { countContents } from '../../support/byte-stores.ts';
import { createTestService, type TestService } from '../../support/service.ts';

/** Imports from a local service that answers wrongly: of another release, damaged, or killed in the middle of a file. */

const id = '6d1a3a4c-0000-4000-8000-0000000000aa';
const origin = '6d1a3a4c-0000-4000-8000-0000000000bb';
const content = Buffer.alloc(300_000, 'image');
const image = {
  ...emptyImage,
  id,
  name: 'made',
  version: '1',
  os: 'linux',
  type: 'zvol',
  owner: id,
  public: 0,
  state: 'active',
  content: 'x',
};
const files = JSON.stringify([{ compression: 'gzip', sha1: '0'.repeat(40), size: content.length }]);

let answer: (path: string, response: ServerResponse) => void;
let server: Server;
let service: TestService;
let dir: string;
beforeAll(async () => {
  server = createServer(({ url = '' }, response) => answer(url.replace('/--peer/images/', ''), response));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  dir = mkdtempSync(join(tmpdir(), 'peer-'));
  const { port } = server.address() as AddressInfo;
  writeFileSync(join(dir, 'run.json'), JSON.stringify({ computeUrl: `http://127.0.0.1:${port}` }));
  writeFileSync(join(dir, 'peer.secret'), 'secret');
  service = await createTestService({ settings: { peers: new Map([['west', dir]]) } });
});
afterAll(async () => {
  server.close();
  await service.close();
  rmSync(dir, { recursive: true });
});

const send = (response: ServerResponse, value: unknown): void => void response.end(JSON.stringify(value));
const cut = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-length': content.length });
  response.write(content.subarray(0, 100_000), () => response.destroy());
};
/** Sends the content again and again until the client leaves. */
const endless = (response: ServerResponse): void => {
  const write = (): void => {
    if (!response.destroyed) response.write(content, () => void setImmediate(write));
  };
  write();
};
const sent =
  (told: unknown) =>
  (path: string, response: ServerResponse): void =>
    path.endsWith('/file') ? void response.end(content) : send(response, told);
const { os: _os, ...lacking } = image;

test.each<[name: string, answer: (path: string, response: ServerResponse) => void, message: string]>([
  ['no JSON', (_, response) => void response.end('<html>'), 'sent no image that this release can read'],
  ['another value', sent(null), 'sent no image that this release can read'],
  [
    'a value of another type',
    sent({ image: { ...image, name: 5, content: null }, login: 'demo' }),
    'sent no image that this release can read',
  ],
  ['an image without a field', sent({ image: lacking, login: 'demo' }), 'sent no image that this release can read'],
  ['another image', sent({ image: { ...image, id: origin }, login: 'demo' }), 'sent no image that this release can read'],
  ['tags that are no JSON', sent({ image: { ...image, tags: '{' }, login: 'demo' }), 'sent no image that this release can read'],
  ['a file without a record', sent({ image: { ...image, files: '[]' }, login: 'demo' }), 'differs from its record'],
  [
    'a file record that is no object',
    sent({ image: { ...image, files: '[null]' }, login: 'demo' }),
    'sent no image that this release can read',
  ],
  [
    'a size that is not a number',
    sent({ image: { ...image, files: '[{"size":"many"}]' }, login: 'demo' }),
    'sent no image that this release can read',
  ],
  [
    'a time that no date has',
    sent({ image: { ...image, content: null, published_at: 9e15 }, login: 'demo' }),
    'sent no image that this release can read',
  ],
  ['another file', sent({ image: { ...image, files }, login: 'demo' }), 'differs from its record'],
  [
    'a file without an end',
    (path, response) => (path.endsWith('/file') ? endless(response) : send(response, { image: { ...image, files }, login: 'demo' })),
    'differs from its record',
  ],
  [
    'half of a file',
    (path, response) => (path.endsWith('/file') ? cut(response) : send(response, { image: { ...image, files }, login: 'demo' })),
    'datacenter west does not answer: ',
  ],
  [
    'origins in a circle',
    (path, response) => send(response, { image: { ...image, id: path, content: null, origin: path === id ? origin : id }, login: 'demo' }),
    'is its own origin',
  ],
])('%s: the datacenter is named, and nothing is kept', async (_, as, message) => {
  answer = as;
  const before = await countContents(service.store.bytes);
  const response = await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=west&id=${id}`);
  expect([response.status, response.text]).toEqual([503, expect.stringContaining(message)]);
  expect(response.text).toContain('west');
  expect(await countContents(service.store.bytes)).toBe(before);
  expect((await service.compute('GET', `/my/images/${id}`)).status).toBe(404);
});

/** Imports the image, and expects nothing to be kept. */
async function refusedImport(): Promise<[status: number, code: string | undefined, text: string]> {
  const before = await countContents(service.store.bytes);
  const { status, code, text } = await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=west&id=${id}`);
  expect(await countContents(service.store.bytes)).toBe(before);
  expect((await service.compute('GET', `/my/images/${id}`)).status).toBe(404);
  return [status, code, text];
}

test('a file that the datacenter does not have is an error that no retry helps', async () => {
  answer = (path, response) => {
    if (path.endsWith('/file')) response.writeHead(404).end('{"code":"ResourceNotFound"}');
    else send(response, { image: { ...image, files }, login: 'demo' });
  };
  const [status, code, text] = await refusedImport();
  expect([status, code, text]).toEqual([501, 'NotAvailable', expect.stringContaining(`the file of image ${id} is missing or damaged in`)]);
});

test('an origin that is deleted while the file is fetched is missed in the transaction', async () => {
  const { db } = service.store;
  await db
    .insertInto('images')
    .values({ ...image, id: origin, content: null })
    .execute();
  const sha1 = createHash('sha1').update(content).digest('hex');
  const record = JSON.stringify([{ compression: 'gzip', sha1, size: content.length }]);
  answer = (path, response) => {
    if (!path.endsWith('/file')) return send(response, { image: { ...image, files: record, origin }, login: 'demo' });
    void db
      .deleteFrom('images')
      .where('id', '=', origin)
      .execute()
      .then(() => response.end(content));
  };
  const [status, code, text] = await refusedImport();
  expect([status, code, text]).toEqual([422, 'OriginIsNotActiveError', expect.stringContaining(`the origin ${origin} is missing`)]);
});

test('a data directory to which others can write is not asked: it could name any address', async () => {
  let asked = 0;
  answer = (_, response) => {
    asked += 1;
    send(response, { image: { ...image, content: null }, login: 'demo' });
  };
  chmodSync(dir, 0o777);
  const response = await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=west&id=${id}`);
  chmodSync(dir, 0o700);
  expect([response.status, response.text, asked]).toEqual([503, expect.stringContaining('is writable by other users'), 0]);
});

test('fields that only a later release knows are left out', async () => {
  answer = sent({ image: { ...image, content: null, lifetime: 5 }, login: 'demo', region: 'north' });
  const response = await service.compute('POST', `/my/images?action=import-from-datacenter&datacenter=west&id=${id}`);
  expect([response.status, response.text]).toEqual([201, expect.stringContaining('"made"')]);
});
