import { randomUUID } from 'node:crypto';
import type { Headers, Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid } from '../../base/uuid.ts';
import { isPresigned } from '../access/authenticate.ts';
import type { Injection } from '../faults/inject.ts';
import type { LimitReached } from '../limit.ts';
import type { Caller, Connection } from './handler.ts';
import { chooseVersion, newestVersion } from './version.ts';

/** State of a request from its beginning to its end. */
export interface Exchange {
  readonly request: Request;
  readonly connection: Connection;
  readonly requestId: string;
  /** API version; the newest if the request selects none. */
  readonly version: string;
  /** The error if the requested version cannot be served. */
  readonly versionRefusal: ApiError | undefined;
  /** The caller, once authenticated. */
  caller?: Caller;
  /** The limit that the request exceeded. */
  limit?: LimitReached;
  operation?: Operation;
  /** The error that the request got. */
  refusal?: ApiError;
  /** The simulated failures that apply to the request. */
  injection?: Injection;
}

/** The id that the client chose, which lets it find its request in the log, or a new one. */
function chooseRequestId({ 'x-request-id': first, 'request-id': second }: Headers): string {
  return [first, second].find((id) => id !== undefined && isUuid(id)) ?? randomUUID();
}

/** Creates the state of a new request. If its API version cannot be served, the newest one is used until the request is rejected. */
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
