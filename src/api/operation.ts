import type { Field, Fields, Infer } from './fields.ts';
import type { Body, ByteStream, Headers } from './message.ts';

/** The two services of a cloud. */
export type ServiceName = 'compute' | 'storage';

/** What distinguishes operations that share a method and a path. */
export interface Condition {
  /** Query parameters that must have these values. */
  readonly query?: Readonly<Record<string, string>>;
  /** The `type` parameter of the request's content type: `application/json; type=directory` has `directory`. */
  readonly contentType?: string;
  /** What the path names in the store: the same `GET` is a listing or an object. */
  readonly entry?: 'directory' | 'object';
  /** A path input that must look like a UUID. */
  readonly uuid?: string;
}

export type BodyKind = 'json' | 'bytes' | 'lines' | 'none';
export type ResultKind = 'json' | 'empty' | 'records' | 'lines' | 'bytes';

/** One path segment: literal text, the name of an input, or the rest of the path. */
export interface Segment {
  readonly kind: 'literal' | 'input' | 'rest';
  readonly text: string;
}

/** A streamed list together with the reply's headers. */
export interface Listing<T> {
  headers: Headers;
  records: AsyncIterable<T>;
}

/** A stream of bytes together with the reply's status (200 or 206) and headers. */
export interface Download {
  status: number;
  headers: Headers;
  body: ByteStream;
}

/**
 * One operation of a service, declared once. The client, the service's router and validation, help, completion,
 * policy actions and the contract tests read this record. `I` and `R` are the types of its input and its result.
 */
export interface Operation<I = unknown, R = unknown> {
  readonly service: ServiceName;
  /** Name in the specification's spelling with a small first letter: `listKeys`. */
  readonly name: string;
  /** The word policies use: the name in lower case. */
  readonly action: string;
  readonly summary: string;
  readonly method: string;
  /** As declared: `/:account/keys/:key`. */
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly when: Condition;
  readonly fields: Fields;
  readonly body: BodyKind;
  /** True when the request may carry headers that the service stores with the object. */
  readonly storesHeaders: boolean;
  /** Status of success. */
  readonly status: number;
  readonly result: ResultKind;
  /** What the JSON of a reply, or each record of a listing, consists of. */
  readonly shape?: Field;
  /** True when sending the request twice has the effect of sending it once. */
  readonly idempotent: boolean;
  readonly _input?: I;
  readonly _result?: R;
}

export type Operations = Readonly<Record<string, Operation>>;
export type InputOf<O> = O extends Operation<infer I, unknown> ? I : never;
export type ResultOf<O> = O extends Operation<unknown, infer R> ? R : never;

type Inputs<Path extends string> = Path extends `${infer Head}?${string}`
  ? Inputs<Head>
  : Path extends `${infer First}/${infer Rest}`
    ? Inputs<First> | Inputs<Rest>
    : Path extends `:${infer Name}` | `*${infer Name}`
      ? Name
      : never;
type PathOf<Route extends string> = Route extends `${string} ${infer Path}` ? Path : never;

interface Spec<F extends Fields> {
  summary: string;
  fields?: F;
  status?: number;
  when?: Condition;
  body?: BodyKind;
  storesHeaders?: boolean;
  /** Only for a POST that may safely be repeated; the other methods are idempotent by definition. */
  idempotent?: boolean;
}

type BodyInput<S> = S extends { body: 'bytes' }
  ? {
      body: Body;
      /** Bytes in the body, when known; otherwise it is sent chunked. */ length?: number | undefined;
    }
  : S extends { body: 'lines' }
    ? { body: Body }
    : unknown;
type HeadersInput<S> = S extends { storesHeaders: true } ? { headers?: Headers | undefined } : unknown;
type Input<R extends string, F extends Fields, S> = { [K in Inputs<PathOf<R>>]: string } & Infer<F> & BodyInput<S> & HeadersInput<S>;

interface Builder<I> {
  /** The reply is JSON of this shape. */
  returning<T>(shape: Field<T>): Operation<I, T>;
  /** The reply has no body; its headers are the result. */
  answering(): Operation<I, Headers>;
  /** The reply is a stream of JSON records, one a line. */
  listing<T>(shape: Field<T>): Operation<I, Listing<T>>;
  /** The reply is a stream of text lines. */
  lines(): Operation<I, Listing<string>>;
  /** The reply is bytes. */
  bytes(): Operation<I, Download>;
}

function parseSegment(part: string): Segment {
  if (part.startsWith(':')) return { kind: 'input', text: part.slice(1) };
  if (part.startsWith('*')) return { kind: 'rest', text: part.slice(1) };
  return { kind: 'literal', text: part };
}

/** The parameters of a route: plain words, so that nothing is loaded to read them. */
function parseQuery(search: string): Record<string, string> {
  return Object.fromEntries(search.split('&').map((pair) => pair.split('=')));
}

/** An operation as it is declared. A class, because there are many: each takes a quarter of the memory of an object with an accessor of its own. */
class Declared implements Operation {
  readonly service = 'compute';
  readonly name = '';
  readonly action = '';
  readonly summary: string;
  readonly method: string;
  readonly path: string;
  readonly when: Condition;
  readonly fields: Fields;
  readonly body: BodyKind;
  readonly storesHeaders: boolean;
  readonly status: number;
  readonly idempotent: boolean;
  readonly result: ResultKind;
  declare readonly shape?: Field;
  #segments: readonly Segment[] | undefined;

  /** @param route such as `POST /:account/images/:id?action=clone` */
  constructor(route: string, spec: Spec<Fields>, result: ResultKind, status: number, shape?: Field) {
    const space = route.indexOf(' ');
    const mark = route.indexOf('?');
    this.summary = spec.summary;
    this.method = route.slice(0, space);
    this.path = mark < 0 ? route.slice(space + 1) : route.slice(space + 1, mark);
    this.when = mark < 0 ? (spec.when ?? {}) : { ...spec.when, query: parseQuery(route.slice(mark + 1)) };
    this.fields = spec.fields ?? {};
    this.body = spec.body ?? (this.method === 'GET' || this.method === 'DELETE' ? 'none' : 'json');
    this.storesHeaders = spec.storesHeaders ?? false;
    this.status = spec.status ?? status;
    this.idempotent = spec.idempotent ?? this.method !== 'POST';
    this.result = result;
    if (shape !== undefined) this.shape = shape;
  }

  /** Taken apart when it is asked for: a command uses one operation or two of all that are declared. */
  get segments(): readonly Segment[] {
    return (this.#segments ??= this.path.split('/').slice(1).map(parseSegment));
  }
}

/** Declares an operation by its route and what it takes; the builder's last call says what it answers. */
export function operation<const R extends string, const S extends Spec<Fields>>(
  route: R,
  spec: S,
): Builder<Input<R, S extends { fields: infer F extends Fields } ? F : Record<never, never>, S>> {
  const finish = <T>(result: ResultKind, status: number, shape?: Field): Operation<never, T> =>
    new Declared(route, spec, result, status, shape) as Operation as Operation<never, T>;
  return {
    returning: <T>(shape: Field<T>) => finish<T>('json', 200, shape),
    answering: () => finish<Headers>('empty', 204),
    listing: <T>(shape: Field<T>) => finish<Listing<T>>('records', 200, shape),
    lines: () => finish<Listing<string>>('lines', 200),
    bytes: () => finish<Download>('bytes', 200),
  };
}

/** A service's table of operations: gives each its name, its policy action and its service. */
export function operations<const T extends Operations>(service: ServiceName, table: T): T {
  for (const [name, declared] of Object.entries(table)) Object.assign(declared, { service, name, action: name.toLowerCase() });
  return table;
}

/** Where a request carries a field of this operation. */
export function placeOf(declared: Operation, field: Field): 'query' | 'header' | 'body' {
  return field.place ?? (declared.body === 'json' ? 'body' : 'query');
}
