import type { FinishedRequest, RequestObserver } from '../http/request-observer.ts';
import { listenForAdmin } from './admin.ts';
import type { WaitingGarbage } from './follow-garbage.ts';
import { createGatewayMetrics } from './gateway-metrics.ts';

/** What is known of a gateway, filled in as it starts. */
export interface GatewayState {
  phase: 'starting' | 'serving' | 'draining';
  lease?: { age(): number; isLost(): boolean };
  connections?: () => number;
  /** Milliseconds since the epoch. */
  certificateEnd?: () => number;
  garbage?: () => WaitingGarbage | undefined;
}

/** How a gateway is watched. */
export interface WatchOptions {
  /** Where `/--live`, `/--ready` and `/--metrics` are answered; nowhere when absent. */
  readonly admin?: { readonly host: string; readonly port: number } | undefined;
  /** Takes each request, for the log. */
  readonly onRequest?: ((request: FinishedRequest) => void) | undefined;
}

/** What watches a gateway. */
export interface Watch {
  readonly adminUrl: string | undefined;
  readonly observer: RequestObserver | undefined;
  close(): Promise<void>;
}

/** Why no requests should be sent to a gateway; undefined while they should. */
function findUnready({ phase, lease }: GatewayState): string | undefined {
  if (phase !== 'serving') return phase;
  return lease?.isLost() === true ? 'the lease is lost' : undefined;
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

/**
 * Begins to watch a gateway, before it does anything else: it is live from then on, and not ready.
 * @throws {LocalError} when the admin port cannot be used
 */
export async function openWatch({ admin, onRequest }: WatchOptions, state: GatewayState): Promise<Watch> {
  if (admin === undefined) {
    const observer = onRequest && { begun: () => undefined, ended: onRequest };
    return { adminUrl: undefined, observer, close: () => Promise.resolve() };
  }
  const metrics = createGatewayMetrics({
    leaseAge: () => state.lease?.age(),
    isReady: () => findUnready(state) === undefined,
    connections: () => state.connections?.() ?? 0,
    certificateEnd: () => state.certificateEnd?.(),
    garbage: () => state.garbage?.(),
  });
  try {
    const listener = await listenForAdmin(admin, { findUnready: () => findUnready(state), writeMetrics: metrics.write });
    return {
      adminUrl: listener.url,
      observer: join(metrics.observer, onRequest),
      close: () => {
        metrics.end();
        return listener.close();
      },
    };
  } catch (error) {
    metrics.end();
    throw error;
  }
}
