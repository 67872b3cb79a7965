import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { records, type Format } from '../../src/output/kinds.ts';
import { render } from '../../src/output/render.ts';
import { createCapture, optionsOf } from '../unit/output/capture.ts';

const folder = fileURLToPath(new URL('../../src/output', import.meta.url));
const columns = ['name', { key: 'size', as: 'size' }, { key: 'mtime', as: 'time' }, 'type', 'etag'] as const;

async function* produce(count: number): AsyncGenerator<object> {
  for (let index = 0; index < count; index++) {
    yield { name: `object-${index}`, size: index * 1000, mtime: '2026-03-07T11:00:00.000Z', type: 'object', etag: 'b1946ac92492d234' };
  }
}

async function time(format: Format, count: number): Promise<number> {
  const out = createCapture();
  const started = performance.now();
  await render(records(produce(count), { columns, id: 'name' }), optionsOf(format), out);
  expect(out.text().length).toBeGreaterThan(count);
  return performance.now() - started;
}

test.each(['table', 'jsonl', 'json', 'csv', 'tsv', 'name'] as const)('time grows with the number of rows, as %s', async (format) => {
  await time(format, 5000);
  const few = Math.max(5, await time(format, 20_000));
  const many = Math.min(await time(format, 80_000), await time(format, 80_000));
  expect(many / few).toBeLessThan(8);
});

test('outside packages are imported when they are needed, never at the start', async () => {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.ts'));
  const sources = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  expect(sources.flatMap((source) => source.match(/^(?:import|export) (?!type ).* from '(?!\.|node:).*';$/gm) ?? [])).toEqual([]);
});
