import type { Headers } from '../api/message.ts';
import type { Service } from './http/serve.ts';
import type { Services } from './services.ts';

/** Holds back requests while the foundation of the services is replaced. Connections stay open. */
export interface Gate {
  /** A service that stays the same while its port is open. */
  guard(name: keyof Services): Service;
  /** Admits requests, to these services. */
  open(services: Services): void;
  /** Holds back new requests, and waits for running ones for up to `graceMs`. Responses that have begun continue. */
  shut(graceMs: number): Promise<void>;
}

/** @param headers added to every response */
export function createGate(headers: Headers): Gate {
  let current: Services | undefined;
  let inside = 0;
  let [wakeWaiting, tellEmpty] = [(): void => undefined, (): void => undefined];
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      wakeWaiting = resolve;
    });
  let opened = close();
  const admit = async (): Promise<Services> => {
    await opened;
    return current ?? (await admit());
  };
  return {
    guard: (name) => async (request, connection) => {
      const services = current ?? (await admit());
      inside += 1;
      try {
        const response = await services[name](request, connection);
        return { ...response, headers: { ...response.headers, ...headers } };
      } finally {
        inside -= 1;
        if (inside === 0) tellEmpty();
      }
    },
    open: (services) => {
      current = services;
      wakeWaiting();
    },
    shut: async (graceMs) => {
      current = undefined;
      opened = close();
      if (inside === 0) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, graceMs);
        tellEmpty = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      tellEmpty = () => undefined;
    },
  };
}
