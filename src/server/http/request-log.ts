import type { Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import type { Exchange } from './exchange.ts';
import type { Caller, Connection } from './handler.ts';
import { redactTarget } from './redact-target.ts';
import { createRepeatedLog, repeatPeriod } from './repeated-log.ts';

/** Maximum length of a target in the log, in characters. */
const targetLimit = 1024;

/** Number of rejected anonymous requests that are logged individually per period; further ones are counted. */
const anonymousLines = 20;

/** The remote address; IPv4-mapped IPv6 addresses are shown as IPv4. */
export function showAddress({ remoteAddress }: Pick<Connection, 'remoteAddress'>): string {
  return remoteAddress.replace(/^::ffff:(?=\d+\.)/u, '');
}

/** A target without secrets, truncated if it is long. */
export function showTarget(target: string): string {
  const shown = redactTarget(target);
  return shown.length > targetLimit ? `${shown.slice(0, targetLimit)}...` : shown;
}

/** Account and user of a caller; `-` for an anonymous one. */
export function showCaller(caller: Caller | undefined): string {
  if (caller === undefined || caller.kind === 'anonymous') return '-';
  return caller.kind === 'user' ? `${caller.account.login}/${caller.user.login}` : caller.account.login;
}

/** What the log shows of a request in addition to its first line. */
type Logged = Pick<Exchange, 'requestId' | 'connection' | 'caller' | 'limit'>;

/**
 * Creates the function that logs requests: service, method, target, status, request id, caller, address. Callers without a valid signature
 * cannot fill the log: in each period some of their rejected requests are logged, and the rest are counted.
 */
export function createRequestLog(
  service: ServiceName,
  log: (line: string) => void,
): (request: Request, status: number, logged: Logged) => void {
  let [begun, lines] = [0, 0];
  const count = createRepeatedLog(log, (refusals) => `${service} ${refusals} more requests without a valid signature were rejected`);

  /** True if this period already has the maximum number of lines. */
  function isTooMany(): boolean {
    const now = performance.now();
    if (now - begun > repeatPeriod) [begun, lines] = [now, 0];
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
