import type { RecordedRequest } from '../../api/control.ts';
import type { Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import { quoteShell } from '../../base/quote.ts';
import type { ApiError } from '../../base/errors.ts';
import type { Caller, Connection } from './handler.ts';
import { showAddress, showCaller } from './request-log.ts';

/** What a service remembers of a request: what is there anyway, so that it costs next to nothing; words are made when somebody asks. */
interface Remembered {
  readonly at: number;
  readonly service: ServiceName;
  readonly request: Pick<Request, 'method' | 'target' | 'headers'>;
  readonly hasBody: boolean;
  readonly connection: Connection;
  readonly operation: Operation | undefined;
  readonly caller: Caller | undefined;
  readonly requestId: string;
  readonly status: number;
  readonly duration: number;
  readonly refusal: ApiError | undefined;
  readonly faults: readonly string[];
}

/** The latest requests of both services. */
export interface RequestMemory {
  add(request: Remembered): void;
  /** @param after the number of a request: only later ones @param urls of the services, for curl */
  list(after: number, failedOnly: boolean, urls: Readonly<Record<ServiceName, string>>): { requests: RecordedRequest[]; latest: number };
}

/** Most requests that are remembered, and most characters of headers and target of one. */
const mostRequests = 1000;
const mostCharacters = 16 * 1024;

/** Headers that curl makes itself. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect']);

function writeCurl(
  { request: { method, target, headers }, service, hasBody }: Remembered,
  urls: Readonly<Record<ServiceName, string>>,
): string {
  const words = ['curl', '-sS', ...(method === 'HEAD' ? ['--head'] : ['-X', method])];
  for (const [name, value] of Object.entries(headers)) if (!ownHeaders.has(name)) words.push('-H', `${name}: ${value}`);
  if (hasBody) words.push('--data-binary', '@-');
  return [...words, `${urls[service]}${target}`].map(quoteShell).join(' ');
}

function show(id: number, remembered: Remembered, urls: Readonly<Record<ServiceName, string>>): RecordedRequest {
  const { at, service, request, connection, operation, caller, requestId, status, duration, refusal, faults } = remembered;
  return {
    id,
    time: new Date(at).toISOString(),
    service,
    operation: operation?.action,
    method: request.method,
    path: request.target.split('?', 1)[0] ?? '',
    status,
    duration: Math.round(duration),
    caller: showCaller(caller),
    address: showAddress(connection),
    requestId,
    ...(refusal !== undefined && { code: refusal.code, message: refusal.message }),
    ...(refusal?.hint !== undefined && { reason: refusal.hint }),
    ...(faults.length > 0 && { faults }),
    curl: writeCurl(remembered, urls),
  };
}

export function createRequestMemory(): RequestMemory {
  const remembered: Remembered[] = [];
  let count = 0;
  return {
    add: (request) => {
      let length = request.request.target.length;
      for (const name in request.request.headers) length += request.request.headers[name]?.length ?? 0;
      remembered[count % mostRequests] =
        length <= mostCharacters ? request : { ...request, request: { method: request.request.method, target: '/', headers: {} } };
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
