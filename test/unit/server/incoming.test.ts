import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readAll, type ByteStream } from '../../../src/api/message.ts';
import { readRequest } from '../../../src/server/http/incoming.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
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
  const chunk = Buffer.alloc(60 * 1024);
  for (let round = 0; round < 10; round += 1) {
    await vi.advanceTimersByTimeAsync(44_000);
    incoming.push(chunk);
  }
  Object.assign(incoming, { complete: true }).push(null);
  expect(await all).toHaveLength(10 * chunk.length);
});

test('a body of one byte every 4 seconds is refused after a minute: 408 UploadTimeout', async () => {
  const { incoming, body } = begin();
  const failure = readAll(body).then(
    () => undefined,
    (error: unknown) => error,
  );
  for (let round = 0; round < 16; round += 1) {
    await vi.advanceTimersByTimeAsync(4000);
    incoming.push('x');
  }
  expect(await failure).toMatchObject({ status: 408, code: 'UploadTimeout', message: expect.stringContaining('too slowly') as string });
});

test('the time that the service itself needs for a body does not count', async () => {
  const { incoming, body } = begin();
  const read = async (): Promise<number> => {
    let size = 0;
    for await (const chunk of body) {
      size += chunk.length;
      await new Promise((resolve) => setTimeout(resolve, 40_000));
    }
    return size;
  };
  const reading = read();
  for (let round = 0; round < 5; round += 1) {
    incoming.push('x');
    await vi.advanceTimersByTimeAsync(40_000);
  }
  Object.assign(incoming, { complete: true }).push(null);
  expect(await reading).toBe(5);
});
