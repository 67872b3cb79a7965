import type { ServiceName } from '../../api/operation.ts';
import type { Exchange } from './exchange.ts';
import type { Caller } from './handler.ts';
import { showAddress, showTarget } from './request-log.ts';

/** A request whose response has been sent, or whose client has disconnected. Contains no secrets. */
export interface FinishedRequest {
  readonly requestId: string;
  readonly service: ServiceName;
  /** Action of the operation; undefined if the request named none, or was rejected before the operation was known. */
  readonly operation: string | undefined;
  readonly method: string;
  /** Path and query as sent, without the values of secret parameters, truncated if long. */
  readonly path: string;
  /** 0 if the connection was closed instead of a response. */
  readonly status: number;
  /** Error code of the response. */
  readonly code: string | undefined;
  /** Name of the limit that the request exceeded. */
  readonly limit: string | undefined;
  /** Milliseconds from the headers of the request to the last byte of the response. */
  readonly ms: number;
  /** Size of the bodies in bytes. */
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** True if the client disconnected before it had the whole response. */
  readonly aborted: boolean;
  readonly address: string;
  readonly account: string | undefined;
  /** Sub-user of the account. */
  readonly user: string | undefined;
}

/** Receives every request of a service. */
export interface RequestObserver {
  begun(service: ServiceName): void;
  ended(request: FinishedRequest): void;
}

function nameCaller(caller: Caller | undefined): Pick<FinishedRequest, 'account' | 'user'> {
  if (caller === undefined || caller.kind === 'anonymous') return { account: undefined, user: undefined };
  return { account: caller.account.login, user: caller.kind === 'user' ? caller.user.login : undefined };
}

/** Notifies an observer when the client has the response or has disconnected. @param started by the clock of `performance` */
export function observeEnd(observer: RequestObserver, service: ServiceName, exchange: Exchange, status: number, started: number): void {
  const { request, connection, requestId, caller, limit, operation, refusal } = exchange;
  const tell = (): void => {
    const { received = 0, sent = 0, isWhole = true } = connection.transferred?.() ?? {};
    observer.ended({
      requestId,
      service,
      operation: operation?.action,
      method: request.method,
      path: showTarget(request.target),
      status,
      code: refusal?.code,
      limit: limit?.limit,
      ms: performance.now() - started,
      bytesIn: received,
      bytesOut: sent,
      aborted: !isWhole,
      address: showAddress(connection),
      ...nameCaller(caller),
    });
  };
  if (connection.onGone === undefined) tell();
  else connection.onGone(tell);
}
