import { randomUUID } from 'node:crypto';
import type { Headers, Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { isPresigned } from '../access/authenticate.ts';
import type { Injection } from '../faults/inject.ts';
import type { LimitReached } from '../limit.ts';
import type { Caller, Connection } from './handler.ts';
import { isUuid } from './match.ts';
import { apiVersions, chooseVersion } from './version.ts';

/** What is known of a request from its beginning to its end. */
export interface Exchange {
  readonly request: Request;
  readonly connection: Connection;
  readonly requestId: string;
  /** API version; the newest where the request chose none. */
  readonly version: string;
  /** Why the version that the request asks for cannot be served. */
  readonly versionRefusal: ApiError | undefined;
  /** Who sent it, once that is known. */
  caller?: Caller;
  /** The limit that refused it. */
  limit?: LimitReached;
  operation?: Operation;
  /** Why it was refused. */
  refusal?: ApiError;
  /** The failures that the service was told to have for it. */
  injection?: Injection;
}

const newestVersion = apiVersions[apiVersions.length - 1] ?? '';

/** An id that the client chose, so that it can find its request in the log, or a new one. */
function chooseRequestId({ 'x-request-id': first, 'request-id': second }: Headers): string {
  return [first, second].find((id) => id !== undefined && isUuid(id)) ?? randomUUID();
}

/** What is known of a request when it comes. Without an API version that can be served it goes on with the newest, and is refused later. */
export function beginExchange(service: ServiceName, request: Request, connection: Connection): Exchange {
  const begun = { request, connection, requestId: chooseRequestId(request.headers) };
  const range = request.headers['accept-version'] ?? request.headers['api-version'];
  if (service === 'storage') return { ...begun, version: '', versionRefusal: undefined };
  if (range === undefined && isPresigned(request)) return { ...begun, version: newestVersion, versionRefusal: undefined };
  try {
    return { ...begun, version: chooseVersion(range), versionRefusal: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { ...begun, version: newestVersion, versionRefusal: error };
  }
}
