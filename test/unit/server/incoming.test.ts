import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readAll, type ByteStream } from '../../../src/api/message.ts';
import { readRequest } from '../../../src/server/incoming.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => void vi.useRealTimers());

/** A body of 100 bytes, of which a client sends what is pushed. */
function begin(): { incoming: Readable; body: ByteStream } {
  const incoming = new Readable({ read: () => undefined });
  const fields = { method: 'PUT', url: '/demo/stor/x', headers: { 'content-length': '100' }, complete: false };
  const { request } = readRequest(Object.assign(incoming, fields) as unknown as IncomingMessage, {} as ServerResponse, false);
  return { incoming, body: request.body as ByteStream };
}

test('a body that pauses for 45 seconds is refused: 408 UploadTimeout', async () => {
  const { incoming, body } = begin();
  incoming.push('half');
  const failure = readAll(body).then(
    () => undefined,
    (error: unknown) => error,
  );
  await vi.advanceTimersByTimeAsync(45_000);
  expect(await failure).toMatchObject({ status: 408, code: 'UploadTimeout' });
});

test('one that goes on in time is not, however long it takes in all', async () => {
  const { incoming, body } = begin();
  const all = readAll(body);
  for (let round = 0; round < 10; round += 1) {
    await vi.advanceTimersByTimeAsync(44_000);
    incoming.push('0123456789');
  }
  Object.assign(incoming, { complete: true }).push(null);
  expect(await all).toHaveLength(100);
});
