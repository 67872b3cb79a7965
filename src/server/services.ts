import { compute } from '../api/compute.ts';
import type { Operations } from '../api/operation.ts';
import { createComputeHandlers } from './compute/index.ts';
import { describeSecond } from './compute/second-images.ts';
import type { ServiceOptions } from './http/answer.ts';
import { createService, type Service } from './http/serve.ts';
import type { JobEngine } from './jobs/engine.ts';
import { servePeers } from './peers/peers.ts';
import { nameSecond } from './peers/second-datacenter.ts';
import { describeStorage } from './storage/index.ts';
import type { Store } from './store/store.ts';

/** Both services, and the compute service of the second datacenter. */
export type Services = Readonly<Record<'compute' | 'storage' | 'second', Service>>;

/** What the services need apart from the store. */
export interface ServicesOptions extends Required<
  Pick<ServiceOptions<Operations>, 'datacenter' | 'now' | 'requestTime' | 'log' | 'settings' | 'memory'>
> {
  /** Secret that other local services of the same owner present. */
  readonly secret: string;
}

/** Creates the services over a store. */
export function createServices(store: Store, jobs: JobEngine | undefined, options: ServicesOptions): Services {
  const { memory, secret, now, requestTime, log, settings, datacenter } = options;
  const shared = { store, datacenter, now, requestTime, log, settings };
  const plain = createService({ ...shared, memory, service: 'compute', operations: compute, handlers: createComputeHandlers() });
  return {
    compute: servePeers(plain, { store, secret, now }),
    storage: createService({ ...shared, memory, ...describeStorage(jobs) }),
    second: createService({
      ...shared,
      datacenter: nameSecond(datacenter),
      service: 'compute',
      operations: compute,
      ...describeSecond(),
    }),
  };
}
