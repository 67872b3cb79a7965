import { compute } from '../api/compute.ts';
import { storage } from '../api/storage.ts';
import { createComputeHandlers } from './compute/index.ts';
import { createSecondHandlers } from './compute/second-images.ts';
import type { RequestMemory } from './http/recorded-requests.ts';
import { createService, type Service } from './http/serve.ts';
import type { JobEngine } from './jobs/engine.ts';
import { servePeers } from './peers/peers.ts';
import { nameSecond } from './peers/second-datacenter.ts';
import type { ServiceSettings } from './settings.ts';
import { answerPreflight } from './storage/cors.ts';
import { createStorageHandlers, entryAt } from './storage/index.ts';
import { assertUpload } from './storage/uploads.ts';
import type { LocalStore } from './store/open.ts';

/** Both services, and the compute service of the second datacenter. */
export type Services = Readonly<Record<'compute' | 'storage' | 'second', Service>>;

/** What the services need beside their data. */
export interface ServicesOptions {
  readonly datacenter: string;
  /** Milliseconds since the epoch, of the services and of the dates of requests. */
  readonly now: () => number;
  readonly requestTime: () => number;
  readonly log: (line: string) => void;
  readonly settings: ServiceSettings;
  readonly memory: RequestMemory;
  /** What other local services of the same owner show. */
  readonly secret: string;
}

/** The services over a store. */
export function createServices(store: LocalStore, jobs: JobEngine | undefined, options: ServicesOptions): Services {
  const { memory, secret, now, requestTime, log, settings, datacenter } = options;
  const shared = { store, datacenter, now, requestTime, log, settings };
  const plain = createService({ ...shared, memory, service: 'compute', operations: compute, handlers: createComputeHandlers() });
  return {
    compute: servePeers(plain, { store, secret, now }),
    storage: createService({
      ...shared,
      memory,
      service: 'storage',
      operations: storage,
      handlers: createStorageHandlers(jobs),
      entryAt,
      answerPreflight,
      assertUpload,
    }),
    second: createService({
      ...shared,
      datacenter: nameSecond(datacenter),
      service: 'compute',
      operations: compute,
      handlers: createSecondHandlers(),
    }),
  };
}
