import { escapeControl } from './escape.ts';
import type { Column, ColumnSpec, Row } from './kinds.ts';

/** The value of a key: the field of that exact name, else of the path (`error.code`); undefined if there is none. */
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

/** The form of most keys. */
const oneWord = /^[a-z]+$/;

/** The heading of a key: in upper case, words joined by `-` so that each heading is one word to awk. */
export function titleOf(key: string): string {
  if (oneWord.test(key)) return key.toUpperCase();
  const words = key.replaceAll(/([a-z\d])([A-Z])/g, '$1-$2').replaceAll(/[\s._]+/g, '-');
  return escapeControl(words.toUpperCase());
}

/** Fields of the services that contain times. */
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

/** Normalizes a column; adds the kind `time` for known fields. */
export function columnOf(spec: ColumnSpec): Column {
  const column = typeof spec === 'string' ? { key: spec } : spec;
  return column.as === undefined && moments.has(column.key) ? { ...column, as: 'time' } : column;
}

/** A row with only the fields `keys`, in that order; missing ones stay missing. */
export function pickFields(row: Row, keys: readonly string[]): Row {
  const picked: [string, unknown][] = [];
  for (const key of keys) {
    const value = readField(row, key);
    if (value !== undefined) picked.push([key, value]);
  }
  return Object.fromEntries(picked);
}
