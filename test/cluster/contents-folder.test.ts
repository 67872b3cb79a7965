import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import type { S3Options } from '../../src/server/store/s3/options.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { runStatement } from '../support/postgres.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** A folder or bucket of contents is told from one that is not: a mount point, or that of another cluster. */

/** Objects of a store with the S3 protocol, as far as the check of a bucket needs it. */
const objects = new Map<string, Buffer>();
const s3 = createServer((request, response) => {
  void readAll(request).then((body) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://s3');
    const found = objects.get(pathname);
    if (request.method === 'PUT') objects.set(pathname, Buffer.from(body));
    if (request.method === 'PUT') return response.end();
    if (!searchParams.has('list-type')) return response.writeHead(found === undefined ? 404 : 200).end(found);
    const start = `${pathname}/${searchParams.get('prefix') ?? ''}`;
    const keys = [...objects.keys()].filter((key) => key.startsWith(start)).map((key) => key.slice(pathname.length + 1));
    return response.end(
      keys.map((key) => `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`).join(''),
    );
  });
});
beforeAll(() => new Promise<void>((done) => s3.listen(0, '127.0.0.1', done)));
afterAll(() => new Promise((done) => s3.close(done)));

let sandbox: Sandbox;
let remove: () => void;
const drops: (() => Promise<void>)[] = [];
beforeAll(() => {
  ({ sandbox, remove } = createSandbox());
});
afterAll(async () => {
  for (const drop of drops) await drop();
  remove();
});

let count = 0;
let url = '';
let dir = '';
let marker = '';
beforeEach(async () => {
  count += 1;
  const database = await createDatabase();
  ({ url } = database);
  drops.push(database.drop);
  dir = join(sandbox.home, `contents${count}`);
  marker = join(dir, '.cloud-bytes');
  // Databases of tests are copies of one, and so are their ids.
  await runStatement(url, `update contents_folder set id = 'cluster-${count}'`);
});

const open = (bytes: string | S3Options = dir): Promise<Store> => openClusterStore({ database: url, bytes });
const useOnce = async (bytes?: S3Options): Promise<void> => (await open(bytes)).close();

/** Stores an object whose content is a file or an object of a bucket. */
async function putLarge(bytes?: S3Options): Promise<void> {
  const service: TestService = await createTestService({ open: () => open(bytes) });
  expect((await service.storage('PUT', '/demo/stor/large', { body: randomBytes(40_000) })).status).toBe(204);
  await service.close();
}

/** The folder as it is while what is mounted there is away: its contents are elsewhere. */
function unmount(): void {
  renameSync(dir, `${dir}.away`);
  mkdirSync(dir);
}

function mount(): void {
  rmSync(dir, { recursive: true });
  renameSync(`${dir}.away`, dir);
}

test('the first gateways that start at once mark the folder, and the next ones find it marked', async () => {
  const stores = await Promise.all([open(), open(), open()]);
  expect(readFileSync(marker, 'utf8')).toBe(`cluster-${count}\n`);
  for (const store of stores) await store.close();
  expect(readdirSync(dir).toSorted()).toEqual(['.cloud-bytes', 'bytes', 'tmp']);
  await useOnce();
});

describe('a folder that is not mounted', () => {
  test.each([
    ['gateway', ['--compute-port', '0', '--stor-port', '0', '--http', '--isolation', 'none']],
    ['worker', ['--isolation', 'none']],
  ])('is refused by cloud server %s, which writes nothing there and says what to do', async (noun, words) => {
    await useOnce();
    unmount();
    const start = () => sandbox.here(['server', noun, '--database', url, '--bytes', `file://${dir}`, ...words]);
    const { code, stderr } = await start();
    expect([code, stderr]).toEqual([1, expect.stringMatching(/contents\d+ is not the folder of the contents of this database/u)]);
    expect(stderr).toContain(`is its file system mounted? When it is, and this is the folder: echo cluster-${count} >${marker}`);
    expect(readdirSync(dir)).toEqual([]);
    mount();
    await useOnce();
  });

  test('is refused too where gateways of an earlier release, which marked nothing, have stored there', async () => {
    await putLarge();
    await runStatement(url, 'update contents_folder set marked = false');
    rmSync(marker);
    unmount();
    await expect(useOnce()).rejects.toThrow('is not the folder of the contents of this database');
    expect(readdirSync(dir)).toEqual([]);
    mount();
    await useOnce();
    expect(existsSync(marker)).toBe(true);
  });

  test('is used when the operator says that it is the folder, by the command of the message', async () => {
    await useOnce();
    unmount();
    const { stderr } = await sandbox.here(['server', 'worker', '--database', url, '--bytes', `file://${dir}`, '--isolation', 'none']);
    const { code } = await sandbox.shell(/echo .*$/mu.exec(stderr)?.[0] ?? 'false');
    expect(code).toBe(0);
    await useOnce();
  });
});

test('contents that were brought back without their mark are known by what the database names', async () => {
  await putLarge();
  rmSync(marker);
  await useOnce();
  expect(readFileSync(marker, 'utf8')).toBe(`cluster-${count}\n`);
});

test('the folder of another cluster is refused, whose contents a collector would remove', async () => {
  mkdirSync(join(dir, 'bytes'), { recursive: true });
  writeFileSync(marker, 'cluster-0\n');
  await expect(useOnce()).rejects.toThrow('has the contents of another cluster');
  const found = await sandbox.here(['server', 'collect', '--database', url, '--bytes', `file://${dir}`]);
  expect([found.code, found.stderr]).toEqual([1, expect.stringContaining('has the contents of another cluster')]);
  expect(readdirSync(dir).toSorted()).toEqual(['.cloud-bytes', 'bytes']);
});

describe('a bucket', () => {
  const locate = (bucket: string): S3Options => ({
    endpoint: `http://127.0.0.1:${(s3.address() as AddressInfo).port}`,
    bucket,
    prefix: 'in/',
    region: 'us-east-1',
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  });
  const readKeys = (bucket: string): string[] => [...objects.keys()].filter((key) => key.startsWith(`/${bucket}/`));

  test('is marked at first use, and another one is refused then, in which nothing is written', async () => {
    await putLarge(locate('right'));
    expect(objects.get('/right/in/.cloud-bytes')?.toString()).toBe(`cluster-${count}\n`);
    const missing = 'the bucket wrong/in at http://';
    await expect(useOnce(locate('wrong'))).rejects.toMatchObject({
      message: expect.stringMatching(new RegExp(`^${missing}.* is not the bucket of the contents of this database`, 'u')),
      hint: expect.stringContaining(`store the text cluster-${count} as the object in/.cloud-bytes`),
    });
    expect(readKeys('wrong')).toEqual([]);
    await useOnce(locate('right'));
  });

  test('of an earlier release, and one that the contents were copied to, have no mark and are accepted', async () => {
    await putLarge(locate('old'));
    objects.delete('/old/in/.cloud-bytes');
    await useOnce(locate('old'));
    for (const [key, bytes] of objects) if (key.startsWith('/old/in/bytes/')) objects.set(key.replace('old', 'copy'), bytes);
    await useOnce(locate('copy'));
    expect(objects.get('/copy/in/.cloud-bytes')?.toString()).toBe(`cluster-${count}\n`);
  });

  test('of another cluster is refused', async () => {
    objects.set('/other/in/.cloud-bytes', Buffer.from('cluster-0\n'));
    await expect(useOnce(locate('other'))).rejects.toThrow('has the contents of another cluster');
  });
});
