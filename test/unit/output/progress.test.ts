import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createProgress, type Progress } from '../../../src/output/progress.ts';

let written: string;
let progress: Progress;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_000_000 });
  written = '';
  const stream = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      written += piece.toString();
      done();
    },
  });
  progress = createProgress({ stream, isTerminal: true, columns: () => 60 }, Date.now);
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
