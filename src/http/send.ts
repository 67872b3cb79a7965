import type { Body, Headers, Reply } from '../api/message.ts';

/** A request on its way to a host. */
export interface Outgoing {
  method: string;
  url: URL;
  headers: Headers;
  /** A stream is sent chunked unless `headers` has a content-length. */
  body?: Body | undefined;
  /** Ends the exchange, also while the reply's body is being read. */
  signal?: AbortSignal | undefined;
  /** The body of the response may pause for longer than a silence is allowed to last: it says what happens as it happens. */
  mayPause?: boolean | undefined;
}

/** An HTTP proxy, and where its address comes from. */
export interface Proxy {
  readonly url: URL;
  /** The environment variable that names it. */
  readonly variable: string;
}

/** How connections are made. Times are milliseconds. */
export interface SendOptions {
  /** Longest time to connect, TLS included. */
  connectTimeout: number;
  /** Longest time without a byte in either direction. */
  idleTimeout: number;
  /** Authorities to trust instead of the system's, PEM. */
  ca?: string | undefined;
  /** Accept any certificate. */
  insecure: boolean;
  /** Connections kept open to one host. */
  connections: number;
  /** The HTTP proxy through which connections go. */
  proxy?: Proxy | undefined;
  /** Where the TLS session with a host is kept from one run of the program to the next. */
  sessions?: ((url: URL) => SessionMemory) | undefined;
}

/** A TLS session as bytes: whoever has them can be taken for the service by this user. */
export interface SessionMemory {
  /** Undefined when there is none, or none that is fresh. Its age is in milliseconds. */
  read(): { session: Buffer; age: number } | undefined;
  write(session: Buffer): void;
}

/**
 * Sends one request and resolves when the head of the reply is there; the connection is free for the next one when the
 * body was read to its end, also an empty one. It neither signs, retries nor follows
 * redirections. @throws {NetworkError} also from the reply's body, when it ends before its announced length.
 */
export type Send = (outgoing: Outgoing) => Promise<Reply>;

/** A way of sending that holds connections open between requests. */
export interface Sender {
  readonly send: Send;
  /** Begins to connect to the host of this URL, for the first request that goes there; `mayBeLong` when it may bring a long body. */
  readonly prepare?: (url: URL, mayBeLong?: boolean) => void;
  /** Closes idle connections, so that the process can end. */
  close(): void;
}
