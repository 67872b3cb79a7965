import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { runStatement } from '../support/postgres.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { createTestService, type TestService } from '../support/service.ts';

/** A folder of contents is told from one that is not: the mount point of a file system that is away, or that of another cluster. */

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

const open = (): Promise<Store> => openClusterStore({ database: url, bytes: dir });
const useOnce = async (): Promise<void> => (await open()).close();

/** Stores an object whose content is a file. */
async function putLarge(): Promise<void> {
  const service: TestService = await createTestService({ open });
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
