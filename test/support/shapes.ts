import type { Field, Fields } from '../../src/api/fields.ts';

/** Values that fit declarations, and values that do not, made from the declarations themselves. */

/** A value of another kind than each field is of. */
const kinds: Readonly<Record<string, unknown>> = {
  text: 'text',
  number: 7,
  boolean: true,
  list: [[]],
  object: { deeper: {} },
  null: null,
  nothing: undefined,
  'half a character': '\ud800',
};

/** A value that fits a declaration. */
export function sampleOf({ kind, item, fields, choices }: Field): unknown {
  if (kind === 'list') return [sampleOf(item ?? { kind: 'text', help: '', optional: false })];
  if (kind === 'object') return Object.fromEntries(Object.entries(fields ?? {}).map(([name, field]) => [name, sampleOf(field)]));
  return kind === 'text' ? (choices?.[0] ?? 'text') : (kinds[kind] ?? 'anything');
}

/** A way to a value inside of another, and the declaration of what is there. */
export interface Place {
  readonly path: readonly (string | number)[];
  readonly field: Field;
}

/** Every place in a value of this declaration, itself among them. */
export function listPlaces(field: Field, path: Place['path'] = []): Place[] {
  const inner: [string | number, Field][] =
    field.kind === 'list' && field.item ? [[0, field.item]] : Object.entries((field.fields ?? {}) satisfies Fields);
  return [{ path, field }, ...inner.flatMap(([step, each]) => listPlaces(each, [...path, step]))];
}

/** What does not fit a declaration, by name. */
export function listWrong({ kind, optional, orText }: Field): [string, unknown][] {
  const right = new Set<string>([kind, ...(optional ? ['null', 'nothing'] : []), ...(orText === true ? ['text'] : [])]);
  return kind === 'any' ? [] : Object.entries(kinds).filter(([name]) => !right.has(name));
}

/** The same value with another one at a place. */
export function replaceAt(value: unknown, [step, ...rest]: Place['path'], by: unknown): unknown {
  if (step === undefined) return by;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[step] = replaceAt(copy[step], rest, by);
  return copy;
}
