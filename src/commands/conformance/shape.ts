import type { Json } from './response.ts';

/** Types of the fields of a record, as the tables of section 2 have them. */
export type Shape = Readonly<Record<string, 'text' | 'number' | 'flag' | 'date' | 'uuid' | 'list' | 'object'>>;

const tests: Readonly<Record<Shape[string], (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  flag: (value) => typeof value === 'boolean',
  date: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  uuid: (value) => typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(value),
  list: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** The first field of a record that is not what it should be; undefined when all are. */
export function findWrongField(record: Json, required: Shape, others: Shape = {}): string | undefined {
  for (const [name, kind] of [...Object.entries(required), ...Object.entries(others)]) {
    const value = record[name];
    if (value === undefined && required[name] === undefined) continue;
    if (!tests[kind](value)) return `${name} is ${JSON.stringify(value) ?? 'absent'}`;
  }
  return undefined;
}
