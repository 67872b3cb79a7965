import type { Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import type { Exchange } from './exchange.ts';
import type { Caller, Connection } from './handler.ts';
import { redactTarget } from './redact-target.ts';
import { createRepeatedLog } from './repeated-log.ts';

/** Most characters of a target in the log. */
const targetLimit = 1024;

/** Refusals of anonymous callers that are logged one by one in a period; the others are counted. */
const anonymousLines = 20;
const period = 10_000;

/** The remote address; IPv4 addresses that come in over an IPv6 socket as IPv4. */
export function showAddress({ remoteAddress }: Pick<Connection, 'remoteAddress'>): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/u, '');
}

/** A target without secrets, cut where it is long. */
export function showTarget(target: string): string {
  const shown = redactTarget(target);
  return shown.length > targetLimit ? `${shown.slice(0, targetLimit)}...` : shown;
}

/** Account and user of a caller; `-` for an anonymous one. */
export function showCaller(caller: Caller | undefined): string {
  if (caller === undefined || caller.kind === 'anonymous') return '-';
  return caller.kind === 'user' ? `${caller.account.login}/${caller.user.login}` : caller.account.login;
}

/** What the log says of a request beside its first line. */
type Logged = Pick<Exchange, 'requestId' | 'connection' | 'caller' | 'limit'>;

/**
 * Makes the function that logs requests: service, method, target, status, request id, caller, address. Who has no valid signature cannot
 * fill the log: in each period some of their refusals are logged, the others are counted.
 */
export function createRequestLog(
  service: ServiceName,
  log: (line: string) => void,
): (request: Request, status: number, logged: Logged) => void {
  let [begun, lines] = [0, 0];
  const count = createRepeatedLog(log, (refusals) => `${service} ${refusals} more requests without a valid signature were refused`, period);

  /** True when a refusal is one too many for its period. */
  function isTooMany(): boolean {
    const now = performance.now();
    if (now - begun > period) [begun, lines] = [now, 0];
    lines += 1;
    return lines > anonymousLines;
  }

  return ({ method, target }, status, { requestId, connection, caller, limit }) => {
    const who = showCaller(caller);
    if (status >= 400 && who === '-' && isTooMany()) {
      count();
      return;
    }
    if (limit !== undefined) log(`${requestId} limit ${limit.limit} reached: ${limit.message}`);
    log(`${service} ${method} ${showTarget(target)} ${status} ${requestId} ${who} ${showAddress(connection)}`);
  };
}
