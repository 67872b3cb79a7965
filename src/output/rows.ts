import { compareNames } from '../base/order.ts';
import { UsageError } from '../base/errors.ts';
import { columnOf, readField, titleOf } from './field.ts';
import type { Row, Rows, Single } from './kinds.ts';
import { nearest } from '../base/nearest.ts';

/** Number of rows to search for a field before it is reported as unknown. */
const lookAhead = 1000;

export async function collectRows(rows: Rows): Promise<Row[]> {
  if (Array.isArray(rows)) return rows as Row[];
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

/** The names of all fields of some rows, in order of appearance. */
export function listFields(rows: Iterable<Row>): Set<string> {
  const fields = new Set<string>();
  for (const row of rows) for (const field of Object.keys(row)) fields.add(field);
  return fields;
}

/** The names of the fields that an output declares. */
export function listDeclared({ columns = [], fields = [] }: Pick<Single, 'columns' | 'fields'>): string[] {
  return [...columns.map((column) => columnOf(column).key), ...fields];
}

/** The known field that a name refers to: itself, a nested field of a known field, or the heading of a table (`PUBLISHED-AT`). */
export function findField(name: string, known: Iterable<string>): string | undefined {
  const fields = [...known];
  if (fields.includes(name)) return name;
  const [head = ''] = name.split('.');
  if (head !== name && fields.includes(head)) return name;
  return fields.find((field) => titleOf(field) === titleOf(name));
}

/** The error for an unknown field, with the most similar known one. */
export function createUnknownFieldError(option: string, name: string, known: Iterable<string>): UsageError {
  const fields = [...new Set(known)];
  const near = nearest(name, fields);
  const meant = near === undefined ? '' : `; did you mean "${near}"?`;
  const also = option === '--columns' ? ', or all' : '';
  return new UsageError(`${option}: no field "${name}"${meant}`, { hint: `fields: ${fields.join(', ')}${also}` });
}

/** Rows that were read ahead, then the rest; closes the source when reading ends early. */
async function* continueRows(seen: readonly Row[], rest: AsyncIterator<Row> | Iterator<Row>): AsyncGenerator<Row> {
  try {
    yield* seen;
    for (;;) {
      const next = await rest.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/** The fields that `--columns` names, and the rows, some of which were read ahead. */
export interface FoundFields {
  readonly keys: string[];
  readonly rows: Rows;
}

/**
 * Resolves `names` to declared fields and fields of the rows. Reads rows ahead only while a name is unknown. Without any row, all names are
 * accepted.
 * @param onUnknown called for a name that is not a field; the rows can still be read
 * @throws {UsageError} when a name is not a field, unless `onUnknown` is given
 */
export async function findFields(
  names: readonly string[],
  declared: readonly string[],
  rows: Rows,
  onUnknown?: (name: string, known: Iterable<string>) => void,
): Promise<FoundFields> {
  const known = new Set(declared);
  const findUnknown = (): string | undefined => names.find((name) => findField(name, known) === undefined);
  const resolve = (): string[] => [...new Set(names.map((name) => findField(name, known) ?? name))];
  if (findUnknown() === undefined) return { keys: resolve(), rows };

  const source = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  const seen: Row[] = [];
  let missing = findUnknown();
  while (missing !== undefined && seen.length < lookAhead) {
    const next = await source.next();
    if (next.done === true) break;
    seen.push(next.value);
    for (const field of Object.keys(next.value)) known.add(field);
    missing = findUnknown();
  }
  if (missing !== undefined && seen.length > 0) {
    if (onUnknown === undefined) {
      await source.return?.();
      throw createUnknownFieldError('--columns', missing, known);
    }
    onUnknown(missing, known);
  }
  return { keys: resolve(), rows: continueRows(seen, source) };
}

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number' || typeof b === 'number') return typeof a === 'number' ? -1 : 1;
  return compareNames(toText(a), toText(b));
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

interface SortKey {
  readonly name: string;
  readonly descending: boolean;
}

function parseSortKey(text: string): SortKey {
  return text.startsWith('-') ? { name: text.slice(1), descending: true } : { name: text, descending: false };
}

/** @throws {UsageError} for a name in `--columns` or `--sort` that is not a known field */
export function assertFields(columns: readonly string[], sort: readonly string[], known: readonly string[]): void {
  const isUnknown = (name: string): boolean => findField(name, known) === undefined;
  const column = columns.find(isUnknown);
  if (column !== undefined) throw createUnknownFieldError('--columns', column, known);
  const key = sort.map((each) => parseSortKey(each).name).find(isUnknown);
  if (key !== undefined) throw createUnknownFieldError('--sort', key, known);
}

function compareRows(a: Row, b: Row, keys: readonly SortKey[]): number {
  for (const { name, descending } of keys) {
    const left = readField(a, name) ?? undefined;
    const right = readField(b, name) ?? undefined;
    if (left === undefined || right === undefined) {
      if (left !== right) return left === undefined ? 1 : -1;
      continue;
    }
    const order = compareValues(left, right);
    if (order !== 0) return descending ? -order : order;
  }
  return 0;
}

/**
 * Sorts rows for `--sort`: numbers by value and before text, text by code point, rows without the field last in either direction. The sort
 * is stable.
 * @throws {UsageError} for a field that is neither declared nor in any row.
 */
export async function sortRows(rows: Rows, sort: readonly string[], declared: readonly string[]): Promise<Row[]> {
  const all = [...(await collectRows(rows))];
  const known = new Set([...declared, ...listFields(all)]);
  const keys = sort.map(parseSortKey).map(({ name, descending }) => {
    const field = findField(name, known);
    if (field === undefined && all.length > 0) throw createUnknownFieldError('--sort', name, known);
    return { name: field ?? name, descending };
  });
  return all.sort((a, b) => compareRows(a, b, keys));
}
