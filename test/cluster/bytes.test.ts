import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll, streamOf } from '../../src/api/message.ts';
import { discardBody } from '../../src/server/http/response.ts';
import type { ByteStore } from '../../src/server/store/bytes.ts';
import { beginContent, openTestBytes } from '../support/byte-stores.ts';

/** What every place of contents does; `CLOUD_TEST_BYTES` says which one these tests run on. */

let dir: string;
let bytes: ByteStore;
let close: () => Promise<void>;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-bytes-'));
  ({ bytes, close } = await openTestBytes(dir));
});
afterAll(async () => {
  await close();
  await rm(dir, { recursive: true, force: true });
});

const md5Of = (content: Uint8Array): string => createHash('md5').update(content).digest('base64');

async function list(before?: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const id of bytes.list(before)) ids.push(id);
  return ids.toSorted();
}

async function read(id: string, start: number, end: number): Promise<Buffer> {
  return Buffer.from(await readAll(await bytes.read(id, start, end)));
}

/** A body in pieces that fit no part. */
async function* inPieces(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size);
}

const mebibyte = 1024 ** 2;
const part = 8 * mebibyte;

describe('a content', () => {
  // Around what is read at once, and around what is sent in several parts.
  test.each([0, 1, 65_536, 65_537, 1_000_003, part - 1, part, part + 1, 2 * part, 20 * mebibyte + 7])(
    'of %i bytes comes back whole and by range, with its MD5',
    async (size) => {
      const content = randomBytes(size);
      const stored = await bytes.write(inPieces(content, 700_001));
      expect(stored).toEqual({ id: stored.id, size, md5: md5Of(content) });
      expect(content.equals(await read(stored.id, 0, size))).toBe(true);
      for (const [start, end] of [
        [0, Math.min(3, size)],
        [Math.floor(size / 3), size],
        [Math.max(0, size - 1), size],
        [Math.min(5, size), Math.max(Math.min(5, size), size - 5)],
      ] as const) {
        expect(content.subarray(start, end).equals(await read(stored.id, start, end)), `${start} to ${end}`).toBe(true);
      }
      expect(await list()).toContain(stored.id);
      await bytes.remove(stored.id);
      expect(await list()).not.toContain(stored.id);
    },
  );

  test.each([1, 512, 513])('of %i bytes at hand is kept like others', async (size) => {
    const content = randomBytes(size);
    const before = await list();
    const { id, md5 } = await bytes.keep(content);
    expect([md5, await list()]).toEqual([md5Of(content), size > 512 ? [...before, id].toSorted() : before]);
    expect(await read(id, 0, size)).toEqual(content);
    expect(await read(id, size - 1, size)).toEqual(content.subarray(-1));
    await bytes.remove(id);
    expect(await list()).toEqual(before);
  });

  test.each([0, 100, 3_000_000])('of %i bytes that is kept compressed is read by the same ranges', async (size) => {
    const content = Buffer.from('the same words '.repeat(size / 15 + 1)).subarray(0, size);
    const stored = await bytes.writeCompressed(inPieces(content, 65_000));
    expect([stored.size, stored.md5]).toEqual([size, md5Of(content)]);
    expect(content.equals(await read(stored.id, 0, size))).toBe(true);
    expect(content.subarray(7, -7).equals(await read(stored.id, 7, Math.max(7, size - 7)))).toBe(true);
    expect(await list()).toContain(stored.id);
    await bytes.remove(stored.id);
  });

  test('that is missing, or shorter than what is asked for, is told before any byte', async () => {
    const { id } = await bytes.write(randomBytes(70_000));
    await expect(bytes.read(id, 0, 70_001).then(readAll)).rejects.toThrow(/ early$|other bytes|has only 70000 of 70001 bytes/u);
    await expect(bytes.read(id, 69_999, 70_001).then(readAll)).rejects.toThrow(/ early$|other bytes|has only 70000 of 70001 bytes/u);
    await bytes.remove(id);
    await expect(bytes.read(id, 0, 70_000)).rejects.toThrow(/ENOENT|404/u);
    await expect(bytes.read(id, 5, 6)).rejects.toThrow(/ENOENT|404/u);
    // Once more than it is there.
    await bytes.remove(id);
  });

  test('is given up in the middle, before its first byte or before anybody looked', async () => {
    const content = randomBytes(12 * mebibyte);
    const { id } = await bytes.write(content);
    for (let round = 0; round < 40; round += 1) {
      discardBody(await bytes.read(id, 0, content.length));
      for await (const piece of await bytes.read(id, 0, content.length)) {
        expect(content.subarray(0, piece.length).equals(piece)).toBe(true);
        break;
      }
    }
    expect(content.equals(await read(id, 0, content.length))).toBe(true);
    await bytes.remove(id);
  });

  test('of which a body fails is not kept', async () => {
    const before = await list();
    for (const size of [1000, part + 1000, 3 * part]) {
      const fail = async function* (): AsyncGenerator<Uint8Array> {
        yield* inPieces(randomBytes(size), 500_000);
        throw new Error('cut');
      };
      await expect(bytes.write(fail())).rejects.toThrow('cut');
      await expect(bytes.writeCompressed(fail())).rejects.toThrow('cut');
    }
    expect(await list()).toEqual(before);
  });
});

describe('place', () => {
  test.each([1, 600, 10 * mebibyte])('%i bytes become a file', async (size) => {
    const content = randomBytes(size);
    const { id } = await bytes.keep(content);
    const file = join(dir, `placed-${size}`);
    expect(await bytes.place(id, file)).toBe(true);
    expect(content.equals(await readFile(file))).toBe(true);
    await bytes.remove(id);
    expect(content.equals(await readFile(file))).toBe(true);
  });

  test('what is not there, or only to be read, leaves no file', async () => {
    const { id } = await bytes.write(randomBytes(2000));
    await bytes.remove(id);
    const compressed = await bytes.writeCompressed(Buffer.from('words'));
    for (const each of [id, compressed.id]) expect(await bytes.place(each, join(dir, 'none'))).toBe(false);
    expect(await readdir(dir)).not.toContain('none');
    await bytes.remove(compressed.id);
  });
});

test('a content that was begun in parts and never ended is given up when it is old; files have no such thing', async () => {
  const id = await beginContent(dir);
  const listUnfinished = async (before: number, abort = false): Promise<string[]> => {
    const ids: string[] = [];
    for await (const unfinished of bytes.listUnfinished?.(before) ?? []) {
      ids.push(unfinished.id);
      if (abort) await unfinished.abort();
    }
    return ids;
  };
  const [past, future] = [Date.now() - 3_600_000, Date.now() + 3_600_000];
  expect(await listUnfinished(past)).toEqual([]);
  expect(await listUnfinished(future, true)).toEqual(id === undefined ? [] : [id]);
  expect(await listUnfinished(future)).toEqual([]);
});

test('100 at once, and the list of those that are older', async () => {
  const before = await list();
  const stored = await Promise.all(Array.from({ length: 100 }, (_, index) => bytes.write(streamOf(Buffer.from(`${index}`)))));
  expect(await Promise.all(stored.map(async ({ id, size }) => (await read(id, 0, size)).toString()))).toEqual(
    Array.from({ length: 100 }, (_, index) => `${index}`),
  );
  const ids = stored.map(({ id }) => id);
  expect(await list()).toEqual([...before, ...ids].toSorted());
  expect((await list(Date.now() - 3_600_000)).filter((id) => ids.includes(id))).toEqual([]);
  expect((await list(Date.now() + 3_600_000)).filter((id) => ids.includes(id))).toEqual(ids.toSorted());
  await Promise.all(ids.map((id) => bytes.remove(id)));
  expect(await list()).toEqual(before);
});
