import { isRecord } from '../../base/is-record.ts';
import type { Json } from './response.ts';

/** Types of the fields of a record, as in the tables of section 2. */
export type Shape = Readonly<Record<string, 'text' | 'number' | 'flag' | 'date' | 'uuid' | 'list' | 'object'>>;

const tests: Readonly<Record<Shape[string], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  uuid: (value) => typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(value),
  list: Array.isArray,
  object: isRecord,
};

/** Returns the first field whose type is wrong, and its value; undefined when all are right. */
export function findWrongField(record: Json, required: Shape, others: Shape = {}): string | undefined {
  for (const [name, kind] of [...Object.entries(required), ...Object.entries(others)]) {
    const value = record[name];
    if (value === undefined && required[name] === undefined) continue;
    if (!tests[kind](value)) return `${name} is ${JSON.stringify(value) ?? 'absent'}`;
  }
  return undefined;
}
