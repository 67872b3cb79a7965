import { expect, test } from 'vitest';
import { splitLines, splitNames, streamLines } from '../../../src/cli/lines.ts';

async function* chunk(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function collect(bytes: Buffer, size: number): Promise<string[]> {
  const lines = [];
  for await (const line of streamLines(chunk(bytes, size), 'list')) lines.push(line);
  return lines;
}

const list = Buffer.from('\uFEFFa\r\n\n\u00fc\u2028\rb\n\uFEFFlast');
const wanted = ['a', '', '\u00fc\u2028\rb', '\uFEFFlast'];

test.each([1, 2, 3, 5, 100])('a stream in chunks of %d bytes has the lines of the whole list', async (size) => {
  expect(splitLines(list, 'list')).toEqual(wanted);
  expect(await collect(list, size)).toEqual(wanted);
});

test('bytes that are not UTF-8 are refused with their line', async () => {
  const wrong = Buffer.from('a\nb\ncaf\u00e9\nd', 'latin1');
  for (const read of [() => splitLines(wrong, 'list'), () => splitNames(wrong, 'list')]) expect(read).toThrow('list, line 3: not UTF-8');
  for (const size of [1, 4, 100]) await expect(collect(wrong, size)).rejects.toThrow('list, line 3: not UTF-8');
  expect(() => splitNames(Buffer.from('a\0caf\u00e9\0', 'latin1'), 'list')).toThrow('list, name 2: not UTF-8');
});

test('names that end with NUL are taken as they are; a quoted name on a line is refused', () => {
  expect(splitNames(Buffer.from('\uFEFFa\r\0"b\\n"\0'), 'list')).toEqual(['\uFEFFa\r', '"b\\n"']);
  expect(splitNames(Buffer.from('a\n\n"b"\n"c\\x"\nd\\n'), 'list')).toEqual(['a', '"b"', '"c\\x"', 'd\\n']);
  for (const name of ['"b\\nc"', '"b\\033"', '"\\"b\\""'])
    expect(() => splitNames(Buffer.from(`a\n${name}\n`), 'list')).toThrow(`list, line 2: ${name} is a quoted name`);
});
