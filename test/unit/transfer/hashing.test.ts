import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
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
  for (const piece of [16_384, 100_003, 7 * mebibyte]) {
    const digests = await Promise.all(contents.map((content) => hashInPieces(content, undefined, piece)));
    expect(digests).toEqual(contents.map(md5));
    expect(await hashInPieces(contents[1] ?? randomBytes(1), 1, piece)).toBe(md5(contents[1] ?? randomBytes(1)));
  }
});

test('a piece larger than all memory of the thread, and a hasher that is dropped', async () => {
  const content = randomBytes(40 * mebibyte);
  const hasher = hashing.start(content.length);
  await hasher.update(content);
  expect(await hasher.digest()).toBe(md5(content));
  const dropped = hashing.start(undefined);
  await dropped.update(content.subarray(0, 3 * mebibyte));
  dropped.drop();
  expect(await hashInPieces(content, content.length, 65_536)).toBe(md5(content));
});
