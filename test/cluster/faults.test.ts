import { chmodSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginWork } from '../support/acknowledged.ts';
import { chooseTestS3 } from '../support/byte-stores.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { report } from '../support/figures.ts';
import { findPorts } from '../support/free-ports.ts';
import { beginPut, startGatewayProcess, type RunningGateway } from '../support/gateways.ts';
import { startHaproxy, type Balancer, type GatewayPorts } from '../support/haproxy.ts';
import { openGate, type NetworkGate } from '../support/network-gate.ts';
import { runStatement, startPostgres, type TestPostgres } from '../support/postgres.ts';
import { startStandby, type Standby } from '../support/postgres-standby.ts';
import { createRandom } from '../support/random.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { createRsaKey, signHeaders } from '../support/service.ts';
import { openServices, type SignedServices } from '../support/signed.ts';

/** What fails behind haproxy, with the program as an operator runs it: nothing acknowledged is lost, and no reader gets wrong bytes. */

const [writers, readers] = [6, 3];
const random = createRandom(seed);
/** Milliseconds after which a client takes a request for lost, and in which everybody must get on when all is back. */
const [clientPatience, recovery] = [5000, 60_000];
const key = createRsaKey();

let sandbox: Sandbox;
let remove: () => void;
let postgres: TestPostgres;
let standby: Standby | undefined;
let balancer: Balancer;
let services: SignedServices;
let bytes = '';
/** How each gateway reaches the database, where it listens, and what runs there. */
const gates: NetworkGate[] = [];
const ports: GatewayPorts[] = [];
const gateways: RunningGateway[] = [];

/** The way to the store of contents, where this run has one that is no folder. */
let storeGate: NetworkGate | undefined;

/** Where contents are: a folder, or what `CLOUD_TEST_BYTES` names, over a way that can be cut. */
async function chooseBytes(): Promise<string> {
  const store = chooseTestS3(sandbox.home);
  if (store === undefined) return `file://${sandbox.home}/bytes`;
  storeGate = await openGate(Number(new URL(store.endpoint).port));
  const { accessKeyId, secretAccessKey } = store.credentials;
  Object.assign(sandbox.env, { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey });
  return `s3://${store.bucket}/${store.prefix}?endpoint=http://127.0.0.1:${storeGate.port}&region=${store.region}`;
}

async function start(number: number): Promise<void> {
  const [compute, stor, admin] = ports[number] ?? [0, 0, 0];
  const database = `postgresql://cloud@127.0.0.1:${gates[number]?.port}/faults`;
  const places = ['--database', database, '--bytes', bytes, '--tls-dir', join(sandbox.home, 'tls')];
  const listen = ['--compute-port', `${compute}`, '--stor-port', `${stor}`, '--admin-port', `${admin}`];
  const words = [...places, ...listen, '--proxy-protocol-from', '127.0.0.1', '--isolation', 'none'];
  gateways[number] = await startGatewayProcess(sandbox, words);
}

const get = <T>(list: readonly T[], at: number): T => {
  const one = list[at];
  if (one === undefined) throw new Error(`there is no number ${at}`);
  return one;
};

beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  postgres = await startPostgres();
  await migrateDatabase(postgres, 'faults');
  chmodSync(sandbox.write('key.pem', key.privateKey.export({ type: 'pkcs8', format: 'pem' })), 0o600);
  const account = ['demo', '--email', 'demo@example.com', '--public-key', sandbox.write('key.pub', key.line)];
  sandbox.write('database', postgres.url('faults'));
  await sandbox.json('server', 'accounts', 'create', ...account, '--database-file', join(sandbox.home, 'database'));
  bytes = await chooseBytes();
  const first = await findPorts(6);
  for (const number of [0, 1]) {
    gates.push(await openGate(join(postgres.folder, '.s.PGSQL.5432')));
    ports.push([first + 3 * number, first + 3 * number + 1, first + 3 * number + 2]);
    await start(number);
  }
  balancer = await startHaproxy(ports);
  const urls = { computeUrl: `https://localhost:${balancer.computePort}`, storUrl: `https://localhost:${balancer.storPort}` };
  const client = { ...urls, account: 'demo', keyFile: join(sandbox.home, 'key.pem'), caFile: get(gateways, 0).told.caFile };
  services = await openServices(client, 64, clientPatience);
}, 120_000);

afterAll(async () => {
  await services.close();
  await Promise.all(gateways.map((each) => each.end('SIGKILL')));
  await balancer.stop();
  await Promise.all(gates.map((each) => each.close()));
  await storeGate?.close();
  await Promise.all([postgres.stop(), standby?.stop()]);
  remove();
}, 120_000);

const directory = { headers: { 'content-type': 'application/json; type=directory' } };

async function makeDirectory(name: string): Promise<string> {
  const path = `/demo/stor/${name}`;
  await expect.poll(async () => (await services.send('storage', 'PUT', path, directory)).status, { timeout: recovery }).toBe(204);
  return path;
}

/** Stores an object, if a gateway that is awake is asked. */
function put(path: string, body: Buffer): Promise<{ status: number } | undefined> {
  return services.send('storage', 'PUT', path, { body }).catch(() => undefined);
}

/** Longest time between two moments, milliseconds. */
function findGap(moments: readonly number[]): number {
  const sorted = moments.toSorted((left, right) => left - right);
  return Math.max(...sorted.slice(1).map((moment, at) => moment - (sorted[at] ?? moment)));
}

/** Lets the lease of a gateway end: in the long form by waiting, in the short one by what the database has of it. */
async function endLease({ child }: RunningGateway): Promise<void> {
  if (isLong) await sleep(16_000);
  // A lease has another id after each time it was lost.
  else
    await runStatement(postgres.url('faults'), `update gateways set until = clock_timestamp() where address like 'process ${child.pid} %'`);
}

let faultCount = 0;

/** Six writers and three readers work; something fails, and is back when `fail` ends; then everything is read back. */
async function endure(name: string, fail: () => Promise<void>): Promise<void> {
  faultCount += 1;
  const work = beginWork(services, await makeDirectory(`fault${faultCount}`), writers, readers, random);
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

const limit = { timeout: 240_000 };

describe('six writers and three readers', () => {
  test('a gateway is killed', limit, async () => {
    await endure('a gateway killed', async () => {
      await get(gateways, 0).end('SIGKILL');
    });
    await start(0);
  });

  test('PostgreSQL crashes and is away for 2 s', limit, async () => {
    await endure('PostgreSQL crashed, away 2 s', async () => {
      await postgres.crash();
      await sleep(2000);
      await postgres.start();
    });
  });

  test('a gateway and the database cannot reach each other', limit, async () => {
    const seconds = scale(4, 12);
    await endure(`a gateway cut off from the database for ${seconds} s`, async () => {
      get(gates, 0).cut();
      await sleep(seconds * 1000);
      get(gates, 0).mend();
    });
  });

  test('a gateway is frozen past its lease', limit, async () => {
    await endure('a gateway frozen past its lease', async () => {
      const { child } = get(gateways, 0);
      child.kill('SIGSTOP');
      await endLease(get(gateways, 0));
      await sleep(1000);
      child.kill('SIGCONT');
    });
  });

  test('what a gateway had begun before it was frozen past its lease is not stored when it wakes', limit, async () => {
    const path = `${await makeDirectory('frozen')}/object`;
    const late = await beginPut(get(gateways, 0), path, signHeaders('storage', { key, keyId: `/demo/keys/${key.fingerprint}` }));
    const { child } = get(gateways, 0);
    const body = Buffer.from('in time');
    child.kill('SIGSTOP');
    try {
      await endLease(get(gateways, 0));
      await expect.poll(async () => (await put(path, body))?.status, { timeout: recovery }).toBe(204);
    } finally {
      child.kill('SIGCONT');
    }
    expect([503, 'broken']).toContain(await late.finish());
    expect((await services.send('storage', 'GET', path)).bytes).toEqual(body);
  });

  test('the contents are away', limit, async () => {
    const folder = join(sandbox.home, 'bytes');
    const gate = storeGate;
    const seconds = scale(2, 5);
    if (gate === undefined) {
      await endure(`the folder of contents away for ${seconds} s`, async () => {
        await rename(folder, `${folder}.away`);
        await sleep(seconds * 1000);
        await rename(`${folder}.away`, folder);
      });
    } else {
      await endure(`the S3 store away for ${seconds} s`, async () => {
        gate.cut();
        await sleep(seconds * 1000);
        gate.mend();
      });
    }
  });

  test('PostgreSQL fails over to a synchronous standby', limit, async () => {
    standby = await startStandby(postgres);
    const promoted = standby;
    await endure('PostgreSQL failed over to a synchronous standby', async () => {
      await postgres.crash();
      promoted.promote();
      for (const gate of gates) gate.lead(join(promoted.folder, '.s.PGSQL.5432'));
    });
  });
});

describe('writers of the same, through both gateways', () => {
  test('of 40 conditional creations one succeeds', limit, async () => {
    const path = `${await makeDirectory('races')}/once`;
    const puts = Array.from({ length: 40 }, (_, at) =>
      services.send('storage', 'PUT', path, { body: Buffer.from(`${at}`), headers: { 'if-none-match': '*' } }),
    );
    const statuses = (await Promise.all(puts)).map(({ status }) => status);
    const refused = statuses.filter((status) => status === 412).length;
    expect([statuses.filter((status) => status === 204).length, refused]).toEqual([1, 39]);
    report('proof', { name: 'cluster behind haproxy: 40 conditional writers', ours: `one 204, ${refused} times 412`, promise: 'one wins' });
  });

  test('a directory is not removed under a child that is put into it', limit, async () => {
    const parent = await makeDirectory('parents');
    let orphans = 0;
    for (let round = 0; round < 60; round += 1) {
      const path = `${parent}/d${round}`;
      await services.send('storage', 'PUT', path, directory);
      const [removed, made] = await Promise.all([
        services.send('storage', 'DELETE', path),
        services.send('storage', 'PUT', `${path}/child`, { body: Buffer.from('x') }),
      ]);
      expect([
        [204, 404],
        [400, 204],
      ]).toContainEqual([removed.status, made.status]);
      const [there, child] = await Promise.all([path, `${path}/child`].map((each) => services.send('storage', 'GET', each)));
      if (there?.status === 404 && child?.status !== 404) orphans += 1;
      expect([there?.status, child?.status]).toEqual(made.status === 204 ? [200, 200] : [404, 404]);
    }
    report('proof', {
      name: 'cluster behind haproxy: rmdir against put of a child, 60 rounds',
      ours: `${orphans} orphans`,
      promise: 'none',
    });
  });
});
