import type { Headers } from '../api/message.ts';
import { writeEmpty } from './http/response.ts';
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

/**
 * @param headers added to every response. A request with the same headers only asks whether these services run: it gets an empty response,
 * also while requests are held back, and no service delays, logs or records it.
 */
export function createGate(headers: Headers): Gate {
  const names = Object.keys(headers);
  const isProbe = (sent: Headers): boolean => names.length > 0 && names.every((name) => sent[name] === headers[name]);
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
      if (isProbe(request.headers)) return writeEmpty(204, headers);
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
