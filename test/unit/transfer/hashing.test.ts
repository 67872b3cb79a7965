import { createHash, randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import { readObject } from '../../../src/transfer/download/download.ts';
import type { Engine } from '../../../src/transfer/engine.ts';
import { createHashing } from '../../../src/transfer/hashing.ts';

const mebibyte = 1024 * 1024;
const hashing = createHashing();

function md5(content: Uint8Array): string {
  return createHash('md5').update(content).digest('base64');
}

async function hashInPieces(content: Uint8Array, size: number | undefined, piece: number): Promise<string> {
  const hasher = hashing.start(size);
  for (let at = 0; at < content.length; at += piece) await hasher.update(content.subarray(at, at + piece));
  return await hasher.digest();
}

test('any content in pieces of any size, here and on the other thread, several at once', async () => {
  const contents = [0, 1, mebibyte - 1, mebibyte, 4 * mebibyte, 9 * mebibyte + 7].map((size) => randomBytes(size));
  const expected = contents.map(md5);
  for (const piece of [16_384, 100_003, 7 * mebibyte]) {
    const digests = await Promise.all(contents.map((content) => hashInPieces(content, undefined, piece)));
    expect(digests).toEqual(expected);
    expect(await hashInPieces(contents[1] ?? randomBytes(1), 1, piece)).toBe(expected[1]);
  }
});

test('a piece larger than all memory of the thread, and a hasher that is dropped', async () => {
  const content = randomBytes(18 * mebibyte);
  const expected = md5(content);
  const hasher = hashing.start(content.length);
  await hasher.update(content);
  expect(await hasher.digest()).toBe(expected);
  const dropped = hashing.start(undefined);
  await dropped.update(content.subarray(0, 3 * mebibyte));
  await dropped.drop();
  expect(await hashInPieces(content, content.length, 65_536)).toBe(expected);
});

describe('bytes that are written too', () => {
  const content = randomBytes(17 * mebibyte);
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cloud-hashing-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('from where that was asked for; those before are only hashed', async () => {
    const file = join(folder, 'whole');
    const before = content.subarray(0, mebibyte + 1);
    writeFileSync(file, before);
    const handle = openSync(file, 'r+');
    const hasher = hashing.start(content.length);
    await hasher.update(before);
    hasher.writeTo?.(handle, before.length);
    for (let at = before.length; at < content.length; at += 100_003) await hasher.update(content.subarray(at, at + 100_003));
    expect(await hasher.digest()).toBe(md5(content));
    closeSync(handle);
    expect(readFileSync(file).equals(content)).toBe(true);
  });

  test('what was taken before it was dropped is in the file', async () => {
    const file = join(folder, 'part');
    const handle = openSync(file, 'w');
    const hasher = hashing.start(content.length);
    hasher.writeTo?.(handle, 0);
    await hasher.update(content.subarray(0, 3 * mebibyte + 5));
    await hasher.drop();
    closeSync(handle);
    expect(readFileSync(file).equals(content.subarray(0, 3 * mebibyte + 5))).toBe(true);
  });

  test('a full disk ends it with the error of the system', async () => {
    const handle = openSync('/dev/full', 'w');
    const hasher = hashing.start(content.length);
    hasher.writeTo?.(handle, 0);
    const write = async (): Promise<string> => {
      await hasher.update(content);
      return await hasher.digest();
    };
    await expect(write()).rejects.toMatchObject({ code: 'ENOSPC', syscall: 'write' });
    await hasher.drop();
    closeSync(handle);
    const next = content.subarray(0, 3 * mebibyte);
    expect(await hashInPieces(next, next.length, 65_536)).toBe(md5(next));
  });

  test('a full disk is told at the very end of an object too that came without an MD5', async () => {
    const handle = openSync('/dev/full', 'w');
    const hasher = hashing.start(undefined);
    hasher.writeTo?.(handle, 0);
    const path = { account: 'demo', path: 'stor/x' };
    const body = streamOf(content.subarray(0, mebibyte));
    const opened = { path, headers: {}, etag: undefined, size: undefined, md5: undefined, body };
    const read = readAll(readObject({ hashing } as Engine, opened, { hasher }));
    await expect(read).rejects.toMatchObject({ code: 'ENOSPC', syscall: 'write' });
    closeSync(handle);
  });
});
