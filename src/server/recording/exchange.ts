import type { Headers } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';

/** The first line of a recording, as JSON. */
export interface RecordingHeader {
  /** Version of the format. */
  readonly recording: 1;
  /** Login of the account of the profile in use. */
  readonly account: string;
  /** URLs of the recorded cloud. */
  readonly computeUrl: string;
  readonly storUrl: string;
  /** ISO 8601. */
  readonly time: string;
}

/** What distinguishes a request from others in a recording. */
export interface RequestKey {
  readonly service: ServiceName;
  readonly method: string;
  /** Percent-encoded, as the client sent it. */
  readonly path: string;
  /** Sorted query parameters, without signature and secrets. */
  readonly query: string;
  /** Headers that select the response: ranges and conditions. */
  readonly choice?: Headers | undefined;
  /**
   * SHA-256 of the body, hexadecimal; for parameters, of the parameters without their passwords. Absent if the body was not read to its
   * end.
   */
  readonly sha256?: string | undefined;
  /** Size of the body, bytes. */
  readonly size?: number | undefined;
}

/** Each further line of a recording, as JSON: one request and its response. */
export interface Exchange extends RequestKey {
  /** Number of the request, from 1, in the order of arrival. */
  readonly id: number;
  readonly status: number;
  readonly headers: Headers;
  /** The response body as text; the body is empty if neither this nor `base64` is present. */
  readonly body?: string | undefined;
  /** The response body if it is not UTF-8. */
  readonly base64?: string | undefined;
  /** Why the body is not recorded. */
  readonly leftOut?: string | undefined;
  /** Set if the connection broke before the end of the body. */
  readonly cut?: true | undefined;
}

/** Describes a request for messages. */
export function describeRequest({ service, method, path, query, choice = {} }: RequestKey): string {
  const headers = Object.entries(choice).map(([name, value]) => ` ${name}: ${value}`);
  return `${service} ${method} ${path}${query === '' ? '' : `?${query}`}${headers.join(',')}`;
}

/** The same text for requests that differ in nothing relevant, except perhaps their bodies. */
export function keyOf({ service, method, path, query, choice = {} }: RequestKey): string {
  return JSON.stringify([service, method, path, query, Object.entries(choice).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
