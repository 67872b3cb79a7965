import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { WholeBody } from '../../../src/api/message.ts';
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

describe('a small object that was requested together with others', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-fetch-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Fetches it where the response to the request with others has this content; how it was requested, and what the monitor was told. */
  async function fetchListed(content: string | undefined, file: string): Promise<string[]> {
    const events: string[] = [];
    const headers = { etag: 'e', 'content-length': '5', 'content-md5': createHash('md5').update('right').digest('base64') };
    const respond = (text: string): object => ({ status: 200, headers, body: new WholeBody(Buffer.from(text)) });
    const storage = {
      askListed: () => {
        events.push('together');
        return content === undefined ? undefined : Promise.resolve(respond(content));
      },
      getObject: () => {
        events.push('alone');
        return Promise.resolve(respond('right'));
      },
    };
    const ticket = {
      ...silent.begin('', 0),
      move: (bytes: number) => events.push(`${bytes}`),
      end: (outcome: string) => events.push(outcome),
    };
    const monitor = { ...silent, begin: () => ticket };
    const engine = { storage, monitor, hashing: createHashing(), processes: { own: 1, isAlive: () => false }, retries: 0 };
    const options = { size: 5, listedEtag: 'e', inTree: true, rel: 'x' };
    await fetchFile(engine as unknown as Engine, { account: 'demo', path: 'stor/x' }, file, options).catch((error: Error) => {
      events.push(error.message);
    });
    return events;
  }

  test('is written at once, and counted once', async () => {
    const file = join(folder, 'x');
    expect(await fetchListed('right', file)).toEqual(['together', '5', 'done']);
    expect(readFileSync(file, 'utf8')).toBe('right');
  });

  test.each([
    ['had no response', undefined],
    ['was damaged', 'wrong'],
    ['is not as long as stated', 'righ'],
  ])('is requested by itself where it %s', async (_, content) => {
    const file = join(folder, 'x');
    rmSync(file, { force: true });
    expect(await fetchListed(content, file)).toEqual(['together', 'alone', '5', 'done']);
    expect(readFileSync(file, 'utf8')).toBe('right');
  });

  test('leaves nothing, and fails once, where it cannot be written', async () => {
    mkdirSync(join(folder, 'd', 'x'), { recursive: true });
    const file = join(folder, 'd', 'x');
    expect(await fetchListed('right', file)).toEqual(['together', 'failed', expect.stringContaining(`${file} is a directory`)]);
    expect(readdirSync(join(folder, 'd'))).toEqual(['x']);
  });
});
