import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { records, type Row } from '../../src/output/kinds.ts';
import { render } from '../../src/output/render.ts';
import { median, report } from '../support/figures.ts';

/** What a table of 100,000 rows takes beyond reading its data, to a pipe and to a terminal. */

const count = 100_000;
const most = 200;
const columns = ['id', 'name', 'version', 'os', 'type', { key: 'published_at', as: 'time' }] as const;

/** As they come from a service: lines of JSON, read one by one. */
async function* read(text: string): AsyncGenerator<Row> {
  for (const line of text.split('\n')) yield JSON.parse(line) as Row;
}

function makeLines(): string {
  const make = (at: number): object => ({
    id: `6d1a3a4c-70e7-4b4e-a0a5-${String(at).padStart(12, '0')}`,
    name: `image-${at}`,
    version: `1.${at % 7}.0`,
    os: 'linux',
    type: 'zone-dataset',
    published_at: '2026-01-02T03:04:05.000Z',
  });
  return Array.from({ length: count }, (_, at) => JSON.stringify(make(at))).join('\n');
}

async function timeReading(text: string): Promise<number> {
  const started = performance.now();
  let found = 0;
  for await (const row of read(text)) found += row === undefined ? 0 : 1;
  expect(found).toBe(count);
  return performance.now() - started;
}

async function timeTable(text: string, isTerminal: boolean): Promise<number> {
  let bytes = 0;
  const stream = new Writable({
    write(piece: Buffer, _, done) {
      bytes += piece.length;
      done();
    },
  });
  const started = performance.now();
  const options = { format: 'table', header: true, long: false, colour: false, now: Date.now } as const;
  await render(records(read(text), { columns, id: 'id' }), options, { stream, isTerminal, columns: () => 120 });
  expect(bytes).toBeGreaterThan(count * 80);
  return performance.now() - started;
}

test.each([
  ['to a pipe', false],
  ['to a terminal', true],
])('a table of 100,000 rows %s', { timeout: 120_000 }, async (where, isTerminal) => {
  const text = makeLines();
  const reading: number[] = [];
  const whole: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    reading.push(await timeReading(text));
    whole.push(await timeTable(text, isTerminal));
  }
  const beyond = median(whole) - median(reading);
  report('bench', {
    name: `a table of 100,000 rows ${where}, beyond reading its data`,
    ours: `${beyond.toFixed(0)} ms`,
    theirs: `promised: ${most} ms`,
    ratio: beyond / most,
    most: 1,
  });
});
