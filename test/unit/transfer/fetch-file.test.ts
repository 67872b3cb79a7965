import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('what replaces a private file is private while it arrives too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-fetch-'));
  const file = join(folder, 'x');
  writeFileSync(file, 'secret', { mode: 0o600 });
  const modes = new Set<string>();
  async function* send(): AsyncGenerator<Uint8Array> {
    yield Buffer.alloc(500_000);
    for (const name of readdirSync(folder)) modes.add((statSync(join(folder, name)).mode & 0o777).toString(8));
    modes.add(`${readdirSync(folder).length} files`);
    yield Buffer.alloc(500_000);
  }
  const getObject = () => Promise.resolve({ status: 200, headers: { 'content-length': '1000000' }, body: send() });
  const processes = { own: 1, isAlive: () => false };
  const engine = { storage: { getObject }, monitor: silent, hashing: createHashing(), processes, retries: 0 } as unknown as Engine;
  try {
    await fetchFile(engine, { account: 'demo', path: 'stor/x' }, file, { size: 1_000_000 });
    expect([[...modes], statSync(file).size, statSync(file).mode & 0o777]).toEqual([['600', '2 files'], 1_000_000, 0o600]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
