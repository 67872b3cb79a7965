import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { ApiError, LocalError } from '../../../src/base/errors.ts';
import { streamOf } from '../../../src/api/message.ts';
import { createThrottle, silent, type Engine } from '../../../src/transfer/engine.ts';
import { hashingHere } from '../../../src/transfer/hashing.ts';
import { changeMetadata } from '../../../src/transfer/tree/metadata.ts';
import { sendInParts } from '../../../src/transfer/upload/multipart.ts';
import { createUpload } from '../../../src/transfer/upload/parts.ts';
import { uploadObject } from '../../../src/transfer/upload/upload.ts';

const mebibyte = 1024 * 1024;
const target = { account: 'demo', path: 'stor/x' };
const refused = new ApiError(403, 'AuthorizationFailed', 'not allowed');
const partsDirectory = '/demo/uploads/0/00000000-0000-4000-8000-000000000000';

function createEngine(storage: object, signal?: AbortSignal): Engine {
  return {
    storage,
    service: '',
    parallel: 1,
    streams: 1,
    partSize: 5 * mebibyte,
    monitor: silent,
    memory: { read: () => undefined, write: () => undefined, remove: () => undefined },
    throttle: undefined,
    hashing: hashingHere,
    processes: { own: 1, isAlive: () => false },
    retries: 0,
    signal,
  } as unknown as Engine;
}

test('parts of two versions of a source are not committed', async () => {
  const calls: string[] = [];
  const storage = {
    createMultipartUpload: async () => ({ partsDirectory }),
    uploadPart: async ({ body }: { body: AsyncIterable<Uint8Array> }) => {
      for await (const _ of body);
      return { etag: 'e' };
    },
    abortMultipartUpload: async () => void calls.push('abort'),
    commitMultipartUpload: async () => void calls.push('commit'),
  };
  const ticket = { expect: () => undefined, move: () => undefined, keep: () => undefined, end: () => undefined };
  const source = {
    label: 'x',
    resumable: { file: 'x', size: 10, version: ['1'] },
    read: (start: number, end: number) => streamOf(Buffer.alloc(end - start)),
    assertUnchanged: () => {
      throw new LocalError('x was changed');
    },
  };
  await expect(sendInParts(createEngine(storage), source, target, { headers: {} }, ticket)).rejects.toThrow('x was changed');
  expect(calls).toEqual(['abort']);
});

test('a stream lets go of its source when its upload cannot be created', async () => {
  let isClosed = false;
  async function* open(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(mebibyte);
    } finally {
      isClosed = true;
    }
  }
  const storage = {
    answer: async () => Promise.reject(new ApiError(404, 'ResourceNotFound', 'nothing')),
    createMultipartUpload: async () => Promise.reject(refused),
  };
  const source = { kind: 'stream', label: 'stdin', open } as const;
  const stored = uploadObject(createEngine(storage), source, target, { headers: {}, hasParent: true });
  await expect(stored).rejects.toThrow('not allowed');
  expect(isClosed).toBe(true);
});

test.each([
  ['created', async () => ({ partsDirectory })],
  ['refused', async () => Promise.reject(refused)],
])('an upload that was %s leaves no listener at the signal of the command', async (_, createMultipartUpload) => {
  const { signal } = new AbortController();
  await createUpload({ storage: { createMultipartUpload } as unknown as Engine['storage'], signal }, target, { headers: {} }).catch(
    () => undefined,
  );
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('role tags that the service refuses are refused once, however often a change is attempted again', async () => {
  let count = 0;
  const storage = {
    answer: async () => ({ headers: { etag: 'e' } }),
    putMetadata: async () => {
      count += 1;
      throw new ApiError(409, 'InvalidRoleTag', 'there is no such role');
    },
  };
  const change = changeMetadata(
    storage as unknown as Engine['storage'],
    target,
    () => ({ headers: {}, roleTag: 'x' }),
    AbortSignal.timeout(60_000),
  );
  await expect(change).rejects.toThrow('there is no such role');
  expect(count).toBe(1);
});

test('waiting for the rate limit ends when it is interrupted', async () => {
  const interruption = new AbortController();
  const throttle = createThrottle(1, () => 0, interruption.signal);
  const waiting = throttle(3600);
  interruption.abort();
  await expect(waiting).rejects.toThrow('interrupted');
});
