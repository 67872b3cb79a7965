import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { delayConnections, type DelayedServer } from '../support/delayed-server.ts';
import { findDamage } from '../support/find-damage.ts';
import { report } from '../support/figures.ts';
import { measureLoad, type Measured } from '../support/load.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { scale } from '../support/scale.ts';
import { createTestService } from '../support/service.ts';

/** Small objects through one gateway whose PostgreSQL is on the same machine, and on one that is 2 ms away: requests wait for few answers. */

const concurrency = 8;
const count = scale(400, 4000);
const body = Buffer.alloc(4096, 'x');
const delays = [0, 2] as const;

let server: TestPostgres;
let far: DelayedServer;
let dir = '';

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-bench-'));
  server = await startPostgres();
  for (const delay of delays) await migrateDatabase(server, `bench${delay}`);
  far = await delayConnections(server, delays[1]);
});
afterAll(async () => {
  far.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
});

test.each(delays)('GET and PUT of small objects, PostgreSQL %s ms away', { timeout: 300_000 }, async (delay) => {
  const database = (delay === 0 ? server : far).url(`bench${delay}`);
  // A folder belongs to one database.
  const bytes = join(dir, String(delay));
  await mkdir(bytes);
  const gateway = await createTestService({ open: () => openClusterStore({ database, bytes }) });
  const measure = (method: 'GET' | 'PUT', status: number, pathOf: (number: number) => string): Promise<Measured> =>
    measureLoad({ count, concurrency }, async (number) => {
      const response = await gateway.storage(method, pathOf(number), method === 'PUT' ? { body } : {});
      expect(response.status).toBe(status);
    });
  const created = await measure('PUT', 204, (number) => `/demo/stor/o${number}`);
  const replaced = await measure('PUT', 204, (number) => `/demo/stor/o${number}`);
  const read = await measure('GET', 200, (number) => `/demo/stor/o${number}`);
  expect(await findDamage(gateway.store)).toEqual([]);
  await gateway.close();
  const show = ({ rate, p50 }: Measured): string => `${rate.toFixed(0)}/s, half in ${p50.toFixed(1)} ms`;
  report('bench', {
    name: `objects of 4 KiB, ${concurrency} at once by one gateway, ${delay} ms to PostgreSQL`,
    ours: `GET ${show(read)}; PUT ${show(created)}; PUT over another ${show(replaced)}`,
  });
});
