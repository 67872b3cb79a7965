import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seedAccount } from '../../src/server/seed/account.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';
import { createRsaKey, joinServices, type TestService } from '../support/service.ts';

/** `cloud server apply` and `diff`: what a cloud offers as one document. */

let sandbox: Sandbox;
let store: Store;
let service: Pick<TestService, 'compute' | 'storage'>;
let at: string[] = [];
const ends: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  const { sandbox: made, remove } = createSandbox();
  sandbox = made;
  const { url, drop } = await createDatabase();
  at = ['--database', url];
  store = await openClusterStore({ database: url, bytes: `${sandbox.home}/bytes` });
  ends.push(remove, drop, () => store.close());
  const key = createRsaKey();
  await seedAccount(store, { login: 'demo', publicKey: key.line, keyFile: '', now: 0 });
  service = joinServices(store, key, { settings: { limits: true } });
  // As a gateway writes them.
  await store.write(async (transaction) => {
    await transaction.insertInto('datacenters').values({ name: 'east', url: 'https://east.example.com' }).execute();
    const services = [
      { name: 'compute', url: 'https://east.example.com' },
      { name: 'storage', url: 'https://stor.example.com' },
    ];
    await transaction.insertInto('services').values(services).execute();
  });
});
afterAll(async () => {
  while (ends.length > 0) await ends.pop()?.();
});

const base = '6dde5688-3102-4ad6-90a9-72d91fe7d1e5';
const built = '74afeca4-5dc6-4b6a-b6d3-b647a37ebf14';

const cloud = `
version: "1"
datacenters:
  west: https://west.example.com
services:
  cns: https://cns.example.com
packages:
  - name: g1-small
    memory: 1024
    disk: 25600
    vcpus: 1
    group: general
    default: true
  - name: b1-flex
    version: 2.0.0
    memory: 8192
    disk: 204800
    vcpus: 4
    swap: 1
    lwps: 2
    brand: bhyve
    flexible_disk: true
    disks: [{}, { size: remaining }]
images:
  - id: ${base}
    name: debian-12
    version: "20250401"
    os: linux
    type: lx-dataset
    published_at: 2025-04-01
    requirements: { brand: lx }
    tags: { role: os, beta: true }
    file: { compression: gzip, sha1: ${'ab'.repeat(20)}, size: 112480003 }
  - id: ${built}
    name: debian-12-web
    version: "1"
    os: linux
    type: lx-dataset
    origin: ${base}
  - name: old
    version: "1"
    os: smartos
    type: other
    state: disabled
limits:
  - { account: demo, by: ram, value: 8192 }
  - { account: demo, by: machines, value: 3, check: os, os: linux }
`;

const run = (verb: string, text: string, ...words: string[]): Promise<Outcome> =>
  sandbox.here(['server', verb, sandbox.write('cloud.yaml', text), ...at, ...words]);
const get = async <T = Record<string, unknown>>(path: string): Promise<T> => {
  const { status, json, text } = await service.compute('GET', path);
  if (status !== 200) throw new Error(text);
  return json as T;
};
/** Everything that a document can be about. */
const readAll = async (): Promise<unknown> => ({
  datacenters: await store.db.selectFrom('datacenters').selectAll().orderBy('name').execute(),
  services: await store.db.selectFrom('services').selectAll().orderBy('name').execute(),
  packages: await store.db.selectFrom('packages').selectAll().orderBy('id').execute(),
  images: await store.db.selectFrom('images').selectAll().orderBy('id').execute(),
  limits: await store.db.selectFrom('limits').selectAll().orderBy('by').execute(),
});

describe('a cloud without anything', () => {
  test('diff shows what is missing, and exits with 1 when asked to; nothing changes, as by a dry run', async () => {
    const before = await readAll();
    const shown = await run('diff', cloud);
    expect([shown.code, shown.stderr]).toEqual([0, '9 to create\n']);
    expect(shown.stdout.split('\n').filter((line) => line.startsWith('+'))).toEqual([
      '+ datacenter west',
      '+ service cns',
      '+ package g1-small 1.0.0',
      '+ package b1-flex 2.0.0',
      '+ image debian-12 20250401',
      '+ image debian-12-web 1',
      '+ image old 1',
      '+ limit demo ram',
      '+ limit demo machines os linux',
    ]);
    const checked = await run('diff', cloud, '--exit-code');
    expect([checked.code, checked.stdout, checked.stderr]).toEqual([
      1,
      shown.stdout,
      expect.stringContaining('the cloud differs: 9 to create'),
    ]);
    const dry = await run('apply', cloud, '--dry-run');
    expect([dry.code, dry.stdout, dry.stderr]).toEqual([0, shown.stdout, '']);
    expect(await readAll()).toEqual(before);
  });

  test('apply makes all of it, as every gateway shows with the next request; again there is nothing to do', async () => {
    const { code, stderr } = await sandbox.cloud(['server', 'apply', '-', ...at], { input: cloud });
    expect([code, stderr]).toEqual([0, '9 changes done\n']);
    expect(await get('/my/datacenters')).toEqual({ east: 'https://east.example.com', west: 'https://west.example.com' });
    expect(await get('/my/services')).toMatchObject({ cns: 'https://cns.example.com' });
    expect(await get('/my/packages/g1-small')).toMatchObject({
      version: '1.0.0',
      memory: 1024,
      swap: 4096,
      lwps: 4000,
      group: 'general',
      default: true,
    });
    expect(await get('/my/packages/b1-flex')).toMatchObject({
      swap: 1,
      lwps: 2,
      flexible_disk: true,
      disks: [{}, { size: 'remaining' }],
      default: false,
    });
    expect(await get(`/my/images/${base}`)).toMatchObject({
      name: 'debian-12',
      public: true,
      state: 'active',
      published_at: '2025-04-01T00:00:00.000Z',
      requirements: { brand: 'lx' },
      tags: { role: 'os', beta: true },
      files: [{ compression: 'gzip', sha1: 'ab'.repeat(20), size: 112_480_003 }],
    });
    expect((await get<{ name: string }[]>('/my/images?state=all')).map(({ name }) => name).toSorted()).toEqual([
      'debian-12',
      'debian-12-web',
      'old',
    ]);
    expect(await get('/my/limits')).toEqual([
      { by: 'ram', value: 8192, used: 0 },
      { by: 'machines', value: 3, used: 0, check: 'os', os: 'linux' },
    ]);
    const made = await readAll();
    for (const verb of ['apply', 'diff']) {
      const again = await run(verb, cloud, '--prune', ...(verb === 'diff' ? ['--exit-code'] : []));
      expect([again.code, again.stdout, again.stderr]).toEqual([0, '', verb === 'diff' ? 'No differences\n' : 'Nothing to change\n']);
    }
    expect(await readAll()).toEqual(made);
  });
});

describe('a document that says something else', () => {
  const one = `
version: "1"
packages:
  - { name: g1-small, memory: 2048, disk: 25600, vcpus: 1 }
images:
  - { id: ${base}, name: debian, version: "12", os: linux, type: lx-dataset }
limits:
  - { account: demo, by: ram, value: 0 }
`;

  test('changes what it mentions, renames by id, and leaves everything else', async () => {
    const changed = await sandbox.json<object[]>('server', 'apply', sandbox.write('cloud.yaml', one), ...at);
    expect(changed).toEqual([
      { action: 'update', kind: 'package', name: 'g1-small 1.0.0', differences: [{ field: 'memory', from: 1024, to: 2048 }] },
      {
        action: 'update',
        kind: 'image',
        name: 'debian 12',
        differences: [
          { field: 'name', from: 'debian-12', to: 'debian' },
          { field: 'version', from: '20250401', to: '12' },
        ],
      },
      { action: 'update', kind: 'limit', name: 'demo ram', differences: [{ field: 'value', from: 8192, to: 0 }] },
    ]);
    expect(await get('/my/packages/g1-small')).toMatchObject({ memory: 2048, swap: 4096, group: 'general', default: true });
    expect(await get(`/my/images/${base}`)).toMatchObject({ name: 'debian', version: '12', tags: { role: 'os', beta: true } });
    expect(await get<object[]>('/my/packages')).toHaveLength(2);
  });

  test('with --prune deletes what its parts do not mention, after a question; parts that it lacks stay', async () => {
    const refused = await run('apply', one, '--prune');
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(
        'Delete package b1-flex 2.0.0, image debian-12-web 1, image old 1, limit demo machines os linux? Nothing was done',
      ),
    ]);
    expect(await get<object[]>('/my/packages')).toHaveLength(2);
    const { code, stderr } = await run('apply', one, '--prune', '--yes');
    expect([code, stderr]).toEqual([0, '4 changes done\n']);
    expect((await get<{ name: string }[]>('/my/packages')).map(({ name }) => name)).toEqual(['g1-small']);
    expect((await get<{ name: string }[]>('/my/images?state=all')).map(({ name }) => name)).toEqual(['debian']);
    expect(await get('/my/limits')).toEqual([{ by: 'ram', value: 0, used: 0 }]);
    expect(await get('/my/datacenters')).toHaveProperty('west');
    // Never the addresses that gateways write.
    await run('apply', 'version: "1"\ndatacenters: {}\nservices: {}\n', '--prune', '--yes');
    expect([await get('/my/datacenters'), await get('/my/services')]).toEqual([
      { east: 'https://east.example.com' },
      { compute: 'https://east.example.com', storage: 'https://stor.example.com' },
    ]);
  });

  test('the same document applied several times at once is applied once, and nobody fails', async () => {
    const document = 'version: "1"\npackages: [{ name: concurrent, memory: 1, disk: 1, vcpus: 1 }]\n';
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => run('apply', document)));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    const told = outcomes.map(({ stderr }) => stderr).filter((each) => each !== 'Nothing to change\n');
    expect(told.filter((each) => each !== 'Nothing to change: others have made the changes meanwhile\n')).toEqual(['1 change done\n']);
    expect((await get<unknown[]>('/my/packages?name=concurrent')).length).toBe(1);
  });

  test('is applied whole or not at all', async () => {
    const before = await readAll();
    // Limits come last.
    await sql`alter table limits add constraint refused check (value <> 7777)`.execute(store.db);
    const { code, stdout } = await run('apply', cloud.replace('value: 8192', 'value: 7777'));
    await sql`alter table limits drop constraint refused`.execute(store.db);
    expect([code, stdout]).toEqual([1, '']);
    expect(await readAll()).toEqual(before);
  });
});

describe('documents that are refused, with the place and before anything is done', () => {
  const part = (text: string): string => `version: "1"\n${text}\n`;
  const pkg = (fields: string): string => part(`packages: [{ name: a, memory: 1, disk: 1, vcpus: 1, ${fields} }]`);
  const image = (fields: string): string => part(`images: [{ name: a, version: "1", os: linux, type: other, ${fields} }]`);
  test.each([
    ['packages: []', 'version: is missing'],
    [part('package: []'), 'package: is not a known field\nhint: did you mean packages?'],
    [part('datacenters: { east: 5 }'), 'datacenters.east: must be an http or https URL'],
    [part('services: { cns: "ftp://x" }'), 'services.cns: must be an http or https URL'],
    [part('services: { cns: "https://me:hush@x" }'), 'services.cns: contains a user or a password'],
    [part('packages: [{ name: a }]'), 'packages[0].memory: is missing'],
    [pkg('memory: 1.5').replace('memory: 1,', ''), 'packages[0].memory: 1.5 is not a whole number of at least 1'],
    [pkg('swap: -1'), 'packages[0].swap: -1 is not a whole number of at least 0'],
    [pkg('id: x'), 'packages[0].id: "x" is not a UUID in lower case'],
    [pkg('group: "a\\0b"'), 'packages[0].group: contains a NUL character'],
    [pkg('disks: [{ a: "\\0" }]'), 'packages[0].disks: contains a NUL character'],
    [
      part('packages: [{ name: a, memory: 1, disk: 1, vcpus: 1 }, { name: a, version: 1.0.0, memory: 1, disk: 1, vcpus: 1 }]'),
      'two entries have the name and version "a 1.0.0"',
    ],
    [image('state: creating'), 'images[0].state: "creating" is not one of active, disabled'],
    [image('published_at: yesterday'), 'images[0].published_at: "yesterday" is not a date'],
    [image('tags: { a: [] }'), 'images[0].tags.a: must be a string, a number or a boolean'],
    [image('file: { compression: gzip, sha1: x, size: 1 }'), 'images[0].file.sha1: is not 40 hexadecimal digits'],
    [image(`origin: ${built}`), `images: a 1: its origin ${built} is not a public image`],
    [part('limits: [{ account: demo, by: ram }]'), 'limits[0].value: is missing'],
    [part('limits: [{ account: demo, by: ram, value: -2 }]'), 'limits[0].value: -2 is not a whole number of at least -1'],
    [part('limits: [{ account: demo, by: ram, value: 1, check: os }]'), 'limits[0].os: is missing, for check is os'],
    [part('limits: [{ account: demo, by: ram, value: 1, image: a }]'), 'limits[0].image: needs check: image'],
    [part('limits: [{ account: dmo, by: ram, value: 1 }]'), 'limits: account dmo does not exist\nhint: did you mean demo?'],
    [
      `version: "1"\nimages: [{ id: ${built}, name: debian, version: "12", os: linux, type: other }]`,
      `image "debian 12" has another id in the cloud: ${base}`,
    ],
    ['version: "1"\nimages: [', 'cloud.yaml: line '],
  ])('%s', async (text, message) => {
    const before = await readAll();
    const { code, stdout, stderr } = await run('apply', text, '--yes');
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
    expect(await readAll()).toEqual(before);
  });

  test('an image that another one builds on is not deleted, unless both are', async () => {
    await run('apply', cloud.replace('name: debian-12\n', 'name: debian\n'));
    const without = image('description: alone');
    await store.write((transaction) => transaction.updateTable('images').set({ owner: base }).where('id', '=', built).execute());
    const { code, stderr } = await run('apply', without, '--prune', '--yes');
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(new RegExp(`image debian 20250401 cannot be deleted: it is the origin of image ${built}`, 'u')),
    ]);
    await store.write(async (transaction) => {
      const { owner } = await transaction.selectFrom('images').select('owner').where('id', '=', base).executeTakeFirstOrThrow();
      await transaction.updateTable('images').set({ owner }).where('id', '=', built).execute();
    });
    expect((await run('apply', without, '--prune', '--yes')).code).toBe(0);
    expect((await get<{ name: string }[]>('/my/images?state=all')).map(({ name }) => name)).toEqual(['a']);
  });
});
