import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { LocalError } from '../../../src/base/errors.ts';
import { withLock } from '../../../src/base/lock.ts';
import { isAlive } from '../../../src/base/world.ts';

/** Ids of processes, beyond the largest that Linux gives. */
const [ended, other] = [2 ** 22 + 1, 2 ** 22 + 2];

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-lock-'));
  path = join(folder, 'file.lock');
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

function write(file: string, pid: number): void {
  writeFileSync(file, String(pid), { mode: 0o600 });
}

function fail(code: string): never {
  throw Object.assign(new Error(code), { code });
}

/** Replaces the system's answer whether a process exists. */
function mockProcesses(exists: (pid: number) => boolean): void {
  vi.spyOn(process, 'kill').mockImplementation((pid) => exists(pid) || fail('ESRCH'));
}

test.each([
  ['exists', () => undefined, true],
  ['belongs to another user', () => fail('EPERM'), true],
  ['has ended', () => fail('ESRCH'), false],
])('a process that %s', (_, kill, expected) => {
  expect(isAlive({ kill }, 2)).toBe(expected);
});

describe('a lock', () => {
  test('names its process while the work is done, and is removed after it, even if it fails', () => {
    expect(withLock(path, () => Number(readFileSync(path, 'utf8')))).toBe(process.pid);
    expect(() => withLock(path, () => fail('EIO'))).toThrow('EIO');
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([[['']], [['', '.stale']], [['', '.stale', '.stale.stale']]])('of a process that has ended is taken over: %j', (names) => {
    for (const name of names) write(`${path}${name}`, ended);
    expect(withLock(path, () => 'done')).toBe('done');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that another process took over in the meantime stays in place until that process removes it', () => {
    write(path, ended);
    const seen: boolean[] = [];
    mockProcesses((pid) => {
      // The other process is faster: when this one has found that the lock is stale, there is a new one.
      if (pid === ended) write(path, other);
      else seen.push(existsSync(path));
      if (seen.length === 2) rmSync(path, { force: true });
      return pid !== ended;
    });
    expect(withLock(path, () => Number(readFileSync(path, 'utf8')))).toBe(process.pid);
    expect(seen).toEqual([true, true]);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('that is held for too long is an error that names the process and the file', () => {
    write(path, other);
    mockProcesses(() => true);
    let now = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => (now += 6000));
    const attempt = (): unknown => withLock(path, () => undefined);
    expect(attempt).toThrow(LocalError);
    expect(attempt).toThrow(`${path} is held by another process (${other})`);
    expect(readdirSync(folder)).toEqual(['file.lock']);
  });

  test('that others may write to is not trusted', () => {
    write(path, ended);
    chmodSync(path, 0o666);
    expect(() => withLock(path, () => undefined)).toThrow(LocalError);
  });
});
