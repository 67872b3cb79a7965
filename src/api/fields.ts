/** Fields as data: the inputs of operations and the structure of resources. The TypeScript types are derived from them. */

export type Kind = 'text' | 'number' | 'boolean' | 'list' | 'object' | 'any';

/** One field. `_type` is never set: it carries the TypeScript type of the field's value. */
export interface Field<T = unknown> {
  readonly kind: Kind;
  /** One sentence for `--help`, the manual and error messages. */
  readonly help: string;
  readonly optional: boolean;
  /** The part of a request that carries the field, if it differs from that of the operation's other fields. */
  readonly place?: 'query' | 'header';
  /** Header name in lower case, for `place: 'header'`. */
  readonly header?: string;
  /** Type of a list's items. */
  readonly item?: Field;
  /** Fields of an object; absent for an object with arbitrary keys. */
  readonly fields?: Fields;
  readonly choices?: readonly string[];
  /** The service rejects unknown properties and text for booleans, which it accepts elsewhere: a typo would grant or withhold rights. */
  readonly isExact?: true;
  /** Services may also return text here, as those of an earlier API version do. */
  readonly orText?: true;
  readonly _type?: T;
}

/** An optional field; a type of its own so that the derived input type omits it. */
export interface OptionalField<T = unknown> extends Field<T> {
  readonly optional: true;
}

export type Fields = Readonly<Record<string, Field>>;

export type TypeOf<F> = F extends { readonly _type?: infer T } ? Exclude<T, undefined> : never;
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K] extends OptionalField ? K : never }[keyof F];
type Flatten<T> = { [K in keyof T]: T[K] };

export type Infer<F extends Fields> = Flatten<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: TypeOf<F[K]> } & { [K in OptionalKeys<F>]?: TypeOf<F[K]> | undefined }
>;

function field<T>(kind: Kind, help: string, rest: Partial<Omit<Field, '_type'>> = {}): Field<T> {
  return { kind, help, optional: false, ...rest };
}

export const text = (help: string): Field<string> => field('text', help);
export const number = (help: string): Field<number> => field('number', help);
export const boolean = (help: string): Field<boolean> => field('boolean', help);
/** A list; of strings if no item type is passed. */
export function list(help: string): Field<string[]>;
export function list<T>(help: string, item: Field<T>): Field<T[]>;
export function list(help: string, item: Field = text('')): Field<unknown[]> {
  return field('list', help, { item });
}
/** An object with known fields. */
export const object = <F extends Fields>(help: string, fields: F): Field<Infer<F>> => field('object', help, { fields });
/** An object with more fields: those that commands add to what a service returns. */
export const extend = <T, F extends Fields>({ help, fields }: Field<T>, more: F): Field<T & Infer<F>> =>
  field('object', help, { fields: { ...fields, ...more } });
/** An object with arbitrary keys. */
export const map = (help: string): Field<Record<string, unknown>> => field('object', help);
/** An object or a boolean for which the service accepts only the declared type and properties. */
export const exactly = <T>(declared: Field<T>): Field<T> => ({ ...declared, isExact: true });

/** A string that must be one of `choices`. */
export const choice = <const C extends readonly string[]>(help: string, choices: C): Field<C[number]> => field('text', help, { choices });
/** Any JSON value. */
export const any = (help: string): Field<unknown> => field('any', help);

export const optional = <T>(inner: Field<T>): OptionalField<T> => ({ ...inner, optional: true });
/** A field of results that may also be text; its readers handle both types. */
export const orText = <T>(inner: Field<T>): Field<T> => ({ ...inner, orText: true });
/** A field that is sent in the query string although its operation has a body. */
export const query = <T>(inner: Field<T>): Field<T> => ({ ...inner, place: 'query' });
/** An optional input that is sent as the request header `name`. */
export const header = (name: string, help: string): OptionalField<string> => ({
  ...optional(text(help)),
  place: 'header',
  header: name,
});
