import type { compute } from '../api/compute.ts';
import { readAll, streamOf, type Body, type Headers, type HttpResponse } from '../api/message.ts';
import type { InputOf, Operation, Operations, ResultKind, ResultOf, ServiceName } from '../api/operation.ts';
import type { storage } from '../api/storage.ts';
import { ApiError, InterruptedError } from '../base/errors.ts';
import { warnOfEffect } from '../http/network-error.ts';
import { limitTime } from '../http/max-time.ts';
import { buildPath, buildRequest, encodePart } from './request.ts';
import { readError, readResult, throwRefusal } from './response.ts';
import { backOff, countRetries, createLongWaitError, mayRetry, noteExhausted, readRetryAfter, type RetryPolicy } from './retry.ts';
import type { CreateHeaders, Listed, Outgoing, Send, SendListed } from '../http/send.ts';

/** Events of a request, for `--verbose`. */
export type TraceEvent =
  | { kind: 'request'; outgoing: Outgoing; attempt: number }
  | { kind: 'response'; outgoing: Outgoing; response: HttpResponse; milliseconds: number }
  | { kind: 'retry'; outgoing: Outgoing; error: unknown; wait: number };

/**
 * Creates the `date` and `authorization` headers of a request that is about to be sent; the kind of result helps to choose a connection.
 */
export type Authorize = (result?: ResultKind) => Promise<{ date: string; authorization: string }>;

/** One service, and how its requests are signed. */
export interface Endpoint {
  readonly service: ServiceName;
  readonly url: URL;
  readonly authorize: Authorize;
  /** Roles to assume: `as-role` of compute, `Role` of storage. */
  readonly roles: readonly string[];
  /** Range of API versions; compute only. */
  readonly apiVersion: string;
  /** Called with the refused `authorization` header when a service refuses a signature: true if another form of it should be tried. */
  readonly tryOtherForm?: (error: ApiError, authorization: string) => boolean;
}

export interface ClientOptions {
  readonly endpoint: Endpoint;
  readonly send: Send;
  /** Sends a request for a small object together with others, as the `sendListed` of a sender; absent where each is sent by itself. */
  readonly sendListed?: SendListed;
  readonly retry: RetryPolicy;
  readonly now: () => number;
  /** Time limit of a request with its response, milliseconds. */
  readonly maxTime?: number | undefined;
  /** The signal that interrupts a call; `reads` is true for calls that change nothing and do not download an object. */
  readonly interruption?: (reads: boolean) => AbortSignal | undefined;
  readonly trace?: ((event: TraceEvent) => void) | undefined;
  /** Called before the wait for each retry. */
  readonly onRetry?: ((error: unknown, wait: number) => void) | undefined;
}

/** How one call differs from its operation's declaration. */
export interface CallOptions extends Pick<Outgoing, 'signal' | 'mayPause'> {
  /** Send a HEAD request. */
  head?: boolean;
  /** Additional request headers. */
  headers?: Headers;
  /** Creates the body anew for each attempt; without it, a request with a stream is not retried. */
  body?: () => Body;
  /**
   * The user's interruption does not abort this call, because it undoes an earlier one, or its effect would be lost track of. `signal`
   * does.
   */
  outlasts?: boolean;
}

/** A response's status and headers, and the result read from it. */
export interface Answered<R> {
  status: number;
  headers: Headers;
  value: R;
}

/** A typed function for each operation of a table, and functions for other requests. */
export type Client<T extends Operations> = {
  readonly [K in keyof T]: (input: InputOf<T[K]>, options?: CallOptions) => Promise<ResultOf<T[K]>>;
} & ClientMethods;

export interface ClientMethods {
  /** Calls an operation and returns the response's status and headers as well. */
  answer<O extends Operation>(operation: O, input: InputOf<O>, options?: CallOptions): Promise<Answered<ResultOf<O>>>;
  /**
   * Sends any request, signed: `target` is the path and query as sent. A final status of 400 or above is returned as a response, not
   * thrown.
   * @throws {ApiError} if the service asks for a longer wait before a retry than the user allows, with a hint that says how long
   */
  request(request: {
    method: string;
    target: string;
    headers?: Headers;
    body?: Body | undefined;
    /** The user's interruption does not abort this request. */
    outlasts?: boolean;
  }): Promise<HttpResponse>;
  /**
   * Requests a small object of a listing together with others, once, without a condition. Undefined, or resolved with undefined, unless the
   * response is that object: then it has to be requested by itself.
   */
  askListed<O extends Operation>(operation: O, input: InputOf<O>, listed: Listed): Promise<HttpResponse | undefined> | undefined;
  /** Maximum number of retries of work that consists of several requests; not for an error that the client has retried (`isExhausted`). */
  readonly retries: number;
}

export type ComputeClient = Client<typeof compute>;
export type StorageClient = Client<typeof storage>;

/** Maximum bytes of an error response that are read. */
const largestRefusal = 1024 * 1024;

function withRoles({ service, roles }: Endpoint, target: string): string {
  if (service !== 'compute' || roles.length === 0) return target;
  return `${target}${target.includes('?') ? '&' : '?'}as-role=${encodePart(roles.join(','))}`;
}

/** The path before that of each request. */
function basePathOf({ url }: Endpoint): string {
  return url.pathname.replace(/\/+$/, '');
}

/** Headers that every request to the service has, beside its signature. */
function standardHeaders({ service, roles, apiVersion }: Endpoint): Headers {
  if (service === 'compute') return { accept: 'application/json', 'accept-version': apiVersion };
  return roles.length > 0 ? { role: roles.join(',') } : {};
}

/** Sends a request once. */
async function exchange(
  { send, now, maxTime, trace }: ClientOptions,
  outgoing: Outgoing,
  attempt: number,
  stop: AbortSignal | undefined,
): Promise<HttpResponse> {
  const started = now();
  const limit = maxTime === undefined ? undefined : limitTime(maxTime, outgoing.url);
  const signals = [stop, outgoing.signal, limit?.signal].filter((one) => one !== undefined);
  trace?.({ kind: 'request', outgoing, attempt });
  try {
    // Combining signals costs more than the rest of a small request.
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const response = await send({ ...outgoing, signal });
    trace?.({ kind: 'response', outgoing, response, milliseconds: now() - started });
    return limit ? { ...response, body: limit.watch(response.body) } : response;
  } catch (error) {
    if (stop?.aborted === true) throw new InterruptedError('interrupted', { cause: error });
    throw limit ? limit.explain(error) : error;
  }
}

/** A request before it is signed. */
type Unsigned = Omit<Outgoing, 'url'> & { target: string };

function prepare(operation: Operation, input: Readonly<Record<string, unknown>>, options: CallOptions): Unsigned {
  const { method, target, headers, body } = buildRequest(operation, input);
  return {
    method: options.head === true ? 'HEAD' : method,
    target,
    headers: Object.assign(headers, options.headers),
    body: options.body ? options.body() : body,
    signal: options.signal,
    mayPause: options.mayPause,
  };
}

function createCaller(own: ClientOptions) {
  const { endpoint, retry, now, maxTime, interruption, trace, onRetry } = own;
  let hasResponded = false;
  const base = endpoint.url.origin + basePathOf(endpoint);
  const standard = standardHeaders(endpoint);

  /** Retries a request, each attempt signed afresh, until `accept` accepts the response or a retry cannot help. */
  async function attemptAll<R>(
    make: () => Unsigned,
    kind: { idempotent: boolean; reads: boolean; replayable: boolean; outlasts?: boolean | undefined; result?: ResultKind },
    accept: (response: HttpResponse, url: URL) => Promise<R> | R,
  ): Promise<R> {
    const stop = kind.outlasts === true ? undefined : interruption?.(kind.reads && kind.result !== 'bytes');
    for (let attempt = 1; ; attempt += 1) {
      const { method, target, headers, body, signal, mayPause } = make();
      // Not as a relative reference: a target that begins with two slashes would name another host.
      const url = new URL(base + withRoles(endpoint, target));
      const signed = await endpoint.authorize(kind.result);
      const outgoing: Outgoing = { method, url, headers: { ...standard, ...signed, ...headers }, body, signal, mayPause };
      let retryAfter: string | undefined;
      try {
        const response = await exchange(own, outgoing, attempt, stop);
        hasResponded = true;
        retryAfter = response.headers['retry-after'];
        return await accept(response, url);
      } catch (error) {
        const otherForm = error instanceof ApiError && endpoint.tryOtherForm?.(error, outgoing.headers['authorization'] ?? '') === true;
        const retries = countRetries(retry, error, hasResponded);
        if (!kind.replayable || attempt > retries + 1) throw kind.idempotent ? error : warnOfEffect(error);
        if (otherForm) continue;
        const isRetried = mayRetry(error, kind);
        if (isRetried && attempt > retries) noteExhausted(error);
        if (!isRetried || attempt > retries) throw kind.idempotent ? error : warnOfEffect(error);
        const asked = readRetryAfter(retryAfter, now());
        const tooLong = createLongWaitError(error, asked, maxTime);
        if (tooLong) throw tooLong;
        const wait = backOff(retry, attempt, asked);
        trace?.({ kind: 'retry', outgoing, error, wait });
        onRetry?.(error, wait);
        await retry.sleep(wait, stop);
      }
    }
  }

  function answer(operation: Operation, input: Readonly<Record<string, unknown>>, options: CallOptions = {}): Promise<Answered<unknown>> {
    const make = () => prepare(operation, input, options);
    const replayable =
      operation.body !== 'bytes' && operation.body !== 'lines' ? true : options.body !== undefined || input['body'] instanceof Uint8Array;
    const { idempotent } = operation;
    const result = options.head === true ? 'empty' : operation.result;
    const kind = { idempotent, reads: operation.method === 'GET', replayable, outlasts: options.outlasts, result };
    return attemptAll(make, kind, (response, url) => {
      const { status, headers } = response;
      if (status >= 300 && status !== operation.status) return throwRefusal(response, { url, now });
      // The body of an object is read by the caller.
      if (result === 'bytes') return { status, headers, value: response };
      return readResult(result, response, { url, now }, operation.shape).then((value) => ({ status, headers, value }));
    });
  }

  async function request({ method, target, headers = {}, body, outlasts }: Parameters<ClientMethods['request']>[0]): Promise<HttpResponse> {
    const reads = method === 'GET' || method === 'HEAD';
    const kind = { idempotent: reads, reads, replayable: body === undefined || body instanceof Uint8Array, outlasts };
    const make = () => ({ method, target, headers, body });
    let refused: { error: ApiError; response: HttpResponse } | undefined;
    try {
      return await attemptAll(make, kind, async (response, url) => {
        if (response.status < 400) return response;
        const kept = await keepRefusal(response);
        refused = { response: kept(), error: await readError(kept(), { url, now }) };
        throw refused.error;
      });
    } catch (error) {
      // The last error response is the result; every other failure is thrown, also an error with the hint to wait longer.
      if (refused !== undefined && refused.error === error) return refused.response;
      throw error;
    }
  }

  return { answer, request, noteResponse: () => void (hasResponded = true), retries: retry.workRetries ?? retry.retries };
}

/** Creates `askListed`. @param noteResponse called after each response */
function createAskListed({ endpoint, sendListed, maxTime, trace, interruption }: ClientOptions, noteResponse: () => void) {
  const standard = standardHeaders(endpoint);
  const basePath = basePathOf(endpoint);
  const createHeaders: CreateHeaders = async () => ({ ...standard, ...(await endpoint.authorize('bytes')) });
  const note = (response: HttpResponse | undefined): HttpResponse | undefined => {
    if (response) noteResponse();
    return response;
  };
  return (
    operation: Operation,
    input: Readonly<Record<string, unknown>>,
    { etag, size }: Listed,
  ): Promise<HttpResponse | undefined> | undefined => {
    // What is traced, or has a time limit of its own, does not wait for others.
    if (sendListed === undefined || maxTime !== undefined || trace !== undefined) return undefined;
    const target = basePath + buildPath(operation, input);
    return sendListed({ etag, size, url: endpoint.url, target, signal: interruption?.(false) }, createHeaders)?.then(note);
  };
}

/** Buffers an error response so that its body can be read twice: to decide on a retry, and by the caller. */
async function keepRefusal(response: HttpResponse): Promise<() => HttpResponse> {
  const bytes = await readAll(response.body, largestRefusal).catch(() => new Uint8Array());
  return () => ({ ...response, body: streamOf(bytes) });
}

/** A client of one service: a typed function for each operation of its table. */
export function createClient<T extends Operations>(table: T, options: ClientOptions): Client<T> {
  const { noteResponse, ...caller } = createCaller(options);
  const methods = { ...caller, askListed: createAskListed(options, noteResponse) };
  type Call = (input: Readonly<Record<string, unknown>>, call?: CallOptions) => Promise<unknown>;
  // Created on access: a command uses only one or two of all functions.
  const call = (name: string): Call | undefined => {
    const declared = table[name];
    return declared && (async (input, options) => (await caller.answer(declared, input, options)).value);
  };
  return new Proxy(methods, { get: (own, name) => own[name as keyof typeof own] ?? call(String(name)) }) as unknown as Client<T>;
}
