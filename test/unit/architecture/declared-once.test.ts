import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { storage } from '../../../src/api/storage.ts';

const source = resolve(import.meta.dirname, '../../../src');

/** Steps of a plan have the names of the operations that carry them out; `ping` is a command too. */
const own = /\bdo: '\w+'|\bdo === '\w+'|\bdo !== '\w+'|\bcase '\w+':|name: 'ping'/gu;

test('what code has to know of an operation stands in its declaration: no operation is told by its name', () => {
  const names = [...Object.keys(compute), ...Object.keys(storage)];
  const literal = new RegExp(`'(?:${names.join('|')})'`, 'gu');
  const found = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(source, file), 'utf8').replaceAll(own, '');
      return [...text.matchAll(literal)].map(([name]) => `${file}: ${name}`);
    });
  expect(found).toEqual([]);
});
