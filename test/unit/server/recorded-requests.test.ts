import { expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { createRequestMemory } from '../../../src/server/http/recorded-requests.ts';

const urls = { compute: 'https://localhost:1', storage: 'https://localhost:2' };

function record(headers: readonly Headers[], query = ''): string[] {
  const memory = createRequestMemory();
  for (const [number, each] of headers.entries())
    memory.add({
      at: 0,
      service: 'storage',
      method: 'GET',
      target: `/demo/stor/${number}${query}`,
      headers: each,
      hasBody: false,
      remoteAddress: '127.0.0.1',
      operation: undefined,
      caller: 'demo',
      requestId: String(number),
      status: each['status'] === '431' ? 431 : 200,
      duration: 1,
      error: undefined,
      faults: undefined,
    });
  return memory.list(0, false, urls).requests.map(({ curl }) => curl);
}

test('each request is listed with its own headers, whatever the one before had', () => {
  const all: Headers[] = [
    { accept: 'a', date: '1' },
    { accept: 'a', date: '1' },
    { accept: 'a', date: '2' },
    { accept: 'a' },
    { accept: 'a', range: '2' },
    {},
    { date: '2', accept: 'a' },
  ];
  const shown = all.map((headers, number) => {
    const words = Object.entries(headers).map(([name, value]) => `-H '${name}: ${value ?? ''}' `);
    return `curl -sS -X GET ${words.join('')}https://localhost:2/demo/stor/${number}`;
  });
  expect(record(all)).toEqual(shown);
});

test('headers that were too large are not kept, nor given to the next request', () => {
  const [, second, third] = record([{ accept: 'a' }, { status: '431', accept: 'a' }, { accept: 'a' }]);
  expect(second).toBe('curl -sS -X GET https://localhost:2/demo/stor/1');
  expect(third).toContain("-H 'accept: a'");
});

test('the curl command of a request has no password', () => {
  const [shown] = record([{}], '?signature=kept&%70assword=hunter2');
  expect(shown).toBe("curl -sS -X GET 'https://localhost:2/demo/stor/0?signature=kept&%70assword=(redacted)'");
});
