import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createNotices } from '../../../src/session/voice.ts';

/** Notes on requests that get no response, by a clock that the test moves. */

const said: string[] = [];
const voice = { say: (message: string) => void said.push(message), retried: 0, isJson: false };
const waiting = 'still waiting for a response from cloud.example.com';

beforeEach(() => {
  said.length = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime', 'Date'] });
});
afterEach(() => void vi.useRealTimers());

function watch({ isSilent = false } = {}): (host: string) => () => void {
  return createNotices(voice, { now: Date.now, isSilent }).watch;
}

test('a request without a response for 10 s is mentioned once', () => {
  watch()('cloud.example.com');
  vi.advanceTimersByTime(9_999);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(said).toEqual([waiting]);
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([waiting]);
});

test('each request has 10 s of its own, whatever others did before', () => {
  const begin = watch();
  const [first, second] = [begin('cloud.example.com'), begin('cloud.example.com')];
  vi.advanceTimersByTime(5_000);
  const third = begin('cloud.example.com');
  first();
  second();
  vi.advanceTimersByTime(9_999);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(said).toEqual([waiting]);
  third();
});

test('a request with a response is not mentioned, and a later one is', () => {
  const begin = watch();
  begin('cloud.example.com')();
  vi.advanceTimersByTime(30_000);
  expect(said).toEqual([]);
  begin('cloud.example.com');
  vi.advanceTimersByTime(10_000);
  expect(said).toEqual([waiting]);
});

test('with --quiet nothing is said', () => {
  watch({ isSilent: true })('cloud.example.com');
  vi.advanceTimersByTime(60_000);
  expect(said).toEqual([]);
});
