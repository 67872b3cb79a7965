import type { Field } from '../api/fields.ts';
import { NetworkError } from '../base/errors.ts';
import { isRecord } from '../base/is-record.ts';

/** Compares responses field by field with their declarations, before anything uses them. */

/** Half of a surrogate pair, which neither requests nor file names can contain. */
const loneSurrogate = /[\ud800-\udfff]/u;

const expected: Readonly<Record<Field['kind'], string>> = {
  text: 'text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  object: 'an object',
  any: 'anything',
};

function describe(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return loneSurrogate.test(value) ? 'text with half a surrogate pair' : 'text';
  if (typeof value === 'number') return Number.isFinite(value) ? 'a number' : 'an infinite number';
  return typeof value === 'boolean' ? String(value) : 'an object';
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && !loneSurrogate.test(value);
}

/** Where and how a value differs from its declaration. */
interface Mismatch {
  /** Path to the value: `[3].rules[0]`. */
  readonly place: string;
  readonly value: unknown;
  readonly field: Field;
}

function findInList(values: readonly unknown[], item: Field): Mismatch | undefined {
  for (const [at, value] of values.entries()) {
    const found = findMismatch(value, item);
    if (found) return { ...found, place: `[${at}]${found.place}` };
  }
  return undefined;
}

function findInObject(record: Record<string, unknown>, fields: NonNullable<Field['fields']>): Mismatch | undefined {
  for (const name in fields) {
    const field = fields[name];
    if (field === undefined) continue;
    const value = Object.hasOwn(record, name) ? record[name] : undefined;
    if (field.optional && (value === undefined || value === null)) continue;
    const found = findMismatch(value, field);
    if (found) return { ...found, place: `.${name}${found.place}` };
  }
  return undefined;
}

function findMismatch(value: unknown, field: Field): Mismatch | undefined {
  const { kind, item, fields, orText } = field;
  if (orText === true && isText(value)) return undefined;
  if (
    kind === 'text'
      ? isText(value)
      : kind === 'number'
        ? Number.isFinite(value)
        : kind === 'boolean'
          ? typeof value === kind
          : kind === 'any'
  ) {
    return undefined;
  }
  if (kind === 'list' && Array.isArray(value)) return item && findInList(value, item);
  if (kind === 'object' && isRecord(value)) return fields && findInObject(value, fields);
  return { place: '', value, field };
}

/**
 * A declaration prepared for comparisons. All plans have the same properties in the same order, and records are compared by the fields that
 * they have: comparing by all declared fields took 5% of the time of a listing of 100 images.
 */
interface Plan {
  readonly kind: Field['kind'];
  readonly optional: boolean;
  readonly orText: boolean;
  readonly item: Plan | undefined;
  /** Of an object with declared fields. */
  readonly members: ReadonlyMap<string, Plan> | undefined;
  /** Number of required fields. */
  readonly required: number;
}

const plans = new WeakMap<Field, Plan>();

function planOf(field: Field): Plan {
  const known = plans.get(field);
  if (known) return known;
  const { kind, optional, orText, item, fields } = field;
  const members = fields && new Map(Object.entries(fields).map(([name, member]) => [name, planOf(member)]));
  const required = members ? [...members.values()].filter((member) => !member.optional).length : 0;
  const plan: Plan = { kind, optional, orText: orText === true, item: item && planOf(item), members, required };
  plans.set(field, plan);
  return plan;
}

/** Null for an optional field means absent: it is removed, as readers of the record expect. Undeclared fields are ignored. */
function fitsMembers(record: Record<string, unknown>, members: ReadonlyMap<string, Plan>, required: number): boolean {
  let missing = required;
  // Objects made by `JSON.parse` have only own fields.
  for (const name in record) {
    const plan = members.get(name);
    if (plan === undefined) continue;
    const value = record[name];
    if (!plan.optional) missing -= 1;
    else if (value === null) {
      delete record[name];
      continue;
    }
    if (!fits(value, plan)) return false;
  }
  return missing === 0;
}

function fits(value: unknown, plan: Plan): boolean {
  const { kind } = plan;
  if (typeof value === 'string') return kind === 'any' || ((kind === 'text' || plan.orText) && isText(value));
  if (kind === 'list') return Array.isArray(value) && (plan.item === undefined || value.every((item) => fits(item, plan.item as Plan)));
  if (kind === 'object') return isRecord(value) && (plan.members === undefined || fitsMembers(value, plan.members, plan.required));
  return kind === 'number' ? Number.isFinite(value) : kind === 'boolean' ? typeof value === 'boolean' : kind === 'any';
}

/**
 * Checks that a value has its declared shape and returns it.
 * @param sender for messages
 * @throws {NetworkError} `UnreadableReply`, naming the first mismatch
 */
export function checkShape<T = unknown>(value: unknown, shape: Field<T> | undefined, sender: string, hint?: string): T {
  if (shape === undefined || fits(value, planOf(shape))) return value as T;
  const found = findMismatch(value, shape) ?? { place: '', value, field: shape };
  const place = found.place === '' ? '' : ` (${found.place.replace(/^\./, '')})`;
  throw new NetworkError(`${sender} sent ${describe(found.value)} instead of ${expected[found.field.kind]}${place}`, {
    code: 'UnreadableReply',
    hint,
  });
}
