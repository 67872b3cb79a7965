import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpResponse, Request } from '../../api/message.ts';
import type { Operations } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { limitRates } from '../access/request-rate.ts';
import { ConnectionClosed, disturbResponse } from '../faults/inject.ts';
import { LimitReached } from '../limit.ts';
import { explainAnyVersion } from '../storage/conditions.ts';
import { isDiskFull } from '../store/disk-full.ts';
import { DamagedContent } from '../store/damaged.ts';
import { StoreUnavailable } from '../store/unavailable.ts';
import { answer, type ServiceOptions, type Tools } from './answer.ts';
import { writeCommonHeaders } from './common-headers.ts';
import { beginExchange, type Exchange } from './exchange.ts';
import type { Connection } from './handler.ts';
import { createMatcher } from './match.ts';
import { createGoneError } from './incoming.ts';
import { rememberError } from './recorded-requests.ts';
import { createRequestLog, showAddress, showCaller } from './request-log.ts';
import { observeEnd } from './request-observer.ts';
import { dropBody, ServiceUnavailable, writeError } from './response.ts';
import { parseTarget } from './target.ts';
import { createThrottle } from './throttle.ts';

/** One of the two services as a function; a socket is one way to reach it. It throws nothing but `ConnectionClosed`. */
export type Service = (request: Request, connection: Connection) => Promise<HttpResponse>;

/** Converts any error to an `ApiError`; unexpected errors are logged, and reported without details. */
function explainFailure(error: unknown, requestId: string, log: (line: string) => void): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') return createGoneError();
  if (isDiskFull(error)) return new ApiError(507, 'NotEnoughSpace', 'the disk of the service is full');
  if (error instanceof StoreUnavailable) {
    log(`${requestId} ${error.message}`);
    return new ServiceUnavailable();
  }
  if (error instanceof DamagedContent) {
    log(`${requestId} ${error.message}`);
    return new ApiError(500, 'InternalError', `the stored bytes are missing or damaged; see ${requestId} in the log of the service`);
  }
  log(`${requestId} internal error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return new ApiError(500, 'InternalError', `an internal error occurred; see ${requestId} in the log of the service`);
}

/** The error for a request without a valid signature: the original one, or that its address sends too many requests. */
function throttleStranger(admit: Tools['admit'], connection: Connection, error: unknown): unknown {
  try {
    admit(showAddress(connection));
    return error;
  } catch (refusal) {
    return refusal;
  }
}

/** Records a request for the control interface. */
function remember<T extends Operations>(
  { memory, service, now = Date.now }: ServiceOptions<T>,
  exchange: Exchange,
  status: number,
  started: number,
): void {
  if (memory === undefined) return;
  const { request, connection, caller, requestId, operation, refusal, injection } = exchange;
  const { method, target, headers, body } = request;
  memory.add({
    at: now(),
    service,
    method,
    target,
    headers,
    hasBody: body !== undefined,
    remoteAddress: connection.remoteAddress,
    operation,
    caller: showCaller(caller),
    requestId,
    status,
    duration: performance.now() - started,
    error: refusal && rememberError(refusal),
    faults: injection?.due,
  });
}

/** Creates a service from its operations and their handlers. */
export function createService<T extends Operations>(options: ServiceOptions<T>): Service {
  const { service, observer, log = () => undefined } = options;
  const { throttle, latency = 0 } = options.settings ?? {};
  const match = createMatcher(options.operations);
  const admit = createThrottle(service === 'compute' ? throttle : undefined);
  const admitAccount = limitRates(options.store.db, options.settings ?? {});
  const logRequest = createRequestLog(service, log);
  const attempt = async (exchange: Exchange): Promise<HttpResponse> => {
    try {
      const refusal = exchange.connection.refusal ?? options.refusal?.();
      if (refusal !== undefined) throw refusal;
      if (latency > 0) await sleep(latency);
      return await answer(options, { match, admit, admitAccount }, parseTarget(service, exchange.request.target), exchange);
    } catch (thrown) {
      if (thrown instanceof ConnectionClosed) throw thrown;
      if (thrown instanceof LimitReached) exchange.limit = thrown;
      const { operation, request } = exchange;
      const error = operation === undefined ? thrown : explainAnyVersion(thrown, operation, request.headers);
      const refusal = exchange.caller === undefined ? throttleStranger(admit, exchange.connection, error) : error;
      exchange.refusal = explainFailure(refusal, exchange.requestId, log);
      return writeError(exchange.refusal);
    }
  };
  const conclude = (exchange: Exchange, status: number, started: number): void => {
    remember(options, exchange, status, started);
    if (observer === undefined) logRequest(exchange.request, status, exchange);
    else observeEnd(observer, service, exchange, status, started);
  };
  return async (request, connection) => {
    const started = performance.now();
    const exchange = beginExchange(service, request, connection);
    observer?.begun(service);
    const response = await attempt(exchange).catch((error: unknown) => {
      conclude(exchange, 0, started);
      throw error;
    });
    const common = writeCommonHeaders(options, exchange, started);
    conclude(exchange, response.status, started);
    const told = { ...response, headers: Object.assign(common, response.headers) };
    const whole = exchange.injection === undefined ? told : disturbResponse(exchange.injection, told);
    return request.method === 'HEAD' ? dropBody(whole) : whole;
  };
}
