import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { record, records, type ColumnSpec, type Row } from '../../../src/output/kinds.ts';
import { measure } from '../../../src/output/width.ts';
import { pipe, show } from './capture.ts';

const table = (rows: Row[], ...columns: ColumnSpec[]) => records(rows, { columns, id: 'id' });

/** Reads a table's cells back by where its headings begin (left-aligned columns). */
function readTable(text: string, titles: readonly string[]): string[][] {
  const [header = '', ...lines] = text.split('\n').slice(0, -1);
  const starts = titles.map((title) => header.indexOf(title));
  return lines.map((line) =>
    starts.map((start, index) => {
      let at = 0;
      let cell = '';
      for (const { segment } of new Intl.Segmenter().segment(line)) {
        if (at >= start && at < (starts[index + 1] ?? Infinity)) cell += segment;
        at += measure(segment);
      }
      return cell.trimEnd();
    }),
  );
}

describe('a table', () => {
  test('aligns text to the left and numbers to the right, without trailing spaces', async () => {
    const rows = [
      { id: 'a', count: 5, note: 'x' },
      { id: 'long-id', count: 1234, note: '' },
    ];
    expect(await pipe(table(rows, 'id', 'count', 'note'), 'table')).toBe('ID       COUNT  NOTE\na            5  x\nlong-id   1234  -\n');
    expect(await pipe(table(rows, 'note', 'id', 'count'), 'table')).toBe(
      'NOTE  ID       COUNT\nx     a            5\n-     long-id   1234\n',
    );
  });

  test('shows values for people', async () => {
    const rows = [
      {
        id: 'a',
        flag: false,
        ips: ['1.2.3.4', '::1'],
        members: [{ type: 'subuser', id: 'u', login: 'bob' }, { name: 'ops' }, { x: 1 }],
        tags: { role: 'web', n: 1 },
        deep: { a: { b: 1 } },
        none: null,
        empty: [],
        at: 1_773_144_000_000,
      },
    ];
    expect(
      readTable(await pipe(table(rows), 'table', { columns: 'all' }), ['ID', 'FLAG', 'IPS', 'MEMBERS', 'TAGS', 'DEEP', 'NONE', 'EMPTY']),
    ).toEqual([['a', 'no', '1.2.3.4, ::1', 'bob, ops, {"x":1}', 'role=web, n=1', '{"a":{"b":1}}', '-', expect.stringMatching(/^-/)]]);
    const time = table(rows, { key: 'at', as: 'time', title: 'WHEN' });
    expect(await pipe(time, 'table')).toBe('WHEN\n2026-03-10T12:00:00Z\n');
    expect(await show(time, 'table', 80)).toBe('WHEN\n0s\n');
    expect(await show(time, 'table', 80, { long: true })).toBe('WHEN\n2026-03-10T12:00:00Z\n');
  });

  test('names the same columns for any key', async () => {
    expect(await pipe(table([], 'published_at', 'companyName', 'error.code', 'contentMD5', 'role-tag'), 'table')).toBe(
      'PUBLISHED-AT  COMPANY-NAME  ERROR-CODE  CONTENT-MD5  ROLE-TAG\n',
    );
  });

  test('is read back by its header', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme-ascii', minLength: 1 }),
      fc.string({ unit: fc.constantFrom('a', 'é', 'e\u0301', '日', '한', '👍🏽', '👨‍👩‍👧', '🇨🇭', 'ｱ', '❤️', '1️⃣'), minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.record({ id: cell, b: cell, c: cell })), async (rows) => {
        const titles = ['ID', 'B', 'C'] as const;
        const output = records(rows, { columns: [{ key: 'id', as: 'text' }, 'b', 'c'], id: 'id' });
        const cells = readTable(await pipe(output, 'table'), titles);
        expect(cells).toEqual(rows.map(({ id, b, c }) => [id.trimEnd(), b.trimEnd(), c.trimEnd()]));
      }),
      { numRuns: 60 },
    );
  });

  test('aligns wide characters, marks and emoji', async () => {
    const rows = ['日本語', 'e\u0301a', '👨‍👩‍👧', '🇨🇭x', '❤️', '한글', 'क्ष', '1️⃣'].map((id) => ({ id, end: '|' }));
    const lines = (await pipe(table(rows, 'id', 'end'), 'table')).split('\n').slice(1, -1);
    expect(lines.map((line) => measure(line.slice(0, line.indexOf('|'))))).toEqual(rows.map(() => 8));
    expect(['日本語', 'e\u0301a', '👨‍👩‍👧', '🇨🇭x', '❤️', '한글', 'ﬁ', '—', 'ａ', 'กำ'].map(measure)).toEqual([6, 2, 2, 3, 2, 4, 1, 1, 2, 2]);
  });
});

describe('truncation', () => {
  const id = '11111111-2222-3333-4444-555555555555';
  const rows = [{ id, name: 'n'.repeat(40), note: '日本'.repeat(20), count: 123_456 }];
  const output = table(rows, 'id', 'count', 'name', 'note');

  test('a terminal cuts the last columns first and names last, never the id and the numbers', async () => {
    const lines = (await show(output, 'table', 80)).split('\n').slice(0, -1);
    expect(lines.map(measure).every((width) => width <= 80)).toBe(true);
    expect(lines[1]).toMatch(/^1{8}-[\d-]+ {2}123456 {2}n{25}… {2}(日本)+…$/);
  });

  test('one much wider column is cut alone', async () => {
    const text = await show(table([{ id: 'a', name: 'short name', note: 'x'.repeat(200) }], 'id', 'name', 'note'), 'table', 40);
    expect(text).toBe(`ID  NAME        NOTE\na   short name  ${'x'.repeat(23)}…\n`);
  });

  test('names are whole where another column can be cut', async () => {
    const image = { id, name: 'ubuntu-24.04', version: '20250611', type: 'lx-dataset' };
    expect(await show(table([image], 'id', 'name', 'version', 'type'), 'table', 70)).toContain(`${id}  ubuntu-24.04  20250611  lx-data…`);
  });

  test.each([20, 40, 54])('a table that cannot fit into %i columns is not cut: its lines would wrap anyway', async (columns) => {
    expect(await show(output, 'table', columns)).toContain(`${id}  123456  ${'n'.repeat(40)}  ${'日本'.repeat(20)}\n`);
  });

  test('a pipe never cuts', async () => {
    expect(await pipe(output, 'table')).toContain(`${'n'.repeat(40)}  ${'日本'.repeat(20)}\n`);
  });

  test('a wider cell far down is cut only when its line has no room', async () => {
    const many = [
      ...Array.from({ length: 10_000 }, () => ({ id: 'a', name: 'short', note: 'n' })),
      { id: 'b', name: 'a longer name', note: 'n' },
    ];
    const last = async (columns: number): Promise<string | undefined> =>
      (await show(table(many, 'id', 'name', 'note'), 'table', columns)).trimEnd().split('\n').at(-1);
    expect([await last(80), await last(20)]).toEqual(['b   a longer name  n', 'b   a lo…  n']);
  });

  test('a terminal too narrow for the least widths gets whole ids', async () => {
    expect(await show(output, 'table', 20)).toContain(id);
  });
});

describe('colour', () => {
  test('is on the header alone, and only when wanted', async () => {
    const output = table([{ id: 'a' }], 'id');
    expect(await show(output, 'table', 80, { colour: true })).toBe('\u001b[1mID\u001b[22m\na\n');
    expect(await pipe(output, 'table', { colour: true })).toBe('\u001b[1mID\u001b[22m\na\n');
    expect(await show(output, 'table', 80)).toBe('ID\na\n');
    expect(await show(output, 'json', 80, { colour: true })).toBe('[\n  {\n    "id": "a"\n  }\n]\n');
  });
});

describe('a card', () => {
  const key = `ssh-rsa ${'A'.repeat(100)} me@here`;
  const policy = {
    name: 'read',
    key,
    rules: ['CAN getobject, listdirectory AND getuser', 'CAN listkeys'],
    tags: ['a', 'b'],
    gone: undefined,
  };
  const card = record(policy, { id: 'name' });

  test('in a pipe has one line for each field, whole', async () => {
    expect(await pipe(card, 'table')).toBe(
      `FIELD  VALUE\nNAME   read\nKEY    ${key}\nRULES  CAN getobject, listdirectory AND getuser\n       CAN listkeys\nTAGS   a, b\n`,
    );
    expect(await pipe(record(policy, { id: 'name', columns: ['tags', { key: 'name', long: true }] }), 'table', { header: false })).toBe(
      'TAGS  a, b\n',
    );
  });

  test('on a terminal wraps, and loses nothing', async () => {
    const text = await show(card, 'table', 40);
    const lines = text.split('\n').slice(0, -1);
    expect(lines.every((line) => measure(line) <= 40 && line === line.trimEnd())).toBe(true);
    expect(lines.slice(0, 4)).toEqual(['FIELD  VALUE', 'NAME   read', 'KEY    ssh-rsa', `       ${'A'.repeat(33)}`]);
    expect(text.replaceAll(/\s+/g, '')).toBe((await pipe(card, 'table')).replaceAll(/\s+/g, ''));
  });

  test('on a wide terminal is as in a pipe, but for colour', async () => {
    expect(await show(card, 'table', 200)).toBe(await pipe(card, 'table'));
    expect(await show(card, 'table', 200, { colour: true })).toContain('\u001b[1mFIELD\u001b[22m  \u001b[1mVALUE\u001b[22m\nNAME   read\n');
  });

  test('wraps wide characters by their width', async () => {
    const lines = (await show(record({ id: '日本語'.repeat(20) }, { id: 'id' }), 'table', 30)).split('\n').slice(1, -1);
    expect(lines.map((line) => measure(line))).toEqual([29, 29, 29, 29, 29, 17]);
  });
});
