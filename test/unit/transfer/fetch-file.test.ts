import { expect, test } from 'vitest';
import type { Engine } from '../../../src/transfer/engine.ts';
import { silent } from '../../../src/transfer/engine.ts';
import { fetchFile } from '../../../src/transfer/download/fetch-file.ts';
import { createHashing } from '../../../src/transfer/hashing.ts';

test('an object that cannot be written lets go of its connection, also when none of it was read', async () => {
  const size = 1_000_000;
  let isLeft = false;
  async function* send(): AsyncGenerator<Uint8Array> {
    try {
      yield Buffer.alloc(size / 2);
      yield Buffer.alloc(size / 2);
    } finally {
      isLeft = true;
    }
  }
  const getObject = () => Promise.resolve({ status: 200, headers: { etag: 'e', 'content-length': String(size) }, body: send() });
  const processes = { own: 1, isAlive: () => false };
  const engine = { storage: { getObject }, monitor: silent, hashing: createHashing(), processes, retries: 0 } as unknown as Engine;
  await expect(fetchFile(engine, { account: 'demo', path: 'stor/x' }, '/none/x', { size, inTree: true })).rejects.toThrow('ENOENT');
  expect(isLeft).toBe(true);
});
