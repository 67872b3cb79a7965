import type { Body, Headers, HttpResponse } from '../api/message.ts';

/** An object as the listing of its directory names it. */
export interface Listed {
  readonly etag: string;
  /** Bytes. */
  readonly size: number;
}

/** A request to be sent. */
export interface Outgoing {
  method: string;
  url: URL;
  headers: Headers;
  /** A stream is sent chunked unless `headers` has a content-length. */
  body?: Body | undefined;
  /** Aborts the exchange, also while the response body is being read. */
  signal?: AbortSignal | undefined;
  /** True if the response body may pause for longer than the idle timeout, because it reports events as they happen. */
  mayPause?: boolean | undefined;
}

/** A request for a small object of a listing, which may be sent together with others. */
export interface ListedRequest extends Listed {
  /** The URL of the service. */
  readonly url: URL;
  /** Path of the object there, as in the request line. */
  readonly target: string;
  readonly signal: AbortSignal | undefined;
}

/** Creates the headers that the requests of this moment have in common. */
export type CreateHeaders = () => Promise<Headers>;

/** An HTTP proxy, and the source of its address. */
export interface Proxy {
  readonly url: URL;
  /** `NAME:PASSWORD`; absent without a user name. */
  readonly credentials?: string | undefined;
  /** The environment variable that names it. */
  readonly variable: string;
}

/** How connections are made. Timeouts are in milliseconds. */
export interface SendOptions {
  /** Maximum time to connect, including TLS. */
  connectTimeout: number;
  /** Maximum time without a byte in either direction. */
  idleTimeout: number;
  /** Trusted certificate authorities instead of the system's, PEM. */
  ca?: string | undefined;
  /** Accept any certificate. */
  insecure: boolean;
  /** Maximum number of connections to one host. */
  connections: number;
  /** The HTTP proxy through which connections go. */
  proxy?: Proxy | undefined;
  /** Storage for TLS sessions between runs of the program. */
  sessions?: ((url: URL) => SessionMemory) | undefined;
}

/** A stored TLS session. The bytes are secret: whoever has them can pose as the service to this user. */
export interface SessionMemory {
  /** Undefined when there is no fresh session. The age is in milliseconds. */
  read(): { session: Buffer; age: number } | undefined;
  write(session: Buffer): void;
}

/**
 * Sends one request and resolves when the headers of the response have arrived. The connection is free once the body, even an empty one,
 * was read to its end. It does not sign, retry or follow redirections.
 * @throws {NetworkError} also while the response body is read, when it ends before its announced length
 */
export type Send = (outgoing: Outgoing) => Promise<HttpResponse>;

/**
 * Sends a request for a small object together with others. Undefined, or resolved with undefined, unless the response is that object: then
 * it has to be requested by itself.
 */
export type SendListed = (request: ListedRequest, headers: CreateHeaders) => Promise<HttpResponse | undefined> | undefined;

/** A sender that keeps connections open between requests. */
export interface Sender {
  readonly send: Send;
  readonly sendListed: SendListed;
  /** Starts to connect to the host of this URL, in advance of the first request; `mayBeLong` when its response may have a long body. */
  readonly prepare?: (url: URL, mayBeLong?: boolean) => void;
  /** Closes idle connections, so that the process can end. */
  close(): void;
}
