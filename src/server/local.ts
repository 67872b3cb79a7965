import { join } from 'node:path';
import { compute } from '../api/compute.ts';
import type { Headers } from '../api/message.ts';
import { storage } from '../api/storage.ts';
import { assertOwnDataDirectory } from '../base/data-directory.ts';
import { listNames, prepareTls, type LocalTls } from './http/certificates.ts';
import { computePoolLimits, createConnectionPool } from './http/connection-pool.ts';
import { createComputeHandlers } from './compute/index.ts';
import { createSecondHandlers } from './compute/second-images.ts';
import { nameSecond } from './peers/second-datacenter.ts';
import type { JobEngine } from './jobs/engine.ts';
import type { IsolationKind } from './jobs/isolation.ts';
import { recallIsolation, rememberIsolation, showIsolation, type ShownIsolation } from './jobs/shown-isolation.ts';
import { listen, type Listener } from './http/listen.ts';
import { addAccounts, ensureAccount, type AccountOptions, type LocalAccount } from './seed/local-accounts.ts';
import { readPeerUrl } from './peers/client.ts';
import { prepareSecret, servePeers } from './peers/peers.ts';
import { createClock, type ServiceClock } from './clock.ts';
import { changeClock } from './control/clock.ts';
import { listenForControl } from './control/listen.ts';
import { createStateHandlers } from './control/state.ts';
import { createFaults, type Faults } from './faults/rules.ts';
import { createRequestMemory, type RequestMemory } from './http/recorded-requests.ts';
import { createService, type Service } from './http/serve.ts';
import type { ServiceSettings } from './settings.ts';
import { answerPreflight } from './storage/cors.ts';
import { assertUpload } from './storage/uploads.ts';
import { findReferenced } from './storage/contents.ts';
import { createStorageHandlers, entryAt } from './storage/index.ts';
import { collectUnreferenced } from './store/collect.ts';
import { openStore, type FileStore, type LocalStore } from './store/open.ts';

/** How the local service is to run; the settings of `cloud local start`. */
export interface LocalOptions extends Omit<ServiceSettings, 'faults'>, AccountOptions {
  /** 0: any free port. */
  readonly computePort: number;
  readonly storPort: number;
  /** Plain HTTP, which then counts as secure. */
  readonly http?: boolean;
  readonly host?: string | undefined;
  readonly datacenter?: string | undefined;
  /** Run jobs although others than this machine can reach the service. */
  readonly allowJobs?: boolean | undefined;
  /** The only way in which tasks of jobs may be kept from the rest of the machine; the strongest that it allows when absent. */
  readonly isolation?: IsolationKind | undefined;
  /** Tasks of jobs at once, and milliseconds that one may take. */
  readonly jobSlots?: number | undefined;
  readonly jobTimeLimit?: number | undefined;
  /** Failures that the services are to have, as `createFaults` reads them. */
  readonly faults?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  readonly log?: (line: string) => void;
  /** Headers added to every reply. */
  readonly headers?: Headers;
}

/** The running local service, and what a client needs to use it. */
export interface LocalService extends LocalAccount, ShownIsolation {
  readonly computeUrl: string;
  readonly storUrl: string;
  /** The accounts that were asked for beside the first one. */
  readonly accounts: readonly LocalAccount[];
  /** Certificate of the authority to trust; undefined for plain HTTP. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The isolation that the trial of this start finds; tasks depend on it alone. What is shown before may be that of an earlier start. */
  readonly tried: Promise<ShownIsolation>;
  /** Lets requests finish for up to `patience` milliseconds, then closes the store. */
  close(patience?: number): Promise<void>;
}

const defaultDatacenter = 'local';

/** The lists that the compute service shows of the cloud; the ports may be others than last time. */
async function writeAddresses(store: LocalStore, options: LocalOptions, listeners: Listeners): Promise<void> {
  const { datacenter = defaultDatacenter, peers = new Map<string, string>() } = options;
  const [computeUrl, storUrl] = [listeners.compute.url, listeners.storage.url];
  const urls = new Map([
    [datacenter, computeUrl],
    [nameSecond(datacenter), listeners.second.url],
  ]);
  // One that has never run has no address yet.
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

/** Options with the clock of the services, which may be set, as theirs. */
type ClockedOptions = LocalOptions & { readonly now: () => number; readonly clock: ServiceClock; readonly memory: RequestMemory };

/** The same service with further headers on every reply. */
function addHeaders(service: Service, headers: Headers): Service {
  return async (request, connection) => {
    const reply = await service(request, connection);
    return { ...reply, headers: { ...reply.headers, ...headers } };
  };
}

/** Whether only this machine can reach what listens at an address. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}

/** The engine of the jobs, before it is started. */
interface WaitingEngine extends JobEngine {
  start(): void;
}

/**
 * The engine of the jobs: their commands run on this machine, so there is none where others could send some, unless that is wanted. It is
 * loaded and started when the service listens: both take time in which nobody could be answered.
 */
export function prepareJobs(store: LocalStore, options: LocalOptions, url: () => string): WaitingEngine | undefined {
  const { dataDir, datacenter: server = defaultDatacenter, host = '127.0.0.1', allowJobs = false, now = Date.now } = options;
  const { log = () => undefined, jobSlots: slots, jobTimeLimit: timeLimit, isolation } = options;
  if (!allowJobs && !isLoopback(host)) {
    log(jobsNotAllowed);
    return undefined;
  }
  let start = (): void => undefined;
  const listening = new Promise<void>((resolve) => {
    start = resolve;
  });
  let started: JobEngine | undefined;
  const starting = listening.then(async () => {
    const { startJobEngine } = await import('./jobs/engine.ts');
    return (started = startJobEngine({ store, dataDir, url, server, now, log, slots, timeLimit, isolation }));
  });
  return {
    start,
    detected: starting.then(({ detected }) => detected),
    wake: (job) => void starting.then((engine) => engine.wake(job)),
    problemOf: (job) => started?.problemOf(job),
    close: async () => (await starting).close(),
  };
}

const jobsNotAllowed = 'jobs are off, because others can reach this service: --allow-jobs switches them on';

/** What the trial of the sandbox finds; the next start shows it before its own trial is over. */
async function awaitTrial(jobs: JobEngine | undefined, { dataDir, isolation }: LocalOptions): Promise<ShownIsolation> {
  if (!jobs) return { isolation: 'off', jobsOff: jobsNotAllowed };
  const shown = showIsolation(await jobs.detected);
  rememberIsolation(dataDir, isolation, shown);
  return shown;
}

/** Both services, and the compute service of the second datacenter. */
interface Listeners {
  readonly compute: Listener;
  readonly storage: Listener;
  readonly second: Listener;
}

async function listenAll(
  store: LocalStore,
  tls: LocalTls | undefined,
  jobs: JobEngine | undefined,
  settings: ServiceSettings,
  options: ClockedOptions,
): Promise<Listeners> {
  const { datacenter = defaultDatacenter, host = '127.0.0.1', now, clock, memory, log = () => undefined, headers = {} } = options;
  const shared = { store, datacenter, now, requestTime: clock.requestTime, log, settings };
  const sockets = {
    tls,
    host,
    log,
    trusted: options.http === true,
    settings,
    pool: createConnectionPool(log, computePoolLimits(settings)),
  };
  const plain = createService({ ...shared, memory, service: 'compute', operations: compute, handlers: createComputeHandlers() });
  const secondService = createService({
    ...shared,
    datacenter: nameSecond(datacenter),
    service: 'compute',
    operations: compute,
    handlers: createSecondHandlers(),
  });
  const computeService = servePeers(plain, { store, secret: await prepareSecret(options.dataDir), now });
  const storageHandlers = createStorageHandlers(jobs);
  const storageService = createService({
    ...shared,
    memory,
    service: 'storage',
    operations: storage,
    handlers: storageHandlers,
    entryAt,
    answerPreflight,
    assertUpload,
  });
  const opened: Listener[] = [];
  const open = async (service: Service, port: number): Promise<Listener> => {
    const listener = await listen({ ...sockets, handle: addHeaders(service, headers), port });
    opened.push(listener);
    return listener;
  };
  try {
    return {
      compute: await open(computeService, options.computePort),
      storage: await open(storageService, options.storPort),
      // Any free port: who needs it asks for the datacenters.
      second: await open(secondService, 0),
    };
  } catch (error) {
    await Promise.all(opened.map((listener) => listener.close(0)));
    throw error;
  }
}

/** Settings of services whose faults may be changed while they run. */
type LocalSettings = ServiceSettings & { readonly faults: Faults };

/** The settings among the options. */
function readSettings({ faults, ...options }: LocalOptions): LocalSettings {
  const { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers, serviceLimits } = options;
  return { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers, serviceLimits, faults: createFaults(faults) };
}

/** Begins to remove what a crash left behind; the function that is returned ends that. */
function beginCollecting(store: LocalStore, before: number, log: (line: string) => void): () => Promise<void> {
  const stop = new AbortController();
  const collecting = collectUnreferenced(store, before, findReferenced, stop.signal).then(
    (removed) => (removed > 0 ? log(`removed ${removed} contents that no object refers to`) : undefined),
    (error: unknown) => log(`collecting failed: ${String(error)}`),
  );
  return async () => {
    stop.abort();
    await collecting;
  };
}

async function run(store: FileStore, settings: LocalSettings, given: LocalOptions): Promise<LocalService> {
  const clock = createClock(given.now ?? Date.now);
  const memory = createRequestMemory();
  const options: ClockedOptions = { ...given, now: clock.now, clock, memory };
  const { dataDir, now, log = () => undefined } = options;
  const startedAt = now();
  const tls = await prepareLocalTls(options, startedAt);
  const account = await ensureAccount(store, options, startedAt);
  const accounts = await addAccounts(store, options, startedAt);
  let storUrl = '';
  const jobs = prepareJobs(store, options, () => storUrl);
  const listeners = await listenAll(store, tls, jobs, settings, options);
  const computeUrl = listeners.compute.url;
  storUrl = listeners.storage.url;
  const tried = awaitTrial(jobs, options);
  const known = jobs && recallIsolation(dataDir, options.isolation);
  // Who waits for the services does not wait for the trial as well.
  if (known) setImmediate(jobs.start);
  else jobs?.start();
  await writeAddresses(store, options, listeners);
  const { faults } = settings;
  const control = await listenForControl(
    dataDir,
    {
      clock: (input) => changeClock(clock, input),
      faults: () => ({ faults: faults.list() }),
      addFault: (input) => faults.add(input),
      clearFaults: ({ id }) => ({ faults: faults.clear(id) }),
      ...createStateHandlers(store, dataDir, given.now ?? Date.now),
      requests: ({ after = 0, failed = false }) => memory.list(after, failed, { compute: computeUrl, storage: storUrl }),
    },
    log,
  );
  const endCollecting = beginCollecting(store, Date.now(), log);
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
    close: async (patience) => {
      await control?.close();
      // Requests that faults hold are among those that may finish.
      faults.clear();
      const closing = Object.values<Listener>({ ...listeners }).map((listener) => listener.close(patience));
      await Promise.all([...closing, endCollecting(), jobs?.close()]);
      await store.close();
    },
  };
}

/**
 * Starts both services on this machine, with TLS under an authority of their own, over the data in `dataDir`; the first
 * start makes an account with a key and samples.
 * @throws {LocalError} when the directory or a port is in use; {UsageError} when login, key or faults cannot be used.
 */
export async function startLocal(options: LocalOptions): Promise<LocalService> {
  const settings = readSettings(options);
  assertOwnDataDirectory(options.dataDir);
  const store = await openStore(options.dataDir);
  try {
    return await run(store, settings, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}
