import { expect, test } from 'vitest';
import { NetworkError, PartialError } from '../../../src/base/errors.ts';
import { records, type Format } from '../../../src/output/kinds.ts';
import { render } from '../../../src/output/render.ts';
import { createCapture, optionsOf } from './capture.ts';

/** What is written of rows that end with a failure. */
async function write(format: Format, count: number, failure: Error): Promise<string> {
  async function* rows(): AsyncGenerator<object> {
    for (let at = 0; at < count; at += 1) yield { name: `n${at}` };
    await Promise.reject(failure);
  }
  const out = createCapture();
  await expect(render(records(rows(), { columns: ['name'], id: 'name' }), optionsOf(format), out)).rejects.toBe(failure);
  return out.text();
}

const partial = new PartialError('1 of 3 failed');
const cut = new NetworkError('cut');

test('a table has the rows that came before a failure, and no header alone', async () => {
  expect(await write('table', 2, cut)).toBe('NAME\nn0\nn1\n');
  expect(await write('table', 0, cut)).toBe('');
});

test('JSON is whole when some items failed, and visibly not when rows are missing', async () => {
  expect(await write('json', 2, partial)).toBe('[{"name":"n0"},{"name":"n1"}]\n');
  expect(await write('json', 0, partial)).toBe('[]\n');
  expect(await write('json', 2, cut)).toBe('[{"name":"n0"},{"name":"n1"}');
});
