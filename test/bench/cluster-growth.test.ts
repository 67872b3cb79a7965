import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { streamOf } from '../../src/api/message.ts';
import { collect } from '../../src/server/cluster-collector.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { delayConnections, type DelayedServer } from '../support/delayed-server.ts';
import { report } from '../support/figures.ts';
import { measureLoad } from '../support/load.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { isLong, scale } from '../support/scale.ts';
import { createTestService, joinServices, type TestService } from '../support/service.ts';

/**
 * What a cluster costs as it grows, at three sizes a factor of 10 apart: bytes of the database for an object, time of the collector, and
 * requests by two gateways whose connections to PostgreSQL take 2 ms longer. The figures of `cloud help cluster`, section Growth.
 */

const delay = 2;
const concurrency = 32;
/** In a directory; the last one has all others, which there are more of at each size. */
const inDirectory = 1000;
/** Of so many contents one is a file; the others stand in rows. */
const filesOneIn = 100;
const sizes = isLong ? [10_000, 100_000, 1_000_000] : [1000, 10_000];
const requests = scale(100, 2000);
let server: TestPostgres;
let far: DelayedServer;
let dir = '';
let first: TestService;
let second: Store;
let near: Store;
let services: readonly Pick<TestService, 'storage'>[] = [];
let admin: pg.Client;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-growth-'));
  server = await startPostgres();
  await migrateDatabase(server, 'growth');
  far = await delayConnections(server, delay);
  const open = (): Promise<Store> => openClusterStore({ database: far.url('growth'), bytes: dir });
  first = await createTestService({ open });
  second = await open();
  near = await openClusterStore({ database: server.url('growth'), bytes: dir });
  services = [first, joinServices(second, first.key)];
  admin = new pg.Client({ connectionString: server.url('growth') });
  await admin.connect();
  for (const name of ['many', 'written'])
    await first.storage('PUT', `/demo/stor/${name}`, { headers: { 'content-type': 'application/json; type=directory' } });
}, 120_000);
afterAll(async () => {
  await admin.end();
  await near.close();
  await second.close();
  await first.close();
  far.close();
  await server.stop();
  await rm(dir, { recursive: true, force: true });
}, 600_000);

/** Adds rows as PUTs of 100 bytes write them. */
async function fill(from: number, to: number): Promise<void> {
  const number = `lpad(n::text, 9, '0')`;
  const directory = `'/demo/stor/many/d' || lpad((n / ${inDirectory})::text, 6, '0')`;
  await admin.query(`
    insert into entries (parent, name, type, etag, mtime, headers, role_tags)
    select '/demo/stor/many', 'd' || lpad(d::text, 6, '0'), 'directory', null, 1700000000000, '{}', '[]'
    from generate_series(${from / inDirectory}, ${to / inDirectory - 1}) as d`);
  await admin.query(`
    insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags)
    select ${directory}, 'object-' || ${number}, 'object', gen_random_uuid()::text, 1700000000000, 100, 'cmVhbGx5IHNvbWUgTUQ1IA==',
      'row/' || md5(n::text)::uuid::text, 2, '{"content-type":"application/octet-stream"}', '[]'
    from generate_series(${from}, ${to - 1}) as n where n % ${filesOneIn} <> 0`);
  await admin.query(`
    insert into contents (id, bytes) select content, convert_to(repeat('x', 100), 'UTF8')
    from entries left join contents on id = content where content like 'row/%' and id is null`);
  for (let n = from; n < to; n += filesOneIn) {
    const { id } = await near.bytes.write(streamOf(Buffer.from(`file ${n}`)));
    const parent = `/demo/stor/many/d${String(Math.floor(n / inDirectory)).padStart(6, '0')}`;
    const values = [parent, `object-${String(n).padStart(9, '0')}`, id];
    await admin.query(
      `insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags) values
        ($1, $2, 'object', gen_random_uuid()::text, 1700000000000, 10, 'cmVhbGx5IHNvbWUgTUQ1IA==', $3, 2,
        '{"content-type":"application/octet-stream"}', '[]')`,
      values,
    );
  }
  await admin.query('vacuum analyze');
}

/** Bytes of a table and of its indexes. */
async function measureTable(name: string): Promise<{ table: number; indexes: number }> {
  const { rows } = await admin.query<{ table: number; indexes: number }>(
    `select pg_table_size('${name}')::int8 as table, pg_indexes_size('${name}')::int8 as indexes`,
  );
  return rows[0] ?? { table: 0, indexes: 0 };
}

/** Requests by both gateways in turn; each must be answered with a status. */
function load(count: number, status: number, method: string, pathOf: (number: number) => string, body?: Buffer) {
  return measureLoad({ count, concurrency }, async (number) => {
    const response = await (services[number % 2] ?? first).storage(method, pathOf(number), body ? { body } : {});
    if (response.status !== status) throw new Error(`${method} ${pathOf(number)}: ${response.status} ${response.text}`);
  });
}

test.each(sizes.map((size, at) => ({ size, before: sizes[at - 1] ?? 0 })))(
  '$size objects',
  { timeout: 3_600_000 },
  async ({ size, before }) => {
    await fill(before, size);
    const [entries, contents] = [await measureTable('entries'), await measureTable('contents')];
    const each = (bytes: number): number => Math.round(bytes / size);
    report('bench', {
      name: `cluster of ${size} objects of 100 bytes: bytes of the database for each`,
      ours: `entries ${each(entries.table)} and ${each(entries.indexes)} in indexes, contents ${each(contents.table)} and ${each(contents.indexes)}`,
    });

    const started = performance.now();
    const swept = await collect({ store: near, sweep: true });
    const seconds = (performance.now() - started) / 1000;
    expect(swept).toMatchObject({ removed: 0, orphans: 0 });
    report('bench', {
      name: `cluster of ${size} objects: the collector looks through all contents, one of ${filesOneIn} a file`,
      ours: `${seconds.toFixed(2)} s, ${((seconds / size) * 1_000_000).toFixed(1)} s for a million`,
    });

    const path = (number: number): string => {
      const n = (number * 7919) % size;
      const chosen = n % filesOneIn === 0 ? n + 1 : n;
      return `/demo/stor/many/d${String(Math.floor(chosen / inDirectory)).padStart(6, '0')}/object-${String(chosen).padStart(9, '0')}`;
    };
    const put = await load(requests, 204, 'PUT', (number) => `/demo/stor/written/${size}-${number}`, Buffer.alloc(100, 'x'));
    const get = await load(requests, 200, 'GET', path);
    const list = await load(Math.ceil(requests / 20), 200, 'GET', (number) => `${path(number).replace(/\/[^/]+$/u, '')}?limit=1000`);
    report('bench', {
      name: `cluster of ${size} objects, ${concurrency} at once by two gateways in one process, ${delay} ms to PostgreSQL`,
      ours: `PUT ${put.rate.toFixed(0)}/s, half in ${put.p50.toFixed(0)} ms; GET ${get.rate.toFixed(0)}/s, ${get.p50.toFixed(0)} ms; listings of 1000 ${list.rate.toFixed(0)}/s, ${list.p50.toFixed(0)} ms`,
    });
    // A row that is not found by its index would make each request wait for as long as there are objects.
    expect(get.rate).toBeGreaterThan(0);
  },
);
