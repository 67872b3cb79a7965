import { expect, test } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import type { StorageClient } from '../../../src/client/client.ts';
import { openRange, type ByteRange } from '../../../src/transfer/download/open-range.ts';

const path = { account: 'demo', path: 'stor/digits' };

/** A service that responds to every range with the same bytes. */
function createStorage(status: number, contentRange?: string): StorageClient {
  const headers = contentRange === undefined ? {} : { 'content-range': contentRange };
  return { getObject: async () => ({ status, headers, body: streamOf(Buffer.from('0123456789')) }) } as unknown as StorageClient;
}

const range = (first: number | undefined, last: number | undefined): ByteRange => ({ first, last });

test.each([
  [range(0, 9), 'bytes 0-9/20'],
  [range(10, 30), 'bytes 10-19/20'],
  [range(10, undefined), 'bytes 10-19/20'],
  [range(undefined, 10), 'bytes 10-19/20'],
  [range(undefined, 30), 'bytes 0-9/10'],
])('%o is answered by %s', async (wanted, contentRange) => {
  expect(Buffer.from(await readAll(await openRange(createStorage(206, contentRange), path, wanted), 100)).toString()).toBe('0123456789');
});

test.each([
  [200, undefined],
  [200, 'bytes 2-5/10'],
  [206, undefined],
  [206, 'bytes 0-9/10'],
  [206, 'bytes 2-4/10'],
])('other bytes than the range are an error: status %d, %s', async (status, contentRange) => {
  await expect(openRange(createStorage(status, contentRange), path, range(2, 5))).rejects.toMatchObject({ code: 'NoRanges' });
});
