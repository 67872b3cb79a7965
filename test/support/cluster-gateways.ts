import { collect, type Collected, type CollectOptions } from '../../src/server/cluster-collector.ts';
import { countRequests } from '../../src/server/running-requests.ts';
import { createLoadGuard } from '../../src/server/shed-load.ts';
import { catchUp, createSharedPlace, openLeased, type LeasedStore } from './cluster-database.ts';
import { createTestService, joinServices, type JoinedServices, type TestService } from './service.ts';

/** A gateway as a function: services, connections and a lease of its own. */
export interface TestGateway extends LeasedStore, JoinedServices {
  /** Stops it, as SIGTERM does. */
  end(): Promise<void>;
}

/** Several gateways over one database and one folder. */
export interface TestGateways {
  readonly url: string;
  readonly dir: string;
  /** Account, key and database of all of them. */
  readonly service: TestService;
  /** Another gateway. @param clock of its process, milliseconds */
  add(clock?: () => number): Promise<TestGateway>;
  /** Says that all are alive, as time does. */
  renewAll(): Promise<void>;
  collect(options?: Partial<CollectOptions>): Promise<Collected | undefined>;
  close(): Promise<void>;
}

export async function createTestGateways(): Promise<TestGateways> {
  const place = await createSharedPlace();
  const { url, dir } = place;
  const leased = new Set<LeasedStore>();
  const open = async (clock?: () => number): Promise<LeasedStore> => {
    const opened = await openLeased(url, dir, clock);
    leased.add(opened);
    return opened;
  };
  const service = await createTestService({ open: place.open });
  return {
    url,
    dir,
    service,
    async add(clock) {
      const opened = await open(clock);
      const end = async (): Promise<void> => {
        leased.delete(opened);
        await opened.store.close();
      };
      return Object.assign(
        opened,
        { end },
        joinServices(opened.store, service.key, { wrap: (each) => countRequests(each, opened.lease, createLoadGuard({})) }),
      );
    },
    async renewAll() {
      for (const { lease } of leased) await catchUp(service.store.db, lease);
    },
    collect: (options = {}) => collect({ store: service.store, sweep: false, ...options }),
    async close() {
      for (const { store } of leased) await store.close();
      await service.close();
      await place.remove();
    },
  };
}
