import type { Field } from '../../api/fields.ts';

/** Thrown inside this folder when a value does not fit its field; the message completes "`name` ...". */
export class ValueError extends Error {
  /** Where inside the value: `[0].login`, or nothing for the value itself. */
  readonly place: string;

  constructor(message: string, place = '') {
    super(message);
    this.place = place;
  }
}

/** The database ends a text at NUL, and writes half of a surrogate pair as another character: neither would come back as it was sent. */
function assertStorable(text: string): void {
  if (text.includes('\0')) throw new ValueError('must not have a NUL character');
  if (/\p{Surrogate}/u.test(text)) throw new ValueError('must not have half of a surrogate pair');
}

/** The same for every text, and every name, inside of a value that has no declared form. */
function assertAllStorable(value: unknown): void {
  if (typeof value === 'string') assertStorable(value);
  else if (Array.isArray(value)) value.forEach(assertAllStorable);
  else if (typeof value === 'object' && value !== null) Object.entries(value).flat().forEach(assertAllStorable);
}

function coerceText(value: unknown, { choices }: Field): string {
  if (typeof value !== 'string') throw new ValueError('must be a string');
  assertStorable(value);
  if (choices !== undefined && !choices.includes(value)) throw new ValueError(`must be one of ${choices.join(', ')}`);
  return value;
}

function coerceNumber(value: unknown): number {
  // Number() takes 0x10, 1e2 and blanks too.
  const number = typeof value === 'string' && /^-?\d{1,15}$/u.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new ValueError('must be a whole number in decimal digits');
  return number;
}

function coerceBoolean(value: unknown, { isExact }: Field): boolean {
  if (value === true || (value === 'true' && isExact !== true)) return true;
  if (value === false || (value === 'false' && isExact !== true)) return false;
  throw new ValueError('must be true or false');
}

/** How values are read. */
export interface Coercion {
  /** True when what an object has beyond its fields is wrong rather than ignored. */
  readonly refusesUnknown?: boolean;
  /** True when a list must be one: a single value is no list of one. */
  readonly refusesSingle?: boolean;
}

/** Lists and objects may come as JSON text, for that is all a query string or a form can carry. */
function parseText(value: unknown, opening: string): unknown {
  if (typeof value !== 'string' || !value.startsWith(opening)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function coerceInner(value: unknown, field: Field, place: string, coercion: Coercion): unknown {
  try {
    return coerceValue(value, field, coercion);
  } catch (error) {
    throw error instanceof ValueError ? new ValueError(error.message, `${place}${error.place}`) : error;
  }
}

/** Most entries of a list: above what any operation can use, and below what one query of the database can name. */
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
 * A value as the kind of its field, whatever the request's encoding made of it: numbers and booleans also from text.
 * @throws {ValueError} when it does not fit.
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
