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
  /** Closes idle connections, so that the process can end. */
  close(): void;
}
