import type { RecordedRequest } from '../../api/control.ts';
import type { Headers, Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import { quoteShell } from '../../base/quote.ts';
import { redactPasswords } from '../../base/redact.ts';
import type { ApiError } from '../../base/errors.ts';
import type { DueFault } from '../faults/rules.ts';
import type { Connection } from './handler.ts';
import { showAddress } from './request-log.ts';
import { cutInput } from './response.ts';

/** What the record tells about the error of a request: its code, the message that the client got, and the reason that it did not get. */
type RememberedError = Pick<RecordedRequest, 'code' | 'message' | 'reason'>;

/**
 * The record of a request: one object of values that exist anyway, so that it costs next to nothing; text is formatted when it is
 * requested. The record holds no bodies, connections or database rows: everything it references has to be moved by the garbage collector.
 */
interface Remembered extends Readonly<Pick<Request, 'method' | 'target'> & Pick<Connection, 'remoteAddress'>> {
  readonly at: number;
  readonly service: ServiceName;
  /** Empty for a request that was rejected for its size, so that memory is bounded by the limits of target and headers for each request. */
  readonly headers: Headers;
  readonly hasBody: boolean;
  readonly operation: Operation | undefined;
  /** In the format of `showCaller`. */
  readonly caller: string;
  readonly requestId: string;
  readonly status: number;
  readonly duration: number;
  readonly error: RememberedError | undefined;
  readonly faults: readonly DueFault[] | undefined;
}

/** The latest requests of both services. */
export interface RequestMemory {
  add(request: Remembered): void;
  /** @param after list only requests with a higher number @param urls of the services, for curl commands */
  list(after: number, failedOnly: boolean, urls: Readonly<Record<ServiceName, string>>): { requests: RecordedRequest[]; latest: number };
}

/** Maximum number of recorded requests. */
const mostRequests = 1000;

/** Characters that are kept of a target that was too large. */
const targetLimit = 1024;

/** Headers that curl sets itself. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect']);

/** The request as a curl command that sends it again, with its signature and without passwords. */
function writeCurl({ method, target, headers, service, hasBody }: Remembered, urls: Readonly<Record<ServiceName, string>>): string {
  const words = ['curl', '-sS', ...(method === 'HEAD' ? ['--head'] : ['-X', method])];
  for (const [name, value] of Object.entries(headers)) if (!ownHeaders.has(name)) words.push('-H', `${name}: ${value}`);
  if (hasBody) words.push('--data-binary', '@-');
  return [...words, `${urls[service]}${redactPasswords(target)}`].map(quoteShell).join(' ');
}

function show(id: number, remembered: Remembered, urls: Readonly<Record<ServiceName, string>>): RecordedRequest {
  const { at, service, method, target, operation, caller, requestId, status, duration, error, faults } = remembered;
  return {
    id,
    time: new Date(at).toISOString(),
    service,
    operation: operation?.action,
    method,
    path: target.split('?', 1)[0] ?? '',
    status,
    duration: Math.round(duration),
    caller,
    address: showAddress(remembered),
    requestId,
    ...error,
    ...(faults !== undefined && { faults: faults.map(({ label }) => label) }),
    curl: writeCurl(remembered, urls),
  };
}

/** A text of its own: a substring, or a text put together from substrings, keeps in memory the whole text that it is from. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}

/** What is kept of an error. The error itself would keep what its stack refers to: the inputs of the request, as large as its body. */
export function rememberError({ code, message, hint }: ApiError): RememberedError {
  return { code, message: copy(cutInput(message)), ...(hint !== undefined && { reason: copy(hint) }) };
}

/**
 * The headers of the record before, if they are the same: most clients repeat theirs, and whatever is new in a record has to be moved by the
 * garbage collector twice before it is old.
 */
function shareHeaders(headers: Headers, before: Headers): Headers {
  const names = Object.keys(headers);
  const isSame = names.length === Object.keys(before).length && names.every((name) => headers[name] === before[name]);
  return isSame ? before : headers;
}

export function createRequestMemory(): RequestMemory {
  const remembered: Remembered[] = [];
  let count = 0;
  let latest: Headers = {};
  return {
    add: (request) => {
      const isTooLarge = request.status === 414 || request.status === 431;
      if (!isTooLarge) latest = shareHeaders(request.headers, latest);
      remembered[count % mostRequests] = isTooLarge
        ? { ...request, target: copy(request.target.slice(0, targetLimit)), headers: {} }
        : { ...request, headers: latest };
      count += 1;
    },
    list: (after, failedOnly, urls) => {
      const shown: RecordedRequest[] = [];
      for (let index = Math.max(after, count - mostRequests, 0); index < count; index += 1) {
        const each = remembered[index % mostRequests];
        if (each !== undefined && (!failedOnly || each.status >= 400 || each.status === 0)) shown.push(show(index + 1, each, urls));
      }
      return { requests: shown, latest: count };
    },
  };
}
