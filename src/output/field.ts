import { escapeControl } from './escape.ts';
import type { Column, ColumnSpec, Row } from './kinds.ts';

/** The value at a key: a field of that very name, else `error.code` step by step; undefined where there is none. */
export function readField(row: Row, key: string): unknown {
  if (Object.hasOwn(row, key)) return (row as Record<string, unknown>)[key];
  if (!key.includes('.')) return undefined;
  let value: unknown = row;
  for (const step of key.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

/** What most keys are. */
const oneWord = /^[a-z]+$/;

/** The heading of a key: words in upper case, joined by `-` so that each heading is one word to awk. */
export function titleOf(key: string): string {
  if (oneWord.test(key)) return key.toUpperCase();
  const words = key.replaceAll(/([a-z\d])([A-Z])/g, '$1-$2').replaceAll(/[\s._]+/g, '-');
  return escapeControl(words.toUpperCase());
}

/** Fields of the services that are moments, wherever they are shown. */
const moments = new Set([
  'created',
  'updated',
  'published_at',
  'mtime',
  'timeCreated',
  'timeDone',
  'timeArchiveStarted',
  'timeArchiveDone',
  'startedAt',
  'expires',
]);

/** A column as a record. */
export function columnOf(spec: ColumnSpec): Column {
  const column = typeof spec === 'string' ? { key: spec } : spec;
  return column.as === undefined && moments.has(column.key) ? { ...column, as: 'time' } : column;
}

/** A row with only some of its fields, in their order, under the names they were asked by; absent ones stay absent. */
export function pickFields(row: Row, keys: readonly string[]): Row {
  const picked: [string, unknown][] = [];
  for (const key of keys) {
    const value = readField(row, key);
    if (value !== undefined) picked.push([key, value]);
  }
  return Object.fromEntries(picked);
}
