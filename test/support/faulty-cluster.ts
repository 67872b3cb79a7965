import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { beginWork } from './acknowledged.ts';
import { chooseTestS3 } from './byte-stores.ts';
import { migrateDatabase } from './cluster-database.ts';
import { report } from './figures.ts';
import { findPorts } from './free-ports.ts';
import { startGatewayProcess, type RunningGateway } from './gateways.ts';
import { startHaproxy, type GatewayPorts } from './haproxy.ts';
import { openGate, type NetworkGate } from './network-gate.ts';
import { startPostgres, type TestPostgres } from './postgres.ts';
import { createRandom } from './random.ts';
import { createSandbox, type Sandbox } from './sandbox.ts';
import { isLong, scale, seed } from './scale.ts';
import { createRsaKey } from './service.ts';
import { openServices, type SignedServices } from './signed.ts';

/** Two gateways behind haproxy, as the guide to clusters has them, each part of which can fail. */
export interface FaultyCluster {
  readonly home: string;
  readonly postgres: TestPostgres;
  readonly gateways: readonly RunningGateway[];
  /** How each gateway reaches the database. */
  readonly gates: readonly NetworkGate[];
  /** How both reach the store of contents that `CLOUD_TEST_BYTES` names; undefined where they are in the folder `bytes` of the home. */
  readonly storeGate: NetworkGate | undefined;
  /** Client of the balancer. */
  readonly services: SignedServices;
  /** Starts a gateway that has ended. */
  restart(number: number): Promise<void>;
  close(): Promise<void>;
}

const [writers, readers] = [6, 3];
const random = createRandom(seed);
/** Milliseconds after which a client takes a request for lost. */
const clientPatience = 5000;
/** Milliseconds in which everybody must get on when all is back. */
export const recovery = 60_000;
/** Of the account `demo`. */
export const faultyKey = createRsaKey();

/** Where contents are: a folder, or what `CLOUD_TEST_BYTES` names, over a way that can be cut. */
async function chooseBytes({ home, env }: Sandbox): Promise<{ bytes: string; storeGate: NetworkGate | undefined }> {
  const store = chooseTestS3(home);
  if (store === undefined) return { bytes: `file://${home}/bytes`, storeGate: undefined };
  const storeGate = await openGate(Number(new URL(store.endpoint).port));
  const { accessKeyId, secretAccessKey } = store.credentials;
  Object.assign(env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
  const bytes = `s3://${store.bucket}/${store.prefix}?endpoint=http://127.0.0.1:${storeGate.port}&region=${store.region}`;
  return { bytes, storeGate };
}

async function startCluster(): Promise<FaultyCluster> {
  const { sandbox, remove } = createSandbox();
  const { home } = sandbox;
  const postgres = await startPostgres();
  await migrateDatabase(postgres, 'faults');
  chmodSync(sandbox.write('key.pem', faultyKey.privateKey.export({ type: 'pkcs8', format: 'pem' })), 0o600);
  const account = ['demo', '--email', 'demo@example.com', '--public-key', sandbox.write('key.pub', faultyKey.line)];
  chmodSync(sandbox.write('database', postgres.url('faults')), 0o600);
  await sandbox.json('server', 'accounts', 'create', ...account, '--database-file', join(home, 'database'));
  const { bytes, storeGate } = await chooseBytes(sandbox);
  const first = await findPorts(6);
  const ports = [0, 3].map((offset): GatewayPorts => [first + offset, first + offset + 1, first + offset + 2]);
  const words: string[][] = [];
  const gates: NetworkGate[] = [];
  const gateways: RunningGateway[] = [];
  for (const [number, [compute, stor, admin]] of ports.entries()) {
    const gate = await openGate(join(postgres.folder, '.s.PGSQL.5432'));
    const places = ['--database', `postgresql://cloud@127.0.0.1:${gate.port}/faults`, '--bytes', bytes, '--tls-dir', join(home, 'tls')];
    const listen = ['--compute-port', `${compute}`, '--stor-port', `${stor}`, '--admin-port', `${admin}`];
    words[number] = [...places, ...listen, '--proxy-protocol-from', '127.0.0.1', '--isolation', 'none'];
    gates.push(gate);
    gateways.push(await startGatewayProcess(sandbox, words[number]));
  }
  const balancer = await startHaproxy(ports);
  const urls = { computeUrl: `https://localhost:${balancer.computePort}`, storUrl: `https://localhost:${balancer.storPort}` };
  const client = { ...urls, account: 'demo', keyFile: join(home, 'key.pem'), caFile: join(home, 'tls/ca.pem') };
  const services = await openServices(client, 64, clientPatience);
  return {
    home,
    postgres,
    gateways,
    gates,
    storeGate,
    services,
    async restart(number) {
      gateways[number] = await startGatewayProcess(sandbox, words[number] ?? []);
    },
    async close() {
      await services.close();
      await Promise.all(gateways.map((each) => each.end('SIGKILL')));
      await balancer.stop();
      await Promise.all(gates.map((each) => each.close()));
      await storeGate?.close();
      await postgres.stop();
      remove();
    },
  };
}

/** Starts a cluster for a test file. */
export function useFaultyCluster(): { readonly cluster: FaultyCluster } {
  let started: FaultyCluster | undefined;
  beforeAll(async () => {
    started = await startCluster();
  }, 120_000);
  afterAll(async () => {
    await started?.close();
  }, 120_000);
  return {
    get cluster() {
      if (!started) throw new Error('the cluster has not started yet');
      return started;
    },
  };
}

/** What makes a directory. */
export const asDirectory = { headers: { 'content-type': 'application/json; type=directory' } };

/** Makes a directory, as soon as somebody does. @returns its path */
export async function makeDirectory({ services }: FaultyCluster, name: string): Promise<string> {
  const path = `/demo/stor/${name}`;
  await expect.poll(async () => (await services.send('storage', 'PUT', path, asDirectory)).status, { timeout: recovery }).toBe(204);
  return path;
}

/** Longest time between two moments, milliseconds. */
function findGap(moments: readonly number[]): number {
  const sorted = moments.toSorted((left, right) => left - right);
  return Math.max(...sorted.slice(1).map((moment, at) => moment - (sorted[at] ?? moment)));
}

let faultCount = 0;

/** Six writers and three readers work; something fails, and is back when `fail` ends; then everything is read back. */
export async function endure(cluster: FaultyCluster, name: string, fail: () => Promise<void>): Promise<void> {
  faultCount += 1;
  const work = beginWork(cluster.services, await makeDirectory(cluster, `fault${faultCount}`), writers, readers, random);
  await work.proceed(scale(3, 20), recovery);
  await fail();
  const back = performance.now();
  await work.proceed(scale(3, 20), recovery);
  expect(await work.check()).toEqual([]);
  const resumed = work.acknowledged.map((moments) => (moments.find((moment) => moment > back) ?? Infinity) - back);
  const moments = work.acknowledged.flat();
  expect(work.counts.reads).toBeGreaterThan(0);
  report('proof', {
    name: `cluster behind haproxy: ${name}`,
    ours: `${moments.length} acknowledged, 0 lost; ${work.counts.reads} reads, none wrong; longest gap ${Math.round(findGap(moments))} ms; all six writers went on after ${Math.round(Math.max(...resumed))} ms`,
    promise: 'nothing acknowledged is lost, no wrong bytes, all go on within 10 s',
  });
  // On a machine that does other work at the same time this would say nothing.
  if (isLong) expect(Math.max(...resumed)).toBeLessThan(10_000);
}
