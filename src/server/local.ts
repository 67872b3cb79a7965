import { access } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { compute } from '../api/compute.ts';
import type { Headers } from '../api/message.ts';
import { storage } from '../api/storage.ts';
import { LocalError } from '../errors.ts';
import { findAccount, listKeysOf } from './accounts.ts';
import { prepareTls, type LocalTls } from './certificates.ts';
import { createComputeHandlers } from './compute/index.ts';
import { nameSecond } from './compute/second-datacenter.ts';
import { startJobEngine, type JobEngine } from './jobs/engine.ts';
import { listen, type Listener } from './listen.ts';
import { readPeerUrl } from './peer-client.ts';
import { prepareSecret, servePeers } from './peers.ts';
import { registerKey, seedAccount } from './seed-account.ts';
import { createFaults } from './fidelity.ts';
import { seedSamples } from './seed-samples.ts';
import { createService, type Service } from './serve.ts';
import type { ServiceSettings } from './settings.ts';
import { answerPreflight } from './storage/cors.ts';
import { findReferenced } from './storage/contents.ts';
import { createStorageHandlers, entryAt } from './storage/index.ts';
import { collectUnreferenced } from './store/collect.ts';
import { openStore, type LocalStore } from './store/open.ts';
import type { AccountRow } from './store/schema.ts';

/** How the local service is to run; the settings of `cloud local start`. */
export interface LocalOptions extends Omit<ServiceSettings, 'faults'> {
  readonly dataDir: string;
  /** 0: any free port. */
  readonly computePort: number;
  readonly storPort: number;
  /** Plain HTTP, which then counts as secure. */
  readonly http?: boolean;
  readonly host?: string | undefined;
  /** Login of the account that the first start makes. */
  readonly account?: string | undefined;
  /** A key to register, in OpenSSH format; without one the first start makes a key. */
  readonly publicKey?: string | undefined;
  /** No sample images, packages, networks and directories. */
  readonly empty?: boolean;
  readonly datacenter?: string | undefined;
  /** Run jobs although others than this machine can reach the service. */
  readonly allowJobs?: boolean | undefined;
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
export interface LocalService {
  readonly computeUrl: string;
  readonly storUrl: string;
  readonly account: string;
  readonly accountId: string;
  /** MD5 fingerprint of a key of the account. */
  readonly keyId: string;
  /** Private half of that key, where the service made it. */
  readonly keyFile: string | undefined;
  /** Certificate of the authority to trust; undefined for plain HTTP. */
  readonly caFile: string | undefined;
  readonly dataDir: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Lets requests finish for up to `patience` milliseconds, then closes the store. */
  close(patience?: number): Promise<void>;
}

const defaultAccount = 'demo';
const defaultDatacenter = 'local';

/** The account with the login asked for, the oldest one when none was, made when it is not there. */
async function ensureAccount(store: LocalStore, options: LocalOptions, now: number): Promise<AccountRow> {
  const oldest = await store.db.selectFrom('accounts').selectAll().orderBy('created').orderBy('login').executeTakeFirst();
  const login = options.account ?? oldest?.login ?? defaultAccount;
  const { publicKey } = options;
  const known = await findAccount(store.db, 'storage', login);
  const account = known ?? (await seedAccount(store, { login, publicKey, keyFile: keyFileOf(options, login), now }));
  if (known !== undefined && publicKey !== undefined) await registerKey(store, known, publicKey, now);
  if (oldest === undefined && options.empty !== true) await seedSamples(store, account, now);
  return account;
}

function keyFileOf({ dataDir }: LocalOptions, login: string): string {
  return join(dataDir, 'keys', `${login}.pem`);
}

/** The key to sign with: the one that was given, else the first, whose private half is here when the service made it. */
async function describeKey(
  store: LocalStore,
  options: LocalOptions,
  account: AccountRow,
): Promise<{ keyId: string; keyFile: string | undefined }> {
  const keys = await listKeysOf(store.db, account, undefined);
  const [blob] = options.publicKey?.match(/AAAA\S+/u) ?? [];
  const key = keys.find((each) => blob !== undefined && each.key.includes(blob)) ?? keys[0];
  if (key === undefined) throw new LocalError(`account ${account.login} has no key left; register one with --public-key FILE`);
  const keyFile = keyFileOf(options, account.login);
  const exists = await access(keyFile).then(
    () => true,
    () => false,
  );
  return { keyId: key.fingerprint, keyFile: exists && blob === undefined ? keyFile : undefined };
}

/** The lists that the compute service shows of the cloud; the ports may be others than last time. */
async function writeAddresses(store: LocalStore, options: LocalOptions, computeUrl: string, storUrl: string): Promise<void> {
  const { datacenter = defaultDatacenter, peers = new Map<string, string>() } = options;
  const urls = new Map([datacenter, nameSecond(datacenter)].map((name) => [name, computeUrl]));
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

async function prepareLocalTls({ http = false, dataDir, host = '127.0.0.1' }: LocalOptions, now: number): Promise<LocalTls | undefined> {
  if (http) return undefined;
  const names = isIP(host) === 0 && host !== 'localhost' ? ['localhost', host] : ['localhost'];
  return prepareTls(join(dataDir, 'tls'), names, now);
}

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

/** The engine of the jobs: their commands run on this machine, so there is none where others could send some, unless that is wanted. */
function startJobs(store: LocalStore, options: LocalOptions, url: () => string): JobEngine | undefined {
  const { dataDir, datacenter: server = defaultDatacenter, host = '127.0.0.1', allowJobs = false, now = Date.now } = options;
  const { log = () => undefined, jobSlots: slots, jobTimeLimit: timeLimit } = options;
  if (allowJobs || isLoopback(host)) return startJobEngine({ store, dataDir, url, server, now, log, slots, timeLimit });
  log('jobs are off, because others can reach this service: --allow-jobs switches them on');
  return undefined;
}

async function listenBoth(
  store: LocalStore,
  tls: LocalTls | undefined,
  jobs: JobEngine | undefined,
  settings: ServiceSettings,
  options: LocalOptions,
): Promise<[Listener, Listener]> {
  const { datacenter = defaultDatacenter, host = '127.0.0.1', now = Date.now, log = () => undefined, headers = {} } = options;
  const shared = { store, datacenter, now, log, settings };
  const sockets = { tls, host, log, trusted: options.http === true };
  const plain = createService({ ...shared, service: 'compute', operations: compute, handlers: createComputeHandlers() });
  const computeService = servePeers(plain, { store, secret: await prepareSecret(options.dataDir), now });
  const storageHandlers = createStorageHandlers(jobs);
  const storageService = createService({
    ...shared,
    service: 'storage',
    operations: storage,
    handlers: storageHandlers,
    entryAt,
    answerPreflight,
  });
  const first = await listen({ ...sockets, handle: addHeaders(computeService, headers), port: options.computePort });
  try {
    return [first, await listen({ ...sockets, handle: addHeaders(storageService, headers), port: options.storPort })];
  } catch (error) {
    await first.close(0);
    throw error;
  }
}

/** The settings among the options. */
function readSettings({ faults, ...options }: LocalOptions): ServiceSettings {
  const { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers } = options;
  const given = { staleness, limits, attestationAuthority, imageTime, throttle, latency, peers };
  return faults === undefined ? given : { ...given, faults: createFaults(faults) };
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

async function run(store: LocalStore, settings: ServiceSettings, options: LocalOptions): Promise<LocalService> {
  const { dataDir, now = Date.now, log = () => undefined } = options;
  const startedAt = now();
  const tls = await prepareLocalTls(options, startedAt);
  const account = await ensureAccount(store, options, startedAt);
  const key = await describeKey(store, options, account);
  let storUrl = '';
  const jobs = startJobs(store, options, () => storUrl);
  const [computeListener, storListener] = await listenBoth(store, tls, jobs, settings, options).catch(async (error: unknown) => {
    await jobs?.close();
    throw error;
  });
  storUrl = storListener.url;
  await writeAddresses(store, options, computeListener.url, storListener.url);
  const endCollecting = beginCollecting(store, Date.now(), log);
  return {
    computeUrl: computeListener.url,
    storUrl: storListener.url,
    account: account.login,
    accountId: account.id,
    ...key,
    caFile: tls?.caFile,
    dataDir,
    startedAt,
    close: async (patience) => {
      await Promise.all([computeListener.close(patience), storListener.close(patience), endCollecting(), jobs?.close()]);
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
  const store = await openStore(options.dataDir);
  try {
    return await run(store, settings, options);
  } catch (error) {
    await store.close();
    throw error;
  }
}
