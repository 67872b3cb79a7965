import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { sql } from 'kysely';
import { compute as computeOperations } from '../api/compute.ts';
import { openMember, runMember, type Member, type MemberOptions } from './cluster-member.ts';
import { listNames } from './http/certificates.ts';
import { computePoolLimits, createConnectionPool } from './http/connection-pool.ts';
import { listen, type Listener } from './http/listen.ts';
import { createService } from './http/serve.ts';
import { followTls, readTls, type TlsPair, type TlsPlace } from './http/tls-source.ts';
import { createComputeHandlers } from './compute/index.ts';
import { followCancelled } from './jobs/disabled-accounts.ts';
import { createJobsElsewhere } from './jobs/elsewhere.ts';
import type { JobService } from './jobs/engine.ts';
import { countSlots, prepareJobs } from './local-jobs.ts';
import { defaultDatacenter, type LocalOptions } from './local-options.ts';
import { describeStorage, placeAt } from './storage/index.ts';
import { foldRegularly } from './store/fold-regularly.ts';
import { keepCollecting } from './keep-collecting.ts';
import { countRequests } from './running-requests.ts';
import { createLoadGuard } from './shed-load.ts';
import type { Store } from './store/store.ts';
import type { Lease } from './store/postgres/lease.ts';
import { followGarbage } from './operator/follow-garbage.ts';
import { followTasks } from './operator/follow-tasks.ts';
import type { GatewayState } from './operator/gateway-metrics.ts';
import { openWatch, type Watch, type WatchOptions } from './operator/watch.ts';
import type { OwnAddresses, ServiceSettings } from './settings.ts';

type SharedOptions = Pick<
  LocalOptions,
  'computePort' | 'storPort' | 'host' | 'datacenter' | 'allowJobs' | 'isolation' | 'jobSlots' | 'jobTimeLimit' | 'now' | 'log'
>;

/** Options of a gateway; the settings of `cloud server gateway`. */
export interface GatewayOptions extends SharedOptions, WatchOptions, MemberOptions {
  /** Undefined for plain HTTP, which then counts as secure. */
  readonly tls: TlsPlace | undefined;
  /** URLs by which clients reach the services, through a load balancer for example; those of the ports here when absent. */
  readonly publicUrl?: string | undefined;
  readonly storPublicUrl?: string | undefined;
  readonly settings?: ServiceSettings;
  /** True for addresses of load balancers, which begin each connection with a PROXY header. */
  readonly isBalancer?: ((address: string) => boolean) | undefined;
  /** True if tasks of jobs are left to workers. */
  readonly noJobs?: boolean | undefined;
  /** True if the gateway takes part in removing such contents; true when absent. */
  readonly collects?: boolean | undefined;
}

/** A running gateway. */
export interface Gateway {
  readonly computeUrl: string;
  readonly storUrl: string;
  /** URL of the admin port. */
  readonly adminUrl: string | undefined;
  /** Certificate of the authority to trust, if the gateway generated it. */
  readonly caFile: string | undefined;
  /** Id of its lease. */
  readonly id: string;
  /** Reloads its certificate. */
  reload(): Promise<void>;
  /** Reports that it is not ready, and closes each connection after its next response. It continues to serve until it is closed. */
  drain(): void;
  /** Lets requests finish for up to `graceMs`, then releases the lease. */
  close(graceMs?: number): Promise<void>;
}

/** Host names that a generated certificate must cover. */
function listTlsNames({ host, publicUrl, storPublicUrl }: GatewayOptions): string[] {
  const reached = [publicUrl, storPublicUrl].flatMap((url) => (url === undefined ? [] : new URL(url).hostname.replace(/^\[|\]$/gu, '')));
  return [...new Set([...listNames(host), ...reached])];
}

/** Logs the hosts of the public URLs for which the certificate is not valid: clients refuse it there. */
function warnOfNames({ certificate }: TlsPair, { publicUrl, storPublicUrl }: GatewayOptions, log: (line: string) => void): void {
  const parsed = new X509Certificate(certificate);
  for (const url of [publicUrl, storPublicUrl]) {
    if (!url?.startsWith('https:')) continue;
    const host = new URL(url).hostname.replace(/^\[|\]$/gu, '');
    if ((isIP(host) === 0 ? parsed.checkHost(host) : parsed.checkIP(host)) === undefined)
      log(`the certificate is not valid for ${host}, the host of ${url}: clients will refuse it unless another one is presented there`);
  }
}

/**
 * Stores the names of this cloud's own datacenter and services. Each gateway reports its own URLs for these names, instead of those in the
 * rows, but workers read that of the object storage. A URL that the operator gave replaces any other; that of a port replaces only one of
 * this machine alone, which may be of a gateway that is gone.
 */
async function nameServices(store: Store, { datacenters, services }: OwnAddresses, isGiven: (url: string) => boolean): Promise<void> {
  await store.write(async (transaction) => {
    for (const [table, urls] of [
      ['datacenters', datacenters],
      ['services', services],
    ] as const)
      for (const [name, url] of Object.entries(urls)) {
        const place = sql.ref(`${table}.url`);
        await sql`
          insert into ${sql.table(table)} (name, url) values (${name}, ${url}) on conflict (name) do update set url = excluded.url
          where ${isGiven(url)} or ${place} ~ '^https?://(localhost|127[.]|[[]::1)'`.execute(transaction);
      }
  });
}

/** Opens the ports of both services. */
async function listenBoth(
  store: Store,
  tls: TlsPair | undefined,
  { jobs, lease, watch, state }: { jobs: JobService | undefined; lease: Lease; watch: Watch; state: GatewayState },
  options: GatewayOptions,
): Promise<[Listener, Listener]> {
  const { datacenter = defaultDatacenter, host = '127.0.0.1', now = Date.now, log = () => undefined, settings = {} } = options;
  const load = createLoadGuard(settings);
  const shared = { store, datacenter, now, log, settings, observer: watch.observer, refusal: load.refusal };
  const pool = createConnectionPool(log, computePoolLimits(settings));
  state.connections = () => pool.count();
  const sockets = { tls, host, log, trusted: tls === undefined, settings, pool, isBalancer: options.isBalancer };
  const handlers = createComputeHandlers();
  const compute = createService({ ...shared, service: 'compute', operations: computeOperations, handlers });
  const storage = createService({ ...shared, ...describeStorage(jobs), placeAt });
  const first = await listen({ ...sockets, handle: countRequests(compute, lease, load), port: options.computePort });
  try {
    return [first, await listen({ ...sockets, handle: countRequests(storage, lease, load), port: options.storPort })];
  } catch (error) {
    await first.close(0);
    throw error;
  }
}

async function serve(
  { store, lease, keeping, dataDir }: Member,
  { watch, state }: { watch: Watch; state: GatewayState },
  options: GatewayOptions,
): Promise<Gateway> {
  const { datacenter = defaultDatacenter, now = Date.now, log = () => undefined } = options;
  const { tls: place } = options;
  const readPair = place && (() => readTls(place, listTlsNames(options), now()));
  const tls = await readPair?.();
  if (tls !== undefined) warnOfNames(tls, options, log);
  const { serviceLimits } = options.settings ?? {};
  const local: LocalOptions = { ...options, datacenter, dataDir, http: tls === undefined, serviceLimits };
  let own: OwnAddresses = { datacenters: {}, services: {} };
  const settings = { ...options.settings, addresses: () => own };
  const engine = options.noJobs === true ? undefined : prepareJobs(store, local, () => own.services['storage'] ?? '', lease.id);
  const jobs = options.noJobs === true ? createJobsElsewhere(store) : engine;
  const [compute, storage] = await listenBoth(store, tls, { jobs, lease, watch, state }, { ...options, settings });
  const listeners = [compute, storage];
  const use = (pair: TlsPair): void => listeners.forEach((listener) => listener.renewTls(pair));
  const following = readPair && tls && followTls(readPair, tls, { use, log });
  if (following !== undefined) state.certificateEnd = () => following.current().end;
  const { publicUrl = compute.url, storPublicUrl = storage.url } = options;
  own = { datacenters: { [datacenter]: publicUrl }, services: { compute: publicUrl, storage: storPublicUrl } };
  const stopFollowing = engine && followCancelled(store, engine.wake, log);
  const stopFolding = foldRegularly(store.db, log);
  const garbage = watch.adminUrl === undefined ? undefined : followGarbage(store.db);
  if (garbage !== undefined) state.garbage = garbage.read;
  const tasks = watch.adminUrl === undefined ? undefined : followTasks(store.db);
  if (tasks !== undefined) state.tasks = tasks.read;
  const { collects = true } = options;
  const collecting = collects ? keepCollecting({ store, settings, keeping, log, holder: lease.id }) : undefined;
  const closeAll = async (graceMs?: number): Promise<void> => {
    await following?.stop();
    await stopFollowing?.();
    const background = [engine?.close(), collecting?.stop(), stopFolding(), garbage?.stop(), tasks?.stop()];
    await Promise.all([compute.close(graceMs), storage.close(graceMs), ...background]);
  };
  try {
    await nameServices(store, own, (url) => [options.publicUrl, options.storPublicUrl].includes(url)).finally(() => engine?.start());
  } catch (error) {
    await closeAll(0);
    throw error;
  }
  state.phase = 'serving';
  const drain = (): void => {
    state.phase = 'draining';
    for (const listener of listeners) listener.drain();
  };
  const { adminUrl } = watch;
  return {
    computeUrl: compute.url,
    storUrl: storage.url,
    adminUrl,
    caFile: tls?.caFile,
    id: lease.id,
    reload: async () => following?.reload(),
    drain,
    close: (graceMs) => {
      drain();
      return closeAll(graceMs);
    },
  };
}

/**
 * Serves both services over a migrated PostgreSQL database and a store of contents, beside any number of other gateways.
 * @throws {LocalError} if the database, the directory or a port cannot be used
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const state: GatewayState = { phase: 'starting' };
  const watch = await openWatch(options, state);
  const { keepGarbage = 0, now: time } = options;
  const opening = openMember('process', { ...options, keepGarbage, time, slots: options.noJobs === true ? 0 : countSlots(options) });
  return runMember(watch, opening, (member) => {
    state.lease = member.lease;
    return serve(member, { watch, state }, options);
  });
}
