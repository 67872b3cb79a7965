import { join } from 'node:path';
import type { ControlInput } from '../api/control.ts';
import { assertDataDirectory } from '../base/data-directory.ts';
import { undoOnFailure } from '../base/undo-on-failure.ts';
import { listNames, prepareTls, type LocalTls } from './http/certificates.ts';
import { computePoolLimits, createConnectionPool } from './http/connection-pool.ts';
import { nameSecond } from './peers/second-datacenter.ts';
import { recallIsolation } from './jobs/shown-isolation.ts';
import { listen, type Listener } from './http/listen.ts';
import { addAccounts, ensureAccount } from './seed/local-accounts.ts';
import { readPeerUrl } from './peers/client.ts';
import { prepareSecret } from './peers/peers.ts';
import { createClock, type ServiceClock } from './clock.ts';
import { changeClock } from './control/clock.ts';
import { listenForControl, type ControlHandlers, type ControlListener } from './control/listen.ts';
import { withoutChanges } from './control/replay.ts';
import { createStateHandlers } from './control/state.ts';
import { createFaults, type Faults } from './faults/rules.ts';
import { createCollecting, createLiveState, type Foundation } from './foundation.ts';
import { createGate, type Gate } from './gate.ts';
import { createRequestMemory, type RequestMemory } from './http/recorded-requests.ts';
import { awaitTrial, prepareJobs, type WaitingEngine } from './local-jobs.ts';
import { defaultDatacenter, type LocalOptions, type LocalService } from './local-options.ts';
import { beginAnew } from './seed/anew.ts';
import { seedStore } from './seed/samples.ts';
import { createServices, type Services } from './services.ts';
import type { ServiceSettings } from './settings.ts';
import { explainDatabase } from './store/damaged-database.ts';
import { openStore, type FileStore } from './store/open.ts';
import type { Store } from './store/store.ts';

export type { LocalOptions, LocalService } from './local-options.ts';

/** Stores the datacenters and services that the compute service lists; their ports may differ from those of the last start. */
async function writeAddresses(store: Store, options: LocalOptions, listeners: Listeners): Promise<void> {
  const { datacenter = defaultDatacenter, peers = new Map<string, string>() } = options;
  const [computeUrl, storUrl] = [listeners.compute.url, listeners.storage.url];
  const urls = new Map([
    [datacenter, computeUrl],
    [nameSecond(datacenter), listeners.second.url],
  ]);
  // A peer that has never run has no URL yet.
  for (const [name, dir] of peers) urls.set(name, (await readPeerUrl(dir)) ?? computeUrl);
  const datacenters = [...urls].map(([name, url]) => ({ name, url }));
  const services = [
    { name: 'compute', url: computeUrl },
    { name: 'storage', url: storUrl },
  ];
  await store.write(async (transaction) => {
    await transaction.deleteFrom('datacenters').execute();
    await transaction.insertInto('datacenters').values(datacenters).execute();
    await transaction.deleteFrom('services').execute();
    await transaction.insertInto('services').values(services).execute();
  });
}

async function prepareLocalTls({ http = false, dataDir, host }: LocalOptions, now: number): Promise<LocalTls | undefined> {
  if (http) return undefined;
  return prepareTls(join(dataDir, 'tls'), listNames(host), now);
}

/** Options with the settable clock of the services. */
type ClockedOptions = LocalOptions & { readonly now: () => number; readonly clock: ServiceClock; readonly memory: RequestMemory };

/** The listeners of both services, and of the compute service of the second datacenter. */
interface Listeners {
  readonly compute: Listener;
  readonly storage: Listener;
  readonly second: Listener;
}

async function listenAll(gate: Gate, tls: LocalTls | undefined, settings: ServiceSettings, options: LocalOptions): Promise<Listeners> {
  const { host = '127.0.0.1', log = () => undefined } = options;
  const sockets = {
    tls,
    host,
    log,
    trusted: options.http === true,
    settings,
    pool: createConnectionPool(log, computePoolLimits(settings)),
  };
  const opened: Listener[] = [];
  const open = async (name: keyof Services, port: number): Promise<Listener> => {
    const listener = await listen({ ...sockets, handle: gate.guard(name), port });
    opened.push(listener);
    return listener;
  };
  try {
    return {
      compute: await open('compute', options.computePort),
      storage: await open('storage', options.storPort),
      // Any free port: clients find it in the list of datacenters.
      second: await open('second', 0),
    };
  } catch (error) {
    await Promise.all(opened.map((listener) => listener.close(0)));
    throw error;
  }
}

/** Settings of services whose faults can be changed while they run. */
type LocalSettings = ServiceSettings & { readonly faults: Faults };

function readSettings({ faults, ...options }: LocalOptions): LocalSettings {
  const { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers, serviceLimits } = options;
  return { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers, serviceLimits, faults: createFaults(faults) };
}

/** Opens the control interface of running services. */
function controlServices(
  { faults }: LocalSettings,
  { dataDir, clock, memory, replay, log = () => undefined }: ClockedOptions,
  handlers: Pick<ControlHandlers, 'snapshot' | 'copyState' | 'restore' | 'seed' | 'reset'>,
  urls: { readonly compute: string; readonly storage: string },
): Promise<ControlListener | undefined> {
  const all: ControlHandlers = {
    clock: (input) => changeClock(clock, input),
    faults: () => ({ faults: faults.list() }),
    addFault: (input) => faults.add(input),
    clearFaults: ({ id }) => ({ faults: faults.clear(id) }),
    ...handlers,
    requests: ({ after = 0, failed = false }) => memory.list(after, failed, urls),
  };
  return listenForControl(dataDir, replay === undefined ? all : withoutChanges(all), log);
}

async function run(store: FileStore, settings: LocalSettings, given: LocalOptions): Promise<LocalService> {
  const clock = createClock(given.now ?? Date.now);
  const memory = createRequestMemory();
  const options: ClockedOptions = { ...given, now: clock.now, clock, memory };
  const { dataDir, datacenter = defaultDatacenter, now, log = () => undefined, headers = {} } = options;
  const startedAt = now();
  const tls = await prepareLocalTls(options, startedAt);
  const account = await ensureAccount(store, options, startedAt);
  const accounts = await addAccounts(store, options, startedAt);
  const secret = await prepareSecret(dataDir);
  let storUrl = '';
  const describe = { datacenter, now, requestTime: clock.requestTime, log, settings, memory, secret };
  const found = (over: FileStore, jobs: WaitingEngine | undefined): Foundation & { jobs: WaitingEngine | undefined } => ({
    store: over,
    jobs,
    services: given.replay?.services(log) ?? createServices(over, jobs, describe),
    collecting: createCollecting(over, log),
  });
  const first = found(
    store,
    prepareJobs(store, options, () => storUrl),
  );
  const gate = createGate(headers);
  gate.open(first.services);
  const listeners = await listenAll(gate, tls, settings, options);
  const computeUrl = listeners.compute.url;
  storUrl = listeners.storage.url;
  const { jobs } = first;
  const tried = awaitTrial(jobs, options);
  const known = jobs && recallIsolation(dataDir, options.isolation);
  // With a known isolation, the start of the services does not wait for the detection.
  if (known) setImmediate(jobs.start);
  else jobs?.start();
  await writeAddresses(store, options, listeners);
  const live = createLiveState(dataDir, gate, first, async (over) => {
    // The result of this start's detection is reused.
    const trial = await jobs?.detected;
    const isolation = trial !== undefined && 'isolation' in trial ? trial.isolation : options.isolation;
    const next = found(
      over,
      prepareJobs(over, { ...options, isolation }, () => storUrl),
    );
    await writeAddresses(over, options, listeners);
    next.jobs?.start();
    return next;
  });
  const beginning = { account, accounts, empty: options.empty === true };
  const handlers = {
    ...createStateHandlers(live, given.now ?? Date.now),
    seed: ({ account: login }: ControlInput<'seed'>) => live.inTurn(() => seedStore(live.current().store, login ?? account.account, now())),
    reset: () => live.replace((folder) => beginAnew(live.current().store, folder, { ...beginning, now: now() })).then(() => ({})),
  };
  const control = await controlServices(settings, options, handlers, { compute: computeUrl, storage: storUrl });
  first.collecting.begin();
  return {
    computeUrl,
    storUrl,
    ...account,
    accounts,
    caFile: tls?.caFile,
    dataDir,
    startedAt,
    ...(known ?? (await tried)),
    tried,
    close: async (graceMs) => {
      await control?.close();
      // Clearing the faults releases the requests that they delay, so that these can finish.
      settings.faults.clear();
      given.replay?.close();
      const closing = Object.values<Listener>({ ...listeners }).map((listener) => listener.close(graceMs));
      await Promise.all([...closing, live.close()]);
    },
  };
}

/**
 * Starts both services on this machine over the data in `dataDir`, with TLS under their own authority. The first start creates an account
 * with a key and sample data.
 * @throws {LocalError} if the directory or a port is in use, or the database is damaged; {UsageError} if login, key or faults are invalid, or the directory has other files
 */
export async function startLocal(options: LocalOptions): Promise<LocalService> {
  const settings = readSettings(options);
  assertDataDirectory(options.dataDir);
  const store = await openStore(options.dataDir);
  try {
    return await undoOnFailure(
      () => store.close(),
      () => run(store, settings, options),
    );
  } catch (error) {
    throw explainDatabase(options.dataDir, error);
  }
}
