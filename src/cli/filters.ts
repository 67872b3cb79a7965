import type { Field } from '../api/fields.ts';
import type { Operation } from '../api/operation.ts';
import { negatable, number, text, type Option, type Options } from './parameters.ts';

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

/** An option for each optional input of a list operation: `flexible_disk` becomes `--flexible-disk`. */
export type Filters<I> = {
  readonly [K in keyof I & string as undefined extends I[K] ? Camel<K> : never]: Option<I[K]>;
};

const toCamel = (name: string): string => name.replaceAll(/_(\w)/gu, (_, letter: string) => letter.toUpperCase());

function toOption({ kind, help }: Field): Option {
  // Acronyms keep their capitals.
  const filterHelp = `Filter by ${help.replace(/^[A-Z](?=[a-z])/u, (letter) => letter.toLowerCase())}`;
  if (kind === 'boolean') return negatable(filterHelp);
  return kind === 'number' ? number(filterHelp) : text(filterHelp, { mayBeEmpty: true });
}

/** Options of a list command: the fields by which its operation filters, with their help. */
export function filtersOf<I>({ fields }: Operation<I, unknown>): Filters<I> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [toCamel(name), toOption(field)])) as Options as Filters<I>;
}

/** The filters that were given, by the names of the operation's fields; undefined values are omitted. */
export function readFilters<I>({ fields }: Operation<I, unknown>, values: Readonly<Record<string, unknown>>): Partial<I> {
  const given = Object.keys(fields).map((name) => [name, values[toCamel(name)]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Partial<I>;
}
