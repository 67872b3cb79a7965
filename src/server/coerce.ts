import type { Field } from '../api/fields.ts';

/** Thrown inside this folder when a value does not fit its field; the message completes "`name` ...". */
export class ValueError extends Error {
  /** Where inside the value: `[0].login`, or nothing for the value itself. */
  readonly place: string;

  constructor(message: string, place = '') {
    super(message);
    this.place = place;
  }
}

function coerceText(value: unknown, { choices }: Field): string {
  if (typeof value !== 'string') throw new ValueError('must be a string');
  if (choices !== undefined && !choices.includes(value)) throw new ValueError(`must be one of ${choices.join(', ')}`);
  return value;
}

function coerceNumber(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new ValueError('must be a number');
  return number;
}

function coerceBoolean(value: unknown): boolean {
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw new ValueError('must be true or false');
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

function coerceInner(value: unknown, field: Field, place: string, strict: boolean): unknown {
  try {
    return coerceValue(value, field, strict);
  } catch (error) {
    throw error instanceof ValueError ? new ValueError(error.message, `${place}${error.place}`) : error;
  }
}

/** Most entries of a list: above what any operation can use, and below what one query of the database can name. */
const mostEntries = 20_000;

function coerceList(value: unknown, { item }: Field, strict: boolean): unknown[] {
  const parsed = parseText(value, '[');
  const items: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  if (items.length > mostEntries) throw new ValueError(`must have at most ${mostEntries} entries`);
  return item === undefined ? items : items.map((each, index) => coerceInner(each, item, `[${index}]`, strict));
}

function coerceObject(value: unknown, { fields }: Field, strict: boolean): unknown {
  const parsed = parseText(value, '{');
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new ValueError('must be an object');
  if (fields === undefined) return parsed;
  const given = new Map<string, unknown>(Object.entries(parsed));
  const unknown = strict ? [...given.keys()].find((name) => !Object.hasOwn(fields, name)) : undefined;
  if (unknown !== undefined) throw new ValueError('is not a known field', `.${unknown}`);
  const missing = Object.entries(fields).find(([name, field]) => !field.optional && (given.get(name) ?? undefined) === undefined);
  if (missing !== undefined) throw new ValueError('is required', `.${missing[0]}`);
  const present = Object.entries(fields).filter(([name]) => (given.get(name) ?? undefined) !== undefined);
  return Object.fromEntries(present.map(([name, field]) => [name, coerceInner(given.get(name), field, `.${name}`, strict)]));
}

/**
 * A value as the kind of its field, whatever the request's encoding made of it: numbers and booleans also from text.
 * @param strict whether what an object has beyond its fields is wrong rather than ignored
 * @throws {ValueError} when it does not fit.
 */
export function coerceValue(value: unknown, field: Field, strict = false): unknown {
  switch (field.kind) {
    case 'text':
      return coerceText(value, field);
    case 'number':
      return coerceNumber(value);
    case 'boolean':
      return coerceBoolean(value);
    case 'list':
      return coerceList(value, field, strict);
    case 'object':
      return coerceObject(value, field, strict);
    default:
      return value;
  }
}
