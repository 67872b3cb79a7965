import type { Headers } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';

/** The first line of a recording, JSON. */
export interface RecordingHeader {
  /** Version of the format. */
  readonly recording: 1;
  /** Login of the account of the profile that was in use. */
  readonly account: string;
  /** Addresses of the cloud. */
  readonly computeUrl: string;
  readonly storUrl: string;
  /** ISO 8601. */
  readonly time: string;
}

/** What a recording tells one request from others by. */
export interface RequestKey {
  readonly service: ServiceName;
  readonly method: string;
  /** Percent-encoded, as it was sent. */
  readonly path: string;
  /** Sorted, without signature and secrets. */
  readonly query: string;
  /** Headers that choose what the response is: ranges and conditions. */
  readonly choice?: Headers | undefined;
  /** SHA-256 of the body in hexadecimal, of parameters after their passwords are left out; absent where the body was not read to its end. */
  readonly sha256?: string | undefined;
  /** Bytes of the body. */
  readonly size?: number | undefined;
}

/** A line of a recording after the first, JSON: one request and its response. */
export interface Exchange extends RequestKey {
  /** Counts the requests from 1, in the order in which they came. */
  readonly id: number;
  readonly status: number;
  readonly headers: Headers;
  /** The body of the response as text; empty when neither this nor `base64` is there. */
  readonly body?: string | undefined;
  /** The same where it is not UTF-8. */
  readonly base64?: string | undefined;
  /** Why the body is not there. */
  readonly leftOut?: string | undefined;
  /** The connection broke before the end of the body. */
  readonly cut?: true | undefined;
}

/** One request in words. */
export function describeRequest({ service, method, path, query, choice = {} }: RequestKey): string {
  const headers = Object.entries(choice).map(([name, value]) => ` ${name}: ${value}`);
  return `${service} ${method} ${path}${query === '' ? '' : `?${query}`}${headers.join(',')}`;
}

/** The same text for requests that differ in nothing that counts, but perhaps in their bodies. */
export function keyOf({ service, method, path, query, choice = {} }: RequestKey): string {
  return JSON.stringify([service, method, path, query, Object.entries(choice).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
