import { parse } from 'yaml';
import { describe, expect, test } from 'vitest';
import { bytes, formats, none, record, records, text, texts, type Row } from '../../../src/output/kinds.ts';
import { createCapture, optionsOf, pipe, show } from './capture.ts';
import { render } from '../../../src/output/render.ts';

const shape = {
  columns: ['name', { key: 'size', as: 'size' }, { key: 'created', as: 'time' }, { key: 'public' }, { key: 'note', long: true }],
  id: 'name',
} as const;
const image: Row = {
  name: 'base',
  size: 1536,
  created: '2026-03-07T11:00:00.000Z',
  public: true,
  note: 'a "b", c\nd\te\\',
  tags: { role: 'web', deep: { a: 1 } },
};
const list = (...rows: Row[]) => records(rows, shape);

test('tables have the usual order of their records, everything else the order of arrival', async () => {
  const output = records([{ name: 'b' }, { name: 'a' }], { columns: ['name'], id: 'name', order: 'name' });
  expect(await pipe(output, 'table')).toBe('NAME\na\nb\n');
  expect(await pipe(output, 'table', { sort: ['-name'] })).toBe('NAME\nb\na\n');
  expect(await pipe(output, 'name')).toBe('b\na\n');
});

describe('an empty list', () => {
  test.each([
    ['table', 'NAME  SIZE  CREATED  PUBLIC\n'],
    ['json', '[]\n'],
    ['jsonl', ''],
    ['yaml', '[]\n'],
    ['csv', 'name,size,created,public\r\n'],
    ['tsv', 'name\tsize\tcreated\tpublic\n'],
    ['name', ''],
  ] as const)('as %s', async (format, expected) => {
    expect(await pipe(list(), format)).toBe(expected);
    expect(await show(list(), format, 80)).toBe(expected);
  });

  test('has no header when none is wanted, and believes any name of a field', async () => {
    expect(await pipe(list(), 'table', { header: false })).toBe('');
    expect(await pipe(list(), 'csv', { columns: ['whatever'] })).toBe('whatever\r\n');
    expect(await pipe(list(), 'json', { columns: ['whatever'], sort: ['-other'] })).toBe('[]\n');
  });
});

describe('a list of one', () => {
  test.each([
    ['table', 'NAME     SIZE  CREATED               PUBLIC\nbase  1.5 KiB  2026-03-07T11:00:00Z  yes\n'],
    ['json', `${JSON.stringify([image])}\n`],
    ['jsonl', `${JSON.stringify(image)}\n`],
    ['csv', 'name,size,created,public\r\nbase,1536,2026-03-07T11:00:00.000Z,true\r\n'],
    ['tsv', 'name\tsize\tcreated\tpublic\nbase\t1536\t2026-03-07T11:00:00.000Z\ttrue\n'],
    ['name', 'base\n'],
  ] as const)('as %s', async (format, expected) => {
    expect(await pipe(list(image), format)).toBe(expected);
  });

  test('as YAML', async () => {
    expect(parse(await pipe(list(image), 'yaml'))).toEqual([image]);
    expect(parse(await show(list(image), 'yaml', 40))).toEqual([image]);
  });

  test('with --long', async () => {
    expect(await pipe(list(image), 'csv', { long: true })).toContain('true,"a ""b"", c\nd\te\\"\r\n');
    expect(await pipe(list(image), 'tsv', { long: true })).toContain('true\ta "b", c\\nd\\te\\\\\n');
    expect(await pipe(list(image), 'table', { long: true })).toContain('a "b", c\\nd\\te\\\n');
  });

  test('JSON is spread over lines on a terminal and on one line in a pipe', async () => {
    expect(await show(list(image, image), 'json', 80)).toBe(`${JSON.stringify([image, image], null, 2)}\n`);
    expect(await pipe(list(image, image), 'json')).toBe(`${JSON.stringify([image, image])}\n`);
  });
});

describe('--columns', () => {
  const rows: Row[] = [
    { name: 'a', error: { code: 'Broken' } },
    { name: 'b', contentMD5: 'x' },
  ];

  test('chooses fields in every format but name', async () => {
    const columns = ['error.code', 'name'];
    expect(await pipe(list(...rows), 'table', { columns })).toBe('ERROR-CODE  NAME\nBroken      a\n-           b\n');
    expect(await pipe(list(...rows), 'json', { columns })).toBe('[{"error.code":"Broken","name":"a"},{"name":"b"}]\n');
    expect(await pipe(list(...rows), 'jsonl', { columns })).toBe('{"error.code":"Broken","name":"a"}\n{"name":"b"}\n');
    expect(await pipe(list(...rows), 'yaml', { columns })).toBe('- error.code: Broken\n  name: a\n- name: b\n');
    expect(await pipe(list(...rows), 'csv', { columns })).toBe('error.code,name\r\nBroken,a\r\n,b\r\n');
    expect(await pipe(list(...rows), 'tsv', { columns })).toBe('error.code\tname\nBroken\ta\n\tb\n');
    expect(await pipe(list(...rows), 'name', { columns })).toBe('a\nb\n');
  });

  test('all has the fields of all rows', async () => {
    expect(await pipe(list(...rows), 'csv', { columns: 'all' })).toBe('name,error,contentMD5\r\na,"{""code"":""Broken""}",\r\nb,,x\r\n');
    expect(await pipe(list(...rows), 'table', { columns: 'all' })).toBe(
      'NAME  ERROR        CONTENT-MD5\na     code=Broken  -\nb     -            x\n',
    );
    expect(await pipe(list(...rows), 'json', { columns: 'all' })).toBe(`${JSON.stringify(rows)}\n`);
  });

  test('takes the headings of a table as names', async () => {
    expect(await pipe(list(...rows), 'json', { columns: ['CONTENT-MD5'] })).toBe('[{},{"contentMD5":"x"}]\n');
  });

  test.each(formats.filter((format) => format !== 'name'))('suggests the field that was meant, as %s', async (format) => {
    const out = createCapture();
    const attempt = render(list(...rows), optionsOf(format, { columns: ['nmae'] }), out);
    await expect(attempt).rejects.toMatchObject({ message: '--columns: no field "nmae"; did you mean "name"?', exitCode: 2 });
    expect(out.text()).toBe('');
  });

  test('knows fields that a service may leave out', async () => {
    const output = records(rows, { ...shape, fields: ['description'] });
    expect(await pipe(output, 'csv', { columns: ['name', 'description'] })).toBe('name,description\r\na,\r\nb,\r\n');
  });

  test('closes the source when a field is unknown', async () => {
    let isClosed = false;
    async function* produce(): AsyncGenerator<Row> {
      try {
        for (;;) yield { name: 'x' };
      } finally {
        isClosed = true;
      }
    }
    await expect(pipe(records(produce(), shape), 'jsonl', { columns: ['nothing'] })).rejects.toThrow('no field "nothing"');
    expect(isClosed).toBe(true);
  });

  test('on one record', async () => {
    const one = record(image, { id: 'name' });
    expect(await pipe(one, 'json', { columns: ['size', 'tags.role'] })).toBe('{"size":1536,"tags.role":"web"}\n');
    expect(await pipe(one, 'table', { columns: ['size'], header: false })).toBe('SIZE  1536\n');
    await expect(pipe(one, 'yaml', { columns: ['sise'] })).rejects.toThrow('did you mean "size"?');
  });
});

describe('--sort', () => {
  const names = async (rows: Row[], ...sort: string[]) =>
    (await pipe(records(rows, { columns: ['n'], id: 'n' }), 'name', { sort })).split('\n').slice(0, -1);

  test('sorts numbers by value, text by code point, and puts missing ones last both ways', async () => {
    const rows = [{ n: 'a', v: 10 }, { n: 'b' }, { n: 'c', v: 9 }, { n: 'd', v: null }, { n: 'e', v: 'x' }];
    expect(await names(rows, 'v')).toEqual(['c', 'a', 'e', 'b', 'd']);
    expect(await names(rows, '-v')).toEqual(['e', 'a', 'c', 'b', 'd']);
    expect(await names([{ n: '\u{1f600}' }, { n: '\uffee' }, { n: 'z' }, { n: 'Z' }], 'n')).toEqual(['Z', 'z', '\uffee', '\u{1f600}']);
  });

  test('sorts by several fields and keeps the order of equals', async () => {
    const rows = [
      { n: '1', a: { b: 2 }, c: true },
      { n: '2', a: { b: 1 }, c: true },
      { n: '3', a: { b: 1 }, c: false },
      { n: '4', a: { b: 1 }, c: false },
    ];
    expect(await names(rows, 'a.b', 'c')).toEqual(['3', '4', '2', '1']);
    expect(rows.map(({ n }) => n)).toEqual(['1', '2', '3', '4']);
  });

  test('suggests the field that was meant', async () => {
    await expect(names([{ n: 'a', size: 1 }], '-siez')).rejects.toThrow('--sort: no field "siez"; did you mean "size"?');
  });
});

describe('streams', () => {
  const formatsThatStream = ['jsonl', 'json', 'csv', 'tsv', 'name', 'yaml'] as const;

  test.each(formatsThatStream)('the first record is written before the second is there, as %s', async (format) => {
    const out = createCapture();
    let seen = '';
    async function* produce(): AsyncGenerator<Row> {
      yield { name: 'first' };
      const deadline = Date.now() + 20_000;
      while (!out.text().includes('first') && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 5));
      seen = out.text();
      yield { name: 'second' };
    }
    await render(records(produce(), shape), optionsOf(format), out);
    expect(seen).toContain('first');
    expect(seen).not.toContain('second');
    expect(out.text()).toContain('second');
  });

  test('what arrived before a failure is written', async () => {
    const out = createCapture();
    async function* produce(): AsyncGenerator<Row> {
      yield { name: 'first' };
      throw new Error('the connection was cut');
    }
    await expect(render(records(produce(), shape), optionsOf('jsonl'), out)).rejects.toThrow('the connection was cut');
    expect(out.text()).toBe('{"name":"first"}\n');
  });
});

describe('other outputs', () => {
  test('text ends with a newline', async () => {
    expect(await pipe(text('export A=1'), 'json')).toBe('export A=1\n');
    expect(await pipe(text('a\n'), 'table')).toBe('a\n');
    expect(await pipe(text(''), 'table')).toBe('');
  });

  test('bytes are written as they are', async () => {
    const chunks: Buffer[] = [];
    const out = createCapture();
    out.stream._write = (chunk: Buffer, _, done) => {
      chunks.push(chunk);
      done();
    };
    async function* produce(): AsyncGenerator<Uint8Array> {
      yield Buffer.from([0, 255, 27]);
      yield Buffer.from([128, 10]);
    }
    await render(bytes(produce()), optionsOf('table'), out);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from([0, 255, 27, 128, 10]));
  });

  test('texts are written unchanged: those of one turn of the event loop together, and before the next turn', async () => {
    const out = createCapture();
    const written: number[] = [];
    async function* produce(): AsyncGenerator<string> {
      for (let turn = 0; turn < 3; turn += 1) {
        for (let line = 0; line < 1000; line += 1) yield `${turn} ${line}\n`;
        await new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));
        written.push(out.chunks.length);
      }
      yield 'no newline\u001b\0';
    }
    await render(texts(produce()), optionsOf('jsonl'), out);
    expect(written).toEqual([1, 2, 3]);
    expect(out.text().split('\n')).toEqual([
      ...[0, 1, 2].flatMap((turn) => Array.from({ length: 1000 }, (_, line) => `${turn} ${line}`)),
      'no newline\u001b\0',
    ]);
  });

  test('texts before a failure are written', async () => {
    const out = createCapture();
    async function* produce(): AsyncGenerator<string> {
      yield 'first\n';
      await Promise.reject(new Error('the listing ended'));
    }
    await expect(render(texts(produce()), optionsOf('table'), out)).rejects.toThrow('the listing ended');
    expect(out.text()).toBe('first\n');
  });

  test('nothing is nothing', async () => {
    expect(await pipe(none, 'json')).toBe('');
  });
});

describe('control characters', () => {
  const name = 'a\u001b[31mb\u009b2J\u202ec\r\nd\u007f';
  // oxlint-disable-next-line no-control-regex
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

  test.each(formats.filter((format) => format !== 'csv'))('never reach a terminal, as %s', async (format) => {
    const own = format === 'tsv' ? '\t' : '';
    for (const output of [list({ name, size: 1 }), record({ name, [name]: 1 }, { id: 'name' }), list({ name: 'x', [name]: 1 })]) {
      expect((await show(output, format, 80, { columns: 'all' })).replaceAll(own, '')).not.toMatch(raw);
    }
  });

  test('never reach a terminal, as csv', async () => {
    expect((await show(list({ name }), 'csv', 80)).replaceAll('\r\n', '')).not.toMatch(raw);
  });

  test('are exact in the data of a pipe', async () => {
    expect(JSON.parse(await pipe(list({ name }), 'json'))).toEqual([{ name }]);
    expect(JSON.parse(await show(list({ name }), 'json', 80))).toEqual([{ name }]);
    expect(parse(await pipe(list({ name }), 'yaml'))).toEqual([{ name }]);
    expect(parse(await show(list({ name }), 'yaml', 80))).toEqual([{ name }]);
  });

  test('are quoted in a list of names, where a newline would make two lines of one', async () => {
    expect(await pipe(list({ name }), 'name')).toBe(`"a\\033[31mb\u009b2J\u202ec\\r\\nd\\177"\n`);
    expect(await show(list({ name }), 'name', 80)).toBe('"a\\033[31mb\\x9b2J\\u202ec\\r\\nd\\177"\n');
  });

  test('are shown escaped in tables of a pipe too', async () => {
    expect(await pipe(list({ name: 'a\nb' }), 'table', { columns: ['name'] })).toBe('NAME\na\\nb\n');
  });
});
