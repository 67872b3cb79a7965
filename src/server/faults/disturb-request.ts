import type { Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Target } from '../http/target.ts';
import type { ServiceSettings } from '../settings.ts';
import { groupOf } from './failure.ts';
import { beginInjection, createInjection, disturbUpload, type Injection } from './inject.ts';

/** Injects the faults that are due for a request. @returns the request for the handler @throws {ApiError} {ConnectionClosed} */
export async function injectFaults(
  { service, settings, log = () => undefined }: { service: ServiceName; settings?: ServiceSettings; log?: (line: string) => void },
  exchange: Exchange,
  { operation, target, request }: { operation: Operation; target: Target; request: Request },
): Promise<Request> {
  const { caller, connection, requestId } = exchange;
  const { method, headers, body } = request;
  const due = settings?.faults?.take({
    action: operation.action,
    account: caller === undefined || caller.kind === 'anonymous' ? undefined : caller.account.login,
    path: target.path,
    isPossible: (failure) => {
      const group = groupOf(failure);
      if (group === 'stale') return method === 'GET';
      return group === 'upload' ? body !== undefined : method !== 'HEAD' || group !== 'download';
    },
  });
  if (due === undefined || due.length === 0) return request;
  for (const { id, label } of due) log(`${requestId} fault ${id} injected: ${label}`);
  const injection = createInjection(due);
  exchange.injection = injection;
  await beginInjection(injection, service, operation.action);
  const gone = new AbortController();
  connection.onGone?.(() => gone.abort());
  return { ...request, body: disturbUpload(injection, body, headers, gone.signal) };
}

/**
 * The settings with the staleness of this request: that of the due fault for a read, the longest of all rules for a write, so that its
 * change is kept for long enough.
 */
export function applyLag(settings: ServiceSettings, { method }: Operation, injection: Injection | undefined): ServiceSettings {
  const longest = settings.faults?.isEmpty === false ? settings.faults.longestLag : 0;
  if (longest === 0) return settings;
  const usual = settings.staleness ?? 0;
  return { ...settings, staleness: method === 'GET' ? Math.max(usual, injection?.staleness ?? 0) : Math.max(usual, longest) };
}
