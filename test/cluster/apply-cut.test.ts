import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import { createTestGateways, type TestGateway, type TestGateways } from '../support/cluster-gateways.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';

/** `cloud server apply` when the connection to the store of contents is cut while files are stored. */

let gateways: TestGateways;
let gateway: TestGateway;
let sandbox: Sandbox;
let remove: () => void;
let clusterId: string;
/** Objects of the store, and the requests that it got. */
const objects = new Map<string, Buffer>();
const asked: string[] = [];
/** Number of files that are stored before all connections for further ones are cut. */
let stored = Infinity;
/** Number of connections that are cut; those after them are served. */
let cuts = Infinity;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '', 'http://store');
  const isFile = pathname.includes('/bytes/');
  asked.push(`${request.method} ${isFile ? 'file' : pathname}`);
  if (request.method === 'PUT' && isFile && objects.size >= stored && cuts > 0) {
    cuts -= 1;
    request.once('data', () => request.destroy());
    return;
  }
  const body = Buffer.from(await readAll(request));
  if (request.method === 'PUT') objects.set(pathname, body);
  if (request.method === 'DELETE') objects.delete(pathname);
  if (pathname.endsWith('/.cloud-bytes')) response.end(clusterId);
  else response.end(request.method === 'GET' ? '<ListBucketResult></ListBucketResult>' : '');
}
const store = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));

beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  gateways = await createTestGateways();
  gateway = await gateways.add();
  ({ id: clusterId } = await gateway.store.db.selectFrom('contents_folder').select('id').executeTakeFirstOrThrow());
  await new Promise<void>((resolve) => void store.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  objects.clear();
  asked.length = 0;
});
afterAll(async () => {
  store.close();
  await gateways.close();
  remove();
});

const contents = [Buffer.alloc(300_000, 'first '), Buffer.alloc(400_000, 'second ')];

async function apply(words: readonly string[] = [], { port } = store.address() as AddressInfo): Promise<Outcome> {
  const images = contents.map((bytes, number) => {
    const path = sandbox.write(`file${number}.gz`, bytes);
    const sha1 = createHash('sha1').update(bytes).digest('hex');
    return { name: `cut${number}`, version: '1', os: 'linux', type: 'zvol', file: { compression: 'gzip', sha1, size: bytes.length, path } };
  });
  const document = sandbox.write('cloud.yaml', JSON.stringify({ version: '1', images }));
  const at = ['--database', gateways.url, '--bytes', `s3://cloud?endpoint=http://127.0.0.1:${port}`];
  const env = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'hush' };
  return await sandbox.here(['server', 'apply', document, '--yes', ...at, ...words], { env });
}

const listImages = async (): Promise<string[]> =>
  (await gateway.store.db.selectFrom('images').select('name').where('name', 'like', 'cut%').execute()).map(({ name }) => name);

test('a dry run asks the store once whether it can be used, and says when it cannot', async () => {
  expect((await apply(['--dry-run'])).code).toBe(0);
  expect(asked).toEqual(['GET /cloud', 'GET /cloud/.cloud-bytes']);
  const away = await apply(['--dry-run'], { port: 1 } as AddressInfo);
  expect([away.code, away.stdout, away.stderr]).toEqual([1, '', expect.stringContaining('the store of the contents is away: ')]);
});

test('a connection that is cut for good: nothing is changed, what was stored is removed, and the error says why', async () => {
  [stored, cuts] = [1, Infinity];
  const { code, stdout, stderr } = await apply();
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('the store of the contents is away: ')]);
  expect([await listImages(), objects.size, asked.at(-1)]).toEqual([[], 0, 'DELETE file']);
});

test('a connection that is cut once: the file is sent again', async () => {
  [stored, cuts] = [1, 1];
  expect(await apply()).toMatchObject({ code: 0, stderr: '2 changes done\n' });
  expect(await listImages()).toEqual(['cut0', 'cut1']);
  expect([...objects.values()].map(({ length }) => length)).toEqual(contents.map(({ length }) => length));
});
