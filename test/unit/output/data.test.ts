import fc from 'fast-check';
import { parse } from 'yaml';
import { printText } from '../../../src/rbac/yaml.ts';
import { expect, test } from 'vitest';
import { record, records } from '../../../src/output/kinds.ts';
import { anyCodePoint } from '../../support/code-points.ts';
import { pipe, show } from './capture.ts';

const anyText = fc.oneof(
  fc.string({ unit: anyCodePoint }),
  fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', '\t', '\\', ' ', 'a', '\u001b', '\u0085', '\u2028', '#', ':', '-', '\u202e') }),
);
/** As a response has it: JSON has no -0. */
const anyJson = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const anyRow = fc.record({ a: anyText, b: anyText });

/** A reader of RFC 4180, written for this test alone. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [];
  let line: string[] = [];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    line.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ',') continue;
    lines.push(line);
    line = [];
  }
  return lines;
}

const characters: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', '\\': '\\' };

function readTsv(text: string): string[][] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => line.split('\t').map((cell) => cell.replaceAll(/\\(.)/g, (_, letter: string) => characters[letter] ?? '')));
}

test.each([
  ['csv', readCsv],
  ['tsv', readTsv],
] as const)('%s is read back as it was', async (format, read) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow), async (rows) => {
      const text = await pipe(records(rows, { columns: ['a', 'b'], id: 'a' }), format);
      expect(read(text)).toEqual([['a', 'b'], ...rows.map(({ a, b }) => [a, b])]);
      const single = await pipe(records(rows, { columns: ['a'], id: 'a' }), format, { header: false });
      expect(read(single)).toEqual(rows.map(({ a }) => [a]));
    }),
  );
});

test('JSON, JSON lines and YAML are read back as they were, from a pipe and from a terminal', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ a: anyText, b: anyJson, list: fc.array(anyText) })), async (rows) => {
      const expected: unknown = JSON.parse(JSON.stringify(rows));
      const output = records(rows, { columns: ['a'], id: 'a' });
      for (const write of [pipe, (...[output, format]: Parameters<typeof pipe>) => show(output, format, 80)]) {
        expect(JSON.parse(await write(output, 'json'))).toEqual(expected);
        expect(
          (await write(output, 'jsonl'))
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as unknown),
        ).toEqual(expected);
        expect(parse(await write(output, 'yaml'))).toEqual(expected);
      }
    }),
    { numRuns: 50 },
  );
});

test('one record has the same cells as a list of it', async () => {
  const row = { id: 'x', nested: { a: [1, null] }, yes: true, nothing: null };
  const shape = { columns: ['id', 'nested', 'yes', 'nothing'], id: 'id' };
  for (const format of ['csv', 'tsv', 'jsonl', 'name'] as const) {
    expect(await pipe(record(row, shape), format)).toBe(await pipe(records([row], shape), format));
  }
  expect(await pipe(record(row, shape), 'csv')).toBe('id,nested,yes,nothing\r\nx,"{""a"":[1,null]}",true,\r\n');
  expect(parse(await pipe(record(row, shape), 'yaml'))).toEqual(row);
  expect(await pipe(record(row, shape), 'json')).toBe(`${JSON.stringify(row)}\n`);
});

test('text stays text for programs that read YAML 1.1', async () => {
  const row = { country: 'NO', on: 'yes', since: '2026-01-01', created: '2026-01-01T00:00:00.000Z', at: '12:34:56', name: 'web' };
  expect(parse(await pipe(record(row, { id: 'name' }), 'yaml'), { version: '1.1' })).toEqual(row);
  expect(parse(await printText(row), { version: '1.1' })).toEqual(row);
});
