import { undoOnFailure } from '../../base/undo-on-failure.ts';
import type { FinishedRequest, RequestObserver } from '../http/request-observer.ts';
import { listenForAdmin } from './admin.ts';
import type { TaskObserver } from '../jobs/engine-options.ts';
import { createGatewayMetrics, type GatewayState } from './gateway-metrics.ts';
import { findUnready, type MemberState } from './member-metrics.ts';
import { createWorkerMetrics } from './worker-metrics.ts';

/** Address of the admin port, which serves `/--live`, `/--ready` and `/--metrics`; undefined for none. */
export type AdminPlace = { readonly host: string; readonly port: number } | undefined;

/** Monitoring options of a gateway. */
export interface WatchOptions {
  readonly admin?: AdminPlace;
  /** Called for each finished request, for the log. */
  readonly onRequest?: ((request: FinishedRequest) => void) | undefined;
}

/** The monitoring of a gateway or worker. */
export interface Watch<Observer = RequestObserver> {
  readonly adminUrl: string | undefined;
  readonly observer: Observer | undefined;
  close(): Promise<void>;
}

function join(observer: RequestObserver, onRequest: WatchOptions['onRequest']): RequestObserver {
  if (onRequest === undefined) return observer;
  return {
    begun: observer.begun,
    ended: (request) => {
      observer.ended(request);
      onRequest(request);
    },
  };
}

/** Opens the admin port. */
async function answer(
  admin: NonNullable<AdminPlace>,
  state: MemberState,
  metrics: { write: () => string; end: () => void },
): Promise<{ adminUrl: string; close: () => Promise<void> }> {
  return undoOnFailure(metrics.end, async () => {
    const listener = await listenForAdmin(admin, { findUnready: () => findUnready(state), writeMetrics: metrics.write });
    return {
      adminUrl: listener.url,
      close: () => {
        metrics.end();
        return listener.close();
      },
    };
  });
}

/**
 * Starts monitoring a gateway, before anything else is started: from then on it is live, but not ready.
 * @throws {LocalError} if the admin port cannot be used
 */
export async function openWatch({ admin, onRequest }: WatchOptions, state: GatewayState): Promise<Watch> {
  if (admin === undefined) {
    const observer = onRequest && { begun: () => undefined, ended: onRequest };
    return { adminUrl: undefined, observer, close: () => Promise.resolve() };
  }
  const metrics = createGatewayMetrics(state);
  return { ...(await answer(admin, state, metrics)), observer: join(metrics.observer, onRequest) };
}

/** Starts monitoring a worker in the same way. @throws {LocalError} if the admin port cannot be used */
export async function openWorkerWatch(admin: AdminPlace, state: MemberState): Promise<Watch<TaskObserver>> {
  if (admin === undefined) return { adminUrl: undefined, observer: undefined, close: () => Promise.resolve() };
  const metrics = createWorkerMetrics(state);
  return { ...(await answer(admin, state, metrics)), observer: metrics.observer };
}
