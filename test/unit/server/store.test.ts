import { spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import { LocalError } from '../../../src/base/errors.ts';
import { assertSpace } from '../../../src/server/storage/space.ts';
import { collectUnreferenced } from '../../../src/server/store/collect.ts';
import { openStore, type FileStore } from '../../../src/server/store/open.ts';
import { readPages } from '../../../src/server/store/read-pages.ts';
import { openNewStore } from '../../support/new-store.ts';

let dir = '';
let store: FileStore;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-store-'));
  store = await openNewStore(dir);
});

afterEach(async () => {
  await store.close();
  await rm(dir, { recursive: true, force: true });
});

function writeNetwork(id: string, fails = false): Promise<string> {
  return store.write(async (transaction) => {
    await transaction.insertInto('networks').values({ id, name: 'n' }).execute();
    if (fails) throw new Error(`no ${id}`);
    return id;
  });
}

async function readIds(): Promise<string[]> {
  const rows = await store.db.selectFrom('networks').select('id').execute();
  return rows.map((row) => row.id);
}

async function listBytes(): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of store.bytes.list()) ids.push(id);
  return ids;
}

async function readBytes(id: string, start: number, end: number): Promise<Buffer> {
  return Buffer.from(await readAll(await store.bytes.read(id, start, end)));
}

describe('writing', () => {
  test('1,000 writes that arrive together share a few commits', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `id${index}`);
    await expect(Promise.all(ids.map((id) => writeNetwork(id)))).resolves.toEqual(ids);
    expect(await readIds()).toHaveLength(1000);
    expect(store.commits()).toBeLessThan(10);
  });

  test('a write that throws is undone alone', async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, index) => writeNetwork(`id${index}`, index === 4)));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(
      [4].reduce((all, at) => all.with(at, 'rejected'), Array(10).fill('fulfilled')),
    );
    expect((await readIds()).sort()).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9].map((index) => `id${index}`));
  });

  test('a statement that fails is undone alone and its error is the caller’s', async () => {
    const [first, second, third] = await Promise.allSettled([writeNetwork('same'), writeNetwork('same'), writeNetwork('other')]);
    expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  test('a read never sees a write that is not committed', async () => {
    const writing = writeNetwork('late', true).catch(() => 'undone');
    const seen = await Promise.all(Array.from({ length: 20 }, readIds));
    await writing;
    expect(seen.flat()).toEqual([]);
  });

  test('what was written is there after closing and opening', async () => {
    await writeNetwork('kept');
    await store.close();
    store = await openStore(dir);
    expect(await readIds()).toEqual(['kept']);
  });
});

describe('the data directory', () => {
  test('a second opener is told who holds it', async () => {
    const error = await openStore(dir).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LocalError);
    expect((error as LocalError).message).toBe(`data directory ${dir} is in use by another cloud local (pid ${process.pid})`);
    expect((error as LocalError).exitCode).toBe(1);
  });

  test('a second opener waits for the id of a holder that has only just opened it', async () => {
    for (const earlier of ['', '99999999\n']) {
      await writeFile(join(dir, 'cloud.pid'), earlier);
      const opened = openStore(dir).catch((thrown: unknown) => thrown);
      await sleep(50);
      await writeFile(join(dir, 'cloud.pid'), `${process.pid}\n`);
      expect(String(await opened)).toContain(`is in use by another cloud local (pid ${process.pid})`);
    }
  });

  test('data of a newer release is refused', async () => {
    const { sql } = await import('kysely');
    await sql`insert into steps values (99, 0)`.execute(store.db);
    await store.close();
    await expect(openStore(dir)).rejects.toThrow(/written by a newer release \(version 99, this one knows \d+\)/u);
    await rm(dir, { recursive: true });
    store = await openNewStore(dir);
  });

  test('a file that is no database is refused in one line', async () => {
    await store.close();
    await rm(join(dir, 'cloud.db'));
    await writeFile(join(dir, 'cloud.db'), randomBytes(8192));
    await expect(openStore(dir)).rejects.toThrow(/is damaged: file is not a database/u);
    await rm(dir, { recursive: true });
    store = await openNewStore(dir);
  });

  test('only its owner can read it', async () => {
    await store.close();
    await rm(dir, { recursive: true });
    store = await openStore(dir);
    const { id } = await store.bytes.write(streamOf(Buffer.from('x')));
    const modes = await Promise.all([dir, join(dir, 'bytes'), join(dir, 'cloud.db')].map(async (path) => (await stat(path)).mode & 0o777));
    expect(modes).toEqual([0o700, 0o700, 0o600]);
    expect((await stat(join(dir, 'bytes', id.slice(0, 2), id))).mode & 0o777).toBe(0o600);
  });
});

describe('bytes', () => {
  test('come back whole, by range, with their MD5', async () => {
    const content = randomBytes(700_000);
    const stored = await store.bytes.write(streamOf(content.subarray(0, 300_000), content.subarray(300_000)));
    expect(stored).toEqual({ id: stored.id, size: 700_000, md5: createHash('md5').update(content).digest('base64') });
    expect(content.equals(await readBytes(stored.id, 0, 700_000))).toBe(true);
    expect(content.subarray(5, 400_001).equals(await readBytes(stored.id, 5, 400_001))).toBe(true);
    expect(await readBytes(stored.id, 7, 7)).toHaveLength(0);
  });

  test('an empty body is stored too', async () => {
    const stored = await store.bytes.write(streamOf());
    expect(stored).toMatchObject({ size: 0, md5: '1B2M2Y8AsgTpgAmY7PhCfg==' });
    expect(await readBytes(stored.id, 0, 0)).toHaveLength(0);
  });

  test.each([1, 512, 513])('%i bytes at hand are kept like others, and need a file when they are many', async (size) => {
    const bytes = randomBytes(size);
    const { id, md5 } = await store.bytes.keep(bytes);
    expect([md5, await listBytes()]).toEqual([createHash('md5').update(bytes).digest('base64'), size > 512 ? [id] : []]);
    expect(await readBytes(id, 0, size)).toEqual(bytes);
    expect(await readBytes(id, size - 1, size)).toEqual(bytes.subarray(-1));
    expect(await store.bytes.place(id, join(dir, 'linked'))).toBe(true);
    expect(await readFile(join(dir, 'linked'))).toEqual(bytes);
    await store.bytes.remove(id);
    expect(await listBytes()).toEqual([]);
  });

  test('nothing is kept of a body that fails', async () => {
    async function* fail(): AsyncGenerator<Uint8Array> {
      yield randomBytes(1000);
      throw new Error('cut');
    }
    await expect(store.bytes.write(fail())).rejects.toThrow('cut');
    expect(await readdir(join(dir, 'tmp'))).toEqual([]);
    expect(await listBytes()).toEqual([]);
  });

  test('removing does not disturb a reader that was opened before', async () => {
    const content = randomBytes(2_000_000);
    const { id } = await store.bytes.write(streamOf(content));
    const body = await store.bytes.read(id, 0, content.length);
    await store.bytes.remove(id);
    await store.bytes.remove(id);
    expect(content.equals(await readAll(body))).toBe(true);
    await expect(store.bytes.read(id, 0, 1)).rejects.toThrow(/ENOENT/u);
  });

  test('200 at once', async () => {
    const stored = await Promise.all(Array.from({ length: 200 }, (_, index) => store.bytes.write(streamOf(Buffer.from(`${index}`)))));
    const texts = await Promise.all(stored.map(async ({ id, size }) => (await readBytes(id, 0, size)).toString()));
    expect(texts).toEqual(Array.from({ length: 200 }, (_, index) => `${index}`));
    const listed = await listBytes();
    expect(listed.sort()).toEqual(stored.map(({ id }) => id).sort());
  });

  test('leftovers of a crash are gone after opening', async () => {
    await store.close();
    await writeFile(join(dir, 'tmp', randomUUID()), 'half');
    store = await openStore(dir);
    expect(await readdir(join(dir, 'tmp'))).toEqual([]);
  });

  test('contents without a row are collected, new ones and referenced ones are not', async () => {
    const [kept, lost] = await Promise.all([store.bytes.write(streamOf(Buffer.from('a'))), store.bytes.write(streamOf(Buffer.from('b')))]);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const before = Date.now();
    await new Promise((resolve) => setTimeout(resolve, 20));
    const young = await store.bytes.write(streamOf(Buffer.from('c')));
    const removed = await collectUnreferenced(store, before, async (_, ids) => new Set(ids.filter((id) => id === kept.id)));
    expect(removed).toBe(1);
    const left = await listBytes();
    expect(left.sort()).toEqual([kept.id, young.id].sort());
    expect(left).not.toContain(lost.id);
  });
});

/** Bundles the writer, because Node.js 20 runs no TypeScript, and runs it until it has acknowledged some writes. */
async function runAndKill(data: string): Promise<string[]> {
  const { build } = await import('rolldown');
  const file = join(data, 'writer.cjs');
  await build({
    input: join(import.meta.dirname, 'writer.ts'),
    platform: 'node',
    external: ['libsql'],
    logLevel: 'silent',
    output: { file, format: 'cjs', codeSplitting: false, dynamicImportInCjs: false },
  });
  const modules = join(import.meta.dirname, '../../../node_modules');
  const child = spawn(process.execPath, [file, join(data, 'store')], {
    env: { ...process.env, NODE_PATH: modules },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const acknowledged: string[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => {
    acknowledged.push(line);
    if (acknowledged.length === 400) child.kill('SIGKILL');
  });
  const closed = once(lines, 'close');
  await exited;
  await closed;
  return acknowledged;
}

test('kill -9 in the middle of writing keeps every acknowledged write, whole', async () => {
  const acknowledged = await runAndKill(dir);
  expect(acknowledged.length).toBeGreaterThanOrEqual(400);
  const survivor = await openStore(join(dir, 'store'));
  try {
    const rows = await survivor.db.selectFrom('entries').select(['name', 'content', 'size', 'md5']).execute();
    const names = new Set(rows.map((row) => row.name));
    expect(acknowledged.filter((line) => !names.has(line))).toEqual([]);
    for (const row of rows) {
      const content = await readAll(await survivor.bytes.read(row.content ?? '', 0, row.size ?? 0));
      expect(createHash('md5').update(content).digest('base64')).toBe(row.md5);
    }
  } finally {
    await survivor.close();
  }
});

test('reading very many rows one after the other leaves turns to others', async () => {
  await sql`
    insert into networks (id, name) select value, 'n' from (
      with recursive numbers(value) as (select 1 union all select value + 1 from numbers where value < 50000) select value from numbers)`.execute(
    store.db,
  );
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  let count = 0;
  for await (const rows of readPages<{ id: string }>(store.db, 'networks', { key: ['id'], where: sql`true`, size: 1000 }))
    count += rows.length;
  clearInterval(others);
  expect(count).toBe(50_000);
  expect(turns).toBeGreaterThan(0);
});

test('bodies that arrive together measure the free space once, and again after a failure', async () => {
  const measured = vi.spyOn(store.bytes, 'measureFree').mockRejectedValueOnce(new Error('EIO'));
  const assertAll = (): Promise<unknown> => Promise.all(Array.from({ length: 32 }, () => assertSpace(store, 1000)));
  await expect(assertAll()).rejects.toThrow('EIO');
  expect(measured).toHaveBeenCalledTimes(1);
  await assertAll();
  expect(measured).toHaveBeenCalledTimes(2);
  await expect(assertSpace(store, 2 ** 60)).rejects.toThrow('the disk of the service has');
});

test('bodies that arrive together are accepted only as far as all of them fit', async () => {
  const mebibyte = 1024 * 1024;
  // Of it, 8 MiB are needed to delete objects.
  vi.spyOn(store.bytes, 'measureFree').mockResolvedValue(11.5 * mebibyte);
  const outcomes = await Promise.allSettled(Array.from({ length: 32 }, () => assertSpace(store, mebibyte)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
});

test('a write for which the disk is too full fails alone, not those of its group', async () => {
  const { rows } = await sql<{ pages: number }>`select page_count as pages from pragma_page_count`.execute(store.db);
  await sql`pragma max_page_count = ${sql.lit((rows[0]?.pages ?? 0) + 20)}`.execute(store.db);
  const outcomes = await Promise.allSettled([
    writeNetwork('before'),
    writeNetwork('x'.repeat(1024 * 1024)),
    writeNetwork('refused', true),
    writeNetwork('after'),
  ]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason)))).toEqual([
    'before',
    expect.stringContaining('full'),
    'Error: no refused',
    'after',
  ]);
  expect(await readIds()).toEqual(['after', 'before']);
});
