import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { asDirectory, endure, faultyKey as key, makeDirectory, recovery, useFaultyCluster } from '../support/faulty-cluster.ts';
import { report } from '../support/figures.ts';
import { beginPut, type RunningGateway } from '../support/gateways.ts';
import { lacksHaproxy } from '../support/haproxy.ts';
import { runStatement } from '../support/postgres.ts';
import { lacksPostgresTools } from '../support/postgres-programs.ts';
import { startStandby, type Standby } from '../support/postgres-standby.ts';
import { isLong, scale } from '../support/scale.ts';
import { signHeaders } from '../support/service.ts';

/** What fails behind haproxy, with the program as an operator runs it: nothing acknowledged is lost, and no reader gets wrong bytes. */

const used = useFaultyCluster();
let standby: Standby | undefined;
afterAll(() => standby?.stop());

const get = <T>(list: readonly T[], at: number): T => {
  const one = list[at];
  if (one === undefined) throw new Error(`there is no number ${at}`);
  return one;
};

/** Stores an object, if a gateway that is awake is asked. */
function put(path: string, body: Buffer): Promise<{ status: number } | undefined> {
  return used.cluster.services.send('storage', 'PUT', path, { body }).catch(() => undefined);
}

/** Lets the lease of a gateway end: in the long form by waiting, in the short one by what the database has of it. */
async function endLease({ child }: RunningGateway): Promise<void> {
  if (isLong) await sleep(16_000);
  // A lease has another id after each time it was lost.
  else
    await runStatement(
      used.cluster.postgres.url('faults'),
      `update gateways set until = clock_timestamp() where address like 'process ${child.pid} %'`,
    );
}

const limit = { timeout: 240_000 };

describe.skipIf(lacksHaproxy())('six writers and three readers', () => {
  test('a gateway is killed', limit, async () => {
    await endure(used.cluster, 'a gateway killed', async () => {
      await get(used.cluster.gateways, 0).end('SIGKILL');
    });
    await used.cluster.restart(0);
  });

  test('PostgreSQL crashes and is away for 2 s', limit, async () => {
    await endure(used.cluster, 'PostgreSQL crashed, away 2 s', async () => {
      await used.cluster.postgres.crash();
      await sleep(2000);
      await used.cluster.postgres.start();
    });
  });

  test('a gateway and the database cannot reach each other', limit, async () => {
    const seconds = scale(4, 12);
    await endure(used.cluster, `a gateway cut off from the database for ${seconds} s`, async () => {
      get(used.cluster.gates, 0).cut();
      await sleep(seconds * 1000);
      get(used.cluster.gates, 0).mend();
    });
  });

  test('a gateway is frozen past its lease', limit, async () => {
    await endure(used.cluster, 'a gateway frozen past its lease', async () => {
      const { child } = get(used.cluster.gateways, 0);
      child.kill('SIGSTOP');
      await endLease(get(used.cluster.gateways, 0));
      await sleep(1000);
      child.kill('SIGCONT');
    });
  });

  test('what a gateway had begun before it was frozen past its lease is not stored when it wakes', limit, async () => {
    const path = `${await makeDirectory(used.cluster, 'frozen')}/object`;
    const late = await beginPut(
      get(used.cluster.gateways, 0),
      path,
      signHeaders('storage', { key, keyId: `/demo/keys/${key.fingerprint}` }),
    );
    const { child } = get(used.cluster.gateways, 0);
    const body = Buffer.from('in time');
    child.kill('SIGSTOP');
    try {
      await endLease(get(used.cluster.gateways, 0));
      await expect.poll(async () => (await put(path, body))?.status, { timeout: recovery }).toBe(204);
    } finally {
      child.kill('SIGCONT');
    }
    expect([503, 'broken']).toContain(await late.finish());
    expect((await used.cluster.services.send('storage', 'GET', path)).bytes).toEqual(body);
  });

  test.skipIf(lacksPostgresTools())('PostgreSQL fails over to a synchronous standby', limit, async () => {
    standby = await startStandby(used.cluster.postgres);
    const promoted = standby;
    await endure(used.cluster, 'PostgreSQL failed over to a synchronous standby', async () => {
      await used.cluster.postgres.crash();
      promoted.promote();
      for (const gate of used.cluster.gates) gate.lead(join(promoted.folder, '.s.PGSQL.5432'));
    });
  });
});

describe.skipIf(lacksHaproxy())('writers of the same, through both gateways', () => {
  test('of 40 conditional creations one succeeds', limit, async () => {
    const path = `${await makeDirectory(used.cluster, 'races')}/once`;
    const puts = Array.from({ length: 40 }, (_, at) =>
      used.cluster.services.send('storage', 'PUT', path, { body: Buffer.from(`${at}`), headers: { 'if-none-match': '*' } }),
    );
    const statuses = (await Promise.all(puts)).map(({ status }) => status);
    const refused = statuses.filter((status) => status === 412).length;
    expect([statuses.filter((status) => status === 204).length, refused]).toEqual([1, 39]);
    report('proof', { name: 'cluster behind haproxy: 40 conditional writers', ours: `one 204, ${refused} times 412`, promise: 'one wins' });
  });

  test('a directory is not removed under a child that is put into it', limit, async () => {
    const parent = await makeDirectory(used.cluster, 'parents');
    let orphans = 0;
    for (let round = 0; round < 60; round += 1) {
      const path = `${parent}/d${round}`;
      await used.cluster.services.send('storage', 'PUT', path, asDirectory);
      const [removed, made] = await Promise.all([
        used.cluster.services.send('storage', 'DELETE', path),
        used.cluster.services.send('storage', 'PUT', `${path}/child`, { body: Buffer.from('x') }),
      ]);
      expect([
        [204, 404],
        [400, 204],
      ]).toContainEqual([removed.status, made.status]);
      const [there, child] = await Promise.all([path, `${path}/child`].map((each) => used.cluster.services.send('storage', 'GET', each)));
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
