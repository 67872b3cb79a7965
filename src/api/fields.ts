/** Fields as data: what an operation takes and what a resource consists of. The TypeScript types are derived from them. */

export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'object' | 'any';

/** One field. `_type` is never set: it carries the TypeScript type of the field's value. */
export interface Field<T = unknown> {
  readonly kind: Kind;
  /** One sentence for people: in `--help`, the manual and error messages. */
  readonly help: string;
  readonly optional: boolean;
  /** Where a request carries the field when it is not where its operation puts the others. */
  readonly place?: 'query' | 'header';
  /** The header's name in lower case, for `place: 'header'`. */
  readonly header?: string;
  /** What a list consists of. */
  readonly item?: Field;
  /** What an object consists of; absent for an object with free keys. */
  readonly fields?: Fields;
  readonly choices?: readonly string[];
  /** The service refuses properties beyond `fields`, and a text for a boolean, where it otherwise ignores and converts: a misspelling would grant or withhold rights. */
  readonly isExact?: true;
  /** Services also answer text here: those of an earlier version of the API do. */
  readonly orText?: true;
  readonly _type?: T;
}

/** An optional field; its own type so that the derived input type leaves it out. */
export interface OptionalField<T = unknown> extends Field<T> {
  readonly optional: true;
}

export type Fields = Readonly<Record<string, Field>>;

type TypeOf<F> = F extends { readonly _type?: infer T } ? Exclude<T, undefined> : never;
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends OptionalField ? K : never }[keyof F];
type Flatten<T> = { [K in keyof T]: T[K] };

/** The TypeScript type of an object with these fields. */
export type Infer<F extends Fields> = Flatten<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: TypeOf<F[K]> } & { [K in OptionalKeys<F>]?: TypeOf<F[K]> | undefined }
>;

function field<T>(kind: Kind, help: string, rest: Partial<Omit<Field, '_type'>> = {}): Field<T> {
  return { kind, help, optional: false, ...rest };
}

export const text = (help: string): Field<string> => field('text', help);
export const number = (help: string): Field<number> => field('number', help);
export const boolean = (help: string): Field<boolean> => field('boolean', help);
/** A list; of strings unless an item is given. */
export function list(help: string): Field<string[]>;
export function list<T>(help: string, item: Field<T>): Field<T[]>;
export function list(help: string, item: Field = text('')): Field<unknown[]> {
  return field('list', help, { item });
}
/** An object with known fields. */
export const object = <F extends Fields>(help: string, fields: F): Field<Infer<F>> => field('object', help, { fields });
/** An object with free keys. */
export const map = (help: string): Field<Record<string, unknown>> => field('object', help);
/** An object or a boolean that the service takes as declared only. */
export const exactly = <T>(declared: Field<T>): Field<T> => ({ ...declared, isExact: true });

/** A string that is one of a few words. */
export const choice = <const C extends readonly string[]>(help: string, choices: C): Field<C[number]> => field('text', help, { choices });
/** Any JSON value. */
export const any = (help: string): Field<unknown> => field('any', help);

export const optional = <T>(inner: Field<T>): OptionalField<T> => ({ ...inner, optional: true });
/** A field of results for which services may answer text: whoever reads it knows both. */
export const orText = <T>(inner: Field<T>): Field<T> => ({ ...inner, orText: true });
/** A field that travels in the query string although its operation has a body. */
export const query = <T>(inner: Field<T>): Field<T> => ({ ...inner, place: 'query' });
/** An optional input that travels as the request header `name`. */
export const header = (name: string, help: string): OptionalField<string> => ({
  ...optional(text(help)),
  place: 'header',
  header: name,
});
