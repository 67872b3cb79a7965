import type { Field } from '../../api/fields.ts';
import { quietly } from '../../base/errors.ts';

/** Thrown inside this folder when a value does not fit its field. The message continues "`name` ...". */
export class ValueError extends Error {
  /** Position inside the value: `[0].login`; empty for the value itself. */
  readonly place: string;

  constructor(message: string, place = '') {
    super(message);
    this.place = place;
  }
}

/** The database ends a text at NUL and replaces half of a surrogate pair: neither could be read back as it was sent. */
function assertStorable(text: string): void {
  if (text.includes('\0')) throw new ValueError('must not contain a NUL character');
  if (/\p{Surrogate}/u.test(text)) throw new ValueError('must not contain a lone surrogate');
}

/** Maximum number of lists and objects inside each other, in a value that has no declared fields; 10,000 would exhaust the stack. */
const mostLevels = 100;

/** The same check for every string and every name inside a value that has no declared fields. */
function assertAllStorable(value: unknown, levels = mostLevels): void {
  if (typeof value === 'string') assertStorable(value);
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw new ValueError(`must not have more than ${mostLevels} levels of lists and objects`);
  for (const inner of Array.isArray(value) ? value : Object.entries(value).flat()) assertAllStorable(inner, levels - 1);
}

function coerceText(value: unknown, { choices }: Field): string {
  if (typeof value !== 'string') throw new ValueError('must be a string');
  assertStorable(value);
  if (choices !== undefined && !choices.includes(value)) throw new ValueError(`must be one of ${choices.join(', ')}`);
  return value;
}

function coerceNumber(value: unknown): number {
  // Number() also accepts 0x10, 1e2 and blanks.
  const number = typeof value === 'string' && /^-?\d{1,15}$/u.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new ValueError('must be a whole number in decimal digits');
  return number;
}

function coerceBoolean(value: unknown, { isExact }: Field): boolean {
  if (value === true || (value === 'true' && isExact !== true)) return true;
  if (value === false || (value === 'false' && isExact !== true)) return false;
  throw new ValueError('must be true or false');
}

/** Options for reading values. */
export interface Coercion {
  /** True if unknown fields of an object are an error rather than ignored. */
  readonly refusesUnknown?: boolean;
  /** True if a single value is not accepted as a list with one entry. */
  readonly refusesSingle?: boolean;
}

/** Lists and objects may be sent as JSON text, because query strings and forms can carry only text. */
function parseText(value: unknown, opening: string): unknown {
  if (typeof value !== 'string' || !value.startsWith(opening)) return value;
  return quietly<unknown>(() => JSON.parse(value), value);
}

function coerceInner(value: unknown, field: Field, place: string, coercion: Coercion): unknown {
  try {
    return coerceValue(value, field, coercion);
  } catch (error) {
    throw error instanceof ValueError ? new ValueError(error.message, `${place}${error.place}`) : error;
  }
}

/** Maximum number of list entries: more than any operation can use, and less than one query of the database accepts. */
const mostEntries = 20_000;

function coerceList(value: unknown, { item }: Field, coercion: Coercion): unknown[] {
  const parsed = parseText(value, '[');
  if (coercion.refusesSingle === true && !Array.isArray(parsed)) throw new ValueError('must be an array');
  const items: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (items.length > mostEntries) throw new ValueError(`must have at most ${mostEntries} entries`);
  return item === undefined ? items : items.map((each, index) => coerceInner(each, item, `[${index}]`, coercion));
}

function coerceObject(value: unknown, { fields, isExact }: Field, coercion: Coercion): unknown {
  const parsed = parseText(value, '{');
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new ValueError('must be an object');
  if (fields === undefined) {
    assertAllStorable(parsed);
    return parsed;
  }
  const given = new Map<string, unknown>(Object.entries(parsed));
  const unknown =
    coercion.refusesUnknown === true || isExact === true ? [...given.keys()].find((name) => !Object.hasOwn(fields, name)) : undefined;
  if (unknown !== undefined) throw new ValueError('is not a known field', `.${unknown}`);
  const missing = Object.entries(fields).find(([name, field]) => !field.optional && (given.get(name) ?? undefined) === undefined);
  if (missing !== undefined) throw new ValueError('is required', `.${missing[0]}`);
  const present = Object.entries(fields).filter(([name]) => (given.get(name) ?? undefined) !== undefined);
  return Object.fromEntries(present.map(([name, field]) => [name, coerceInner(given.get(name), field, `.${name}`, coercion)]));
}

/**
 * Converts a value to the kind of its field, however the request encoded it: numbers and booleans are also read from text.
 * @throws {ValueError} when the value does not fit
 */
export function coerceValue(value: unknown, field: Field, coercion: Coercion = {}): unknown {
  switch (field.kind) {
    case 'text':
      return coerceText(value, field);
    case 'number':
      return coerceNumber(value);
    case 'boolean':
      return coerceBoolean(value, field);
    case 'list':
      return coerceList(value, field, coercion);
    case 'object':
      return coerceObject(value, field, coercion);
    default:
      assertAllStorable(value);
      return value;
  }
}
