import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { OutputStream } from '../../../src/base/world.ts';
import { createProgress, type Progress } from '../../../src/output/progress.ts';

let written: string;
let progress: Progress;
let stderr: OutputStream;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  written = '';
  const stream = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      written += piece.toString();
      done();
    },
  });
  stderr = { stream, isTerminal: true, columns: () => 60 };
  progress = createProgress(stderr, { now: Date.now, mode: 'bar' });
});
afterEach(() => vi.useRealTimers());

/** Lines of the latest drawing. */
function lines(): string[] {
  vi.advanceTimersByTime(100);
  // oxlint-disable-next-line no-control-regex
  return (written.split(/\u001b\[\d+F\u001b\[J/u).at(-1) ?? '').split('\n').slice(0, -1);
}

const mebibyte = 1024 * 1024;

test('a file whose size is learnt on the way has its share, the total and the time that is left', () => {
  progress.monitor.expect(1, 0);
  const ticket = progress.monitor.begin('/demo/stor/a', undefined);
  vi.advanceTimersByTime(1000);
  ticket.expect(100 * mebibyte);
  for (let second = 0; second < 4; second += 1) {
    ticket.move(10 * mebibyte);
    vi.advanceTimersByTime(1000);
  }
  const [file = '', total = ''] = lines();
  expect(file).toMatch(/^\/demo\/stor\/a +40% of 100\.0 MiB$/u);
  expect(total).toMatch(/^0 of 1 file, 40\.0 MiB, [\d.]+ MiB\/s, [5-9]s left$/u);
  for (const line of lines()) expect(line.length).toBeLessThan(60);
  ticket.end('done');
  written = '';
  progress.close(0);
  expect(written).toMatch(/1 file, 40\.0 MiB in /u);
});

test('what has not begun counts for the time that is left; what failed does not', () => {
  progress.monitor.expect(4, 0);
  const first = progress.monitor.begin('a', 10 * mebibyte);
  const failed = progress.monitor.begin('b', 10 * mebibyte);
  for (let second = 0; second < 5; second += 1) {
    first.move(mebibyte);
    vi.advanceTimersByTime(1000);
  }
  expect(lines().at(-1)).toMatch(/^0 of 4 files, 5\.0 MiB, [\d.]+ [KM]iB\/s, \d\ds left$/u);
  failed.end('failed');
  expect(lines().at(-1)).toMatch(/^0 of 4 files, 5\.0 MiB, .* left, 1 failed$/u);
  first.end('done');
  expect(lines().at(-1)).toContain('1 failed');
  progress.close(1);
});

test('where nobody knows how much there is, nothing is foretold', () => {
  progress.monitor.begin('a', mebibyte).move(1000);
  expect(lines().at(-1)).not.toContain('left');
  progress.close(0);
});

test('after a resume, rate and time left are those of this run', () => {
  progress.monitor.expect(1, 0);
  const ticket = progress.monitor.begin('a', 100 * mebibyte);
  ticket.keep(60 * mebibyte);
  for (let second = 0; second < 3; second += 1) {
    vi.advanceTimersByTime(1000);
    ticket.move(10 * mebibyte);
  }
  expect(lines()[0]).toContain('90% of 100.0 MiB');
  expect(lines().at(-1)).toMatch(/^0 of 1 file, 30\.0 MiB, [\d.]+ MiB\/s, [12]s left$/u);
  ticket.end('done');
  written = '';
  progress.close(0);
  expect(written).toMatch(/1 file, 30\.0 MiB in 3\.\ds \((9|10)\.\d MiB\/s\), 60\.0 MiB kept from an earlier run\n$/u);
});

test('in a log there is one line every interval without codes of a terminal, and a summary that counts retries', () => {
  progress.close(0);
  written = '';
  let retries = 0;
  const plain = createProgress(stderr, { now: Date.now, mode: 'plain', countRetries: () => retries });
  plain.monitor.expect(3, 0);
  const first = plain.monitor.begin('a', mebibyte);
  first.move(mebibyte);
  first.end('done');
  vi.advanceTimersByTime(25_000);
  retries = 4;
  plain.close(1);
  expect(written.split('\n')).toEqual([
    expect.stringMatching(/^1 of 3 files, 1\.0 MiB, /),
    expect.stringMatching(/^1 of 3 files, 1\.0 MiB, /),
    expect.stringMatching(/^1 file, 1\.0 MiB in 25s? .*, 4 requests retried, 1 failed$/),
    '',
  ]);
  // oxlint-disable-next-line no-control-regex
  expect(written).not.toMatch(/\u001b/u);
});

test('one small file without trouble is not summed up; JSON lines are summed up by an object', () => {
  progress.close(0);
  written = '';
  createProgress(stderr, { now: Date.now, mode: 'plain' }).close(0);
  expect(written).toBe('');
  const json = createProgress(stderr, { now: Date.now, mode: 'none', isJson: true });
  for (const name of ['a', 'b']) {
    const ticket = json.monitor.begin(name, 5);
    ticket.move(5);
    ticket.end('done');
  }
  json.close(0);
  expect(JSON.parse(written)).toEqual({ summary: { files: 2, bytes: 10, kept: 0, failed: 0, retries: 0, milliseconds: 0 } });
});
