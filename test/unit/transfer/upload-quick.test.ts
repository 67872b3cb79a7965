import { createHash } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ApiError, NetworkError } from '../../../src/base/errors.ts';
import type { Engine } from '../../../src/transfer/engine.ts';
import type { Ticket } from '../../../src/base/monitor.ts';
import { readState } from '../../../src/transfer/local/file-state.ts';
import { createHashing, type Hasher, type Hashing } from '../../../src/transfer/hashing.ts';
import { readWholeFile, watchBytes, type FileSource, type Watched } from '../../../src/transfer/local/source.ts';
import { mayBeQuick, uploadQuickly } from '../../../src/transfer/upload/quick.ts';

const mebibyte = 1024 * 1024;
const size = 130 * mebibyte;
const target = { account: 'demo', path: 'stor/x' };
const engine = {
  hashing: createHashing(),
  memory: { read: () => undefined },
  partSize: undefined,
  throttle: undefined,
} as unknown as Engine;
let folder: string;
let source: FileSource;
let moved = 0;
const ticket: Ticket = { expect: () => undefined, move: (bytes) => void (moved += bytes), keep: () => undefined, end: () => undefined };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-quick-'));
  const file = join(folder, 'sparse');
  const descriptor = openSync(file, 'w');
  ftruncateSync(descriptor, size);
  closeSync(descriptor);
  source = { kind: 'file', label: 'sparse', file, ...readState(statSync(file, { bigint: true })), mode: 0o644 };
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  moved = 0;
});

/** Reads a body as a service does; `pause` milliseconds for each mebibyte. */
async function read(watched: Watched, pause: number, most = Infinity): Promise<number> {
  let length = 0;
  for await (const piece of watched.body()) {
    length += piece.length;
    if (pause > 0 && length % mebibyte === 0) await sleep(pause);
    if (length >= most) break;
  }
  return length;
}

test.each([
  ['ends early', mebibyte],
  ['is read to its end', Infinity],
])('the hashing of a body that %s gives back its memory, also when nobody asks for the digest', async (_, most) => {
  const whole = createHashing();
  const begun: Hasher[] = [];
  const ended = new Set<Hasher>();
  const start: Hashing['start'] = (length) => {
    const hasher = whole.start(length);
    const drop = (): Promise<void> => {
      ended.add(watched);
      return hasher.drop();
    };
    const watched: Hasher = { ...hasher, drop };
    begun.push(watched);
    return watched;
  };
  const body = watchBytes(() => readWholeFile(source), source, { hashing: { start }, throttle: undefined }, ticket);
  await read(body, 0, most);
  expect([begun.length, begun.every((hasher) => ended.has(hasher))]).toEqual([2, true]);
});

test('a quick request has all of the file, whose MD5 is known at its end', async () => {
  const file = join(folder, 'short');
  writeFileSync(file, Buffer.alloc(15 * mebibyte));
  const short = { ...source, file, ...readState(statSync(file, { bigint: true })) };
  const sent = await uploadQuickly(engine, short, ticket, async (watched) => {
    const length = await read(watched, 0);
    return { length, ...(await watched.seen()) };
  });
  expect(sent).toEqual({ length: short.size, size: short.size, md5: createHash('md5').update(readFileSync(file)).digest('base64') });
  expect(moved).toBe(short.size);
});

test('a slow one is given up soon, and counts for nothing', async () => {
  let most = 0;
  const watching: Ticket = { ...ticket, move: (bytes) => (ticket.move(bytes), (most = Math.max(most, moved))) };
  const given = await uploadQuickly(engine, source, watching, async (watched) => await read(watched, 50));
  expect([given, moved]).toEqual([undefined, 0]);
  expect(most).toBeLessThan(40 * mebibyte);
});

/** Whatever the machine has to do beside: of one as short as this it is not judged how quick it is. */
const short = (): FileSource => ({ ...source, size: 60 * mebibyte });

test('one that breaks leaves it to parts; one that is refused does not', async () => {
  const failWith = (error: Error) => async (watched: Watched) => {
    await read(watched, 0, 8 * mebibyte);
    throw error;
  };
  expect(await uploadQuickly(engine, short(), ticket, failWith(new NetworkError('cut', { code: 'ECONNRESET' })))).toBe(undefined);
  expect(moved).toBe(0);
  const refusal = new ApiError(403, 'AuthorizationFailed', 'no');
  await expect(uploadQuickly(engine, short(), ticket, failWith(refusal))).rejects.toBe(refusal);
});

test('an interrupted one ends with the interruption', async () => {
  const stop = new AbortController();
  const send = async (watched: Watched): Promise<void> => {
    await read(watched, 0, 8 * mebibyte);
    stop.abort();
    throw new NetworkError('cut', { code: 'ECONNRESET' });
  };
  await expect(uploadQuickly({ ...engine, signal: stop.signal }, short(), ticket, send)).rejects.toMatchObject({ message: 'interrupted' });
});

test.each<[string, Partial<Engine>, Partial<FileSource>, boolean, boolean]>([
  ['a large file', {}, {}, false, true],
  ['one that parts are wanted for', {}, {}, true, false],
  ['parts of a given size', { partSize: 5 * mebibyte }, {}, false, false],
  ['a limited rate', { throttle: () => undefined }, {}, false, false],
  ['a file of a gibibyte', {}, { size: 1024 * mebibyte }, false, false],
  ['one that was begun in parts', { memory: { ...engine.memory, read: () => ({ parts: {} }) } }, {}, false, false],
])('whether one request may do: %s', (_, given, file, alwaysInParts, expected) => {
  expect(mayBeQuick({ ...engine, ...given }, { ...source, ...file }, target, { headers: {}, alwaysInParts })).toBe(expected);
});

test('a file that is written to while it is read is never sent to its end; one that comes to its place is nothing to it', async () => {
  const file = join(folder, 'changing');
  const send = (change: () => void): Promise<number | undefined> => {
    writeFileSync(file, Buffer.alloc(2 * mebibyte));
    utimesSync(file, 1e9, 1e9);
    const changing = { ...source, label: 'changing', file, ...readState(statSync(file, { bigint: true })) };
    return uploadQuickly(engine, changing, ticket, async (watched) => {
      let length = 0;
      for await (const piece of watched.body()) {
        if (length === 0) change();
        length += piece.length;
      }
      return length;
    });
  };
  const write = (): void => {
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, 'x');
    closeSync(descriptor);
  };
  await expect(send(write)).rejects.toThrow('changing was changed while it was read: nothing was stored');
  await expect(send(() => appendFileSync(file, 'x'))).rejects.toThrow('changing grew while it was read');
  await expect(send(() => renameSync(source.file, file))).resolves.toBe(2 * mebibyte);
});
