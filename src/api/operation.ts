import type { Field, Fields, Infer } from './fields.ts';
import type { Body, Headers, HttpResponse } from './message.ts';

/** The two services of a cloud. */
export type ServiceName = 'compute' | 'storage';

/** Distinguishes operations that share a method and a path. */
export interface Condition {
  /** Query parameters that must have these values. */
  readonly query?: Readonly<Record<string, string>>;
  /** The request's content type is `application/json` with this parameter `type`: `directory` in `application/json; type=directory`. */
  readonly contentType?: string;
  /** The kind of entry that the path names: the same `GET` lists a directory or reads an object. */
  readonly entry?: 'directory' | 'object';
  /** Name of a path input that must look like a UUID. */
  readonly uuid?: string;
}

export type BodyKind = 'json' | 'bytes' | 'lines' | 'none';
export type ResultKind = 'json' | 'empty' | 'records' | 'lines' | 'bytes';

/**
 * The resource whose role tags decide about access: the one at the path, the one at the path without its last component, the account, or
 * the one that the input `resource` names. With `none` every authenticated caller has access.
 */
export type ResourceKind = 'path' | 'parent' | 'account' | 'input' | 'none';

/** One path segment: literal text, the name of an input, or the rest of the path. */
export interface Segment {
  readonly kind: 'literal' | 'input' | 'rest';
  readonly text: string;
}

/** A streamed list and the response headers. */
export interface Listing<T> {
  headers: Headers;
  records: AsyncIterable<T>;
}

/** A stream of bytes with the status (200 or 206) and headers of the response. */
export type Download = HttpResponse;

/**
 * One operation of a service, declared once. The client, the service's router and validation, help, completion, policy actions and the
 * contract tests read this record. `I` and `R` are the types of its input and result, `P` is its path.
 */
export interface Operation<I = unknown, R = unknown, P extends string = string> {
  readonly service: ServiceName;
  /** Name as in the specification, with an initial lower-case letter: `listKeys`. */
  readonly name: string;
  /** The name in lower case, as policies use it. */
  readonly action: string;
  readonly summary: string;
  readonly method: string;
  /** As declared: `/:account/keys/:key`. */
  readonly path: P;
  readonly segments: readonly Segment[];
  readonly when: Condition;
  readonly fields: Fields;
  readonly body: BodyKind;
  /** True when the request may carry headers that the service stores with the object. */
  readonly storesHeaders: boolean;
  /** Status code of a successful response. */
  readonly status: number;
  readonly result: ResultKind;
  /** The structure of a JSON response, or of each record of a listing. */
  readonly shape?: Field;
  /** Content type parameter `type` of a listing. */
  readonly recordType: string;
  /** True when sending the request twice has the effect of sending it once. */
  readonly idempotent: boolean;
  readonly resource: ResourceKind;
  /** True when the operation creates a resource: the one at its path (PUT), or a member of that collection. */
  readonly creates: boolean;
  /** True when an entry of the object storage must exist at the path. */
  readonly needsEntry: boolean;
  /** True when the multipart upload in the path must exist. This is checked before any other error of the request. */
  readonly needsUpload: boolean;
  readonly _input?: I;
  readonly _result?: R;
}

export type Operations = Readonly<Record<string, Operation>>;
export type InputOf<O> = O extends Operation<infer I, unknown> ? I : never;
export type ResultOf<O> = O extends Operation<unknown, infer R> ? R : never;

type Inputs<Path extends string> = Path extends `${infer First}/${infer Rest}`
  ? Inputs<First> | Inputs<Rest>
  : Path extends `:${infer Name}` | `*${infer Name}`
    ? Name
    : never;
type PathOf<Route extends string> = Route extends `${string} ${infer Path}?${string}`
  ? Path
  : Route extends `${string} ${infer Path}`
    ? Path
    : never;

/**
 * What is declared: `idempotent` only of a POST that may safely be repeated, the other methods are by definition; `resource` where it is not `path`;
 * `creates` only where the status of success is not 201; `needsEntry` only where `when` does not say which entry.
 */
interface Spec<F extends Fields>
  extends
    Pick<Operation, 'summary'>,
    Partial<
      Pick<Operation, 'status' | 'when' | 'body' | 'storesHeaders' | 'idempotent' | 'resource' | 'creates' | 'needsEntry' | 'needsUpload'>
    > {
  fields?: F;
}

type BodyInput<S> = S extends { body: 'bytes' }
  ? {
      body: Body;
      /** Length of the body in bytes; when absent, the body is sent in chunks. */ length?: number | undefined;
    }
  : S extends { body: 'lines' }
    ? { body: Body }
    : unknown;
type HeadersInput<S> = S extends { storesHeaders: true } ? { headers?: Headers | undefined } : unknown;
type Input<R extends string, F extends Fields, S> = { [K in Inputs<PathOf<R>>]: string } & Infer<F> & BodyInput<S> & HeadersInput<S>;

interface Builder<I, P extends string> {
  /** The response is JSON of this shape. */
  returning<T>(shape: Field<T>): Operation<I, T, P>;
  /** The response has no body; its headers are the result. */
  answering(): Operation<I, Headers, P>;
  /** The response is a stream of JSON records, one a line. */
  listing<T>(shape: Field<T>, recordType?: string): Operation<I, Listing<T>, P>;
  /** The response is a stream of text lines. */
  lines(): Operation<I, Listing<string>, P>;
  /** The response is a stream of bytes. */
  bytes(): Operation<I, Download, P>;
}

function parseSegment(part: string): Segment {
  if (part.startsWith(':')) return { kind: 'input', text: part.slice(1) };
  if (part.startsWith('*')) return { kind: 'rest', text: part.slice(1) };
  return { kind: 'literal', text: part };
}

/** Parses the query of a route. Routes contain no escapes, so no query parser has to be loaded. */
function parseQuery(search: string): Record<string, string> {
  return Object.fromEntries(search.split('&').map((pair) => pair.split('=')));
}

/** A declared operation. A class, because there are many: an instance takes a quarter of the memory of an object with an accessor. */
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
  readonly resource: ResourceKind;
  readonly creates: boolean;
  readonly needsEntry: boolean;
  readonly needsUpload: boolean;
  readonly result: ResultKind;
  readonly recordType: string;
  declare readonly shape?: Field;
  #segments: readonly Segment[] | undefined;

  /** @param route such as `POST /:account/images/:id?action=clone` */
  constructor(route: string, spec: Spec<Fields>, result: ResultKind, status: number, shape?: Field, recordType = 'directory') {
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
    this.resource = spec.resource ?? 'path';
    this.creates = spec.creates ?? this.status === 201;
    this.needsEntry = spec.needsEntry ?? this.when.entry !== undefined;
    this.needsUpload = spec.needsUpload ?? false;
    this.result = result;
    this.recordType = recordType;
    if (shape !== undefined) this.shape = shape;
  }

  /** Parsed on first use, because a command uses only one or two of the declared operations. */
  get segments(): readonly Segment[] {
    return (this.#segments ??= this.path.split('/').slice(1).map(parseSegment));
  }
}

/** The builder of an operation; a class, for the same reason. */
class Declaring {
  readonly #route: string;
  readonly #spec: Spec<Fields>;

  constructor(route: string, spec: Spec<Fields>) {
    this.#route = route;
    this.#spec = spec;
  }

  returning(shape: Field): Declared {
    return new Declared(this.#route, this.#spec, 'json', 200, shape);
  }
  answering(): Declared {
    return new Declared(this.#route, this.#spec, 'empty', 204);
  }
  listing(shape: Field, recordType?: string): Declared {
    return new Declared(this.#route, this.#spec, 'records', 200, shape, recordType);
  }
  lines(): Declared {
    return new Declared(this.#route, this.#spec, 'lines', 200);
  }
  bytes(): Declared {
    return new Declared(this.#route, this.#spec, 'bytes', 200);
  }
}

type FieldsOf<S> = S extends { fields: infer F extends Fields } ? F : Record<never, never>;
type BuilderOf<R extends string, S> = Builder<Input<R, FieldsOf<S>, S>, PathOf<R>>;

/** Declares an operation by its route and its inputs; the last call of the builder declares the response. */
export function operation<const R extends string, const S extends Spec<Fields>>(route: R, spec: S): BuilderOf<R, S> {
  return new Declaring(route, spec) as unknown as BuilderOf<R, S>;
}

/** Completes a service's table of operations: sets the name, the policy action and the service of each. */
export function operations<const T extends Operations>(service: ServiceName, table: T): T {
  for (const [name, declared] of Object.entries(table)) Object.assign(declared, { service, name, action: name.toLowerCase() });
  return table;
}

/** The part of a request that carries a field of this operation. */
export function placeOf(declared: Operation, field: Field): 'query' | 'header' | 'body' {
  return field.place ?? (declared.body === 'json' ? 'body' : 'query');
}
