import { Kysely, PostgresDialect } from 'kysely';
import { readAll } from '../../../src/api/message.ts';
import { createService, type Service } from '../../../src/server/http/serve.ts';
import { keepCollecting } from '../../../src/server/keep-collecting.ts';
import { createLoadGuard } from '../../../src/server/shed-load.ts';
import { countRequests } from '../../../src/server/running-requests.ts';
import { describeStorage } from '../../../src/server/storage/index.ts';
import { foldRegularly } from '../../../src/server/store/fold-regularly.ts';
import type { Store } from '../../../src/server/store/store.ts';
import { keepLease, takeLease, type Lease } from '../../../src/server/store/postgres/lease.ts';
import { createWrites } from '../../../src/server/store/postgres/write.ts';
import type { Schema } from '../../../src/server/store/schema.ts';
import type { SendToStorage } from '../history-driver.ts';
import type { SimulatedBytes } from './bytes.ts';
import type { SimulatedDatabase } from './database.ts';
import type { Group, Simulation } from './simulation.ts';

/** Milliseconds between two collections of a gateway: short, so that one falls into each history. */
const collectPause = 9000;

/** Milliseconds of a lease. */
const lifetime = 15_000;

/** What a simulation consists of. */
export interface World {
  readonly simulation: Simulation;
  readonly database: SimulatedDatabase;
  readonly bytes: SimulatedBytes;
  /** Headers by which requests are known as those of `demo`. */
  readonly signed: Readonly<Record<string, string>>;
  /** Whether gateways put objects by one statement, in the midst of which nobody can be held. */
  readonly putsAtOnce: boolean;
  /** Answers 500, which there must be none of in any order of events. */
  readonly failures: string[];
  /** Who is no process of the product: clients, and whoever looks at the end. */
  readonly outside: Group;
  /** Who collects by hand. */
  readonly operator: Group;
}

/** A gateway of the product: its services, its lease, and what it does by itself. */
export interface SimulatedGateway {
  readonly group: Group;
  readonly store: Store;
  readonly lease: Lease;
  readonly send: SendToStorage;
}

/** No answer came, or one that says that the gateway cannot do it now. */
export class NoAnswer extends Error {}

/** Tasks are done by others, or by nobody. */
const elsewhere = { wake: () => undefined, problemOf: () => undefined, detected: Promise.resolve(undefined) };

/** The store of one process. */
export function openStore({ database, bytes, putsAtOnce }: World, group: Group, lease?: Lease): Store {
  const db = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: database.pool(group) }) });
  const { putAtOnce, ...writes } = createWrites(db, lease);
  return {
    db,
    bytes: bytes.of(group),
    ...writes,
    ...(putsAtOnce && { putAtOnce }),
    ...(lease && { beginReading: () => lease.begin().end }),
    close: async () => undefined,
  };
}

function createSender({ simulation, signed, failures }: World, group: Group, service: Service): SendToStorage {
  return (method, path, { headers = {}, body, json } = {}) =>
    new Promise((resolve, reject) => {
      const fail = (error: Error): void => reject(new NoAnswer(error.message));
      deaths.get(group)?.add(() => fail(new Error('the gateway died')));
      const ask = async (): Promise<void> => {
        const content = json === undefined ? body : Buffer.from(JSON.stringify(json));
        const typed = json === undefined ? {} : { 'content-type': 'application/json' };
        const all = { host: 'storage.test', ...signed, ...typed, ...headers };
        const request = { method, target: path, headers: all, ...(content !== undefined && { body: content }) };
        const response = await service(request, { remoteAddress: '127.0.0.1', secure: true });
        const bytes = Buffer.from(await readAll(response.body));
        simulation.note(`${group.name} answers ${method} ${path} ${response.status}`);
        if (response.status === 500) failures.push(`${method} ${path} by ${group.name}: ${response.status} ${bytes.toString()}`);
        if (response.status >= 500) throw new Error(`${response.status}`);
        resolve({ status: response.status, headers: response.headers, bytes });
      };
      void simulation.within(group, () => ask().catch((error: Error) => fail(error)), `${method} ${path}`);
    });
}

/** What is told of the end of a process. */
const deaths = new WeakMap<Group, Set<() => void>>();

/** Tells whoever waits for a process that it died. */
export function tellDeath(group: Group): void {
  for (const tell of deaths.get(group) ?? []) tell();
}

/** Starts a gateway. @param pause milliseconds between two collections of its own */
export async function startGateway(world: World, name: string, pause = collectPause): Promise<SimulatedGateway> {
  const { simulation, database } = world;
  const group = simulation.addGroup(name);
  deaths.set(group, new Set());
  return simulation.within(group, async () => {
    const own = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: database.pool(group) }) });
    const lease = await takeLease(own, { address: name, lifetime: lifetime / 1000, clock: () => simulation.now });
    group.hasLapsed = () => lease.age() >= lifetime;
    const log = (line: string): void => simulation.note(`${name} logs: ${line}`);
    const store = openStore(world, group, lease);
    const keeping = keepLease(lease, log);
    const settings = {};
    const now = (): number => Date.now();
    keepCollecting({ store, settings, keeping, log, holder: lease.id, pause });
    foldRegularly(store.db, log);
    const service = createService({
      store,
      datacenter: 'east-1',
      now,
      requestTime: () => Date.parse(world.signed['date'] ?? ''),
      settings,
      log,
      ...describeStorage(elsewhere),
    });
    return {
      group,
      store,
      lease,
      send: createSender(
        world,
        group,
        countRequests(
          service,
          lease,
          createLoadGuard(settings, () => 0),
        ),
      ),
    };
  });
}
