import { randomBytes } from 'node:crypto';
import { collect, type Collected } from '../../src/server/cluster-collector.ts';
import { openClusterStore, type ClusterStoreOptions } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from './cluster-database.ts';
import { createTestService, type Send, type TestService } from './service.ts';

/** A service on PostgreSQL whose contents are where there may be no room for them. */
export interface LimitedService extends TestService {
  /** A request to the object storage whose target is a name in `/demo/stor`. */
  readonly stor: Send;
  /** Stores an object of random bytes; the status of the response. */
  put(name: string, size: number): Promise<number>;
  /** Removes the contents that nothing refers to. */
  collect(): Promise<Collected | undefined>;
}

export async function createLimitedService(bytes: ClusterStoreOptions['bytes']): Promise<LimitedService> {
  const { url, drop } = await createDatabase();
  const service = await createTestService({ open: () => openClusterStore({ database: url, bytes }) });
  const stor: Send = (method, name, sent) => service.storage(method, `/demo/stor/${name}`, sent);
  return {
    ...service,
    stor,
    put: async (name, size) => (await stor('PUT', name, { body: randomBytes(size) })).status,
    collect: () => collect({ store: service.store, sweep: true }),
    close: async () => {
      await service.close();
      await drop();
    },
  };
}
