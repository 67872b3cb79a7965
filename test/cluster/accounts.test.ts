import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startJobEngine } from '../../src/server/jobs/engine.ts';
import { followCancelled } from '../../src/server/jobs/disabled-accounts.ts';
import { seedAccount } from '../../src/server/seed/account.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { Store } from '../../src/server/store/store.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { findDamage } from '../support/find-damage.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import {
  addUser,
  createRsaKey,
  createTestService,
  joinServices,
  signAs,
  signUrl,
  type TestReply,
  type TestService,
} from '../support/service.ts';

/** What an operator does to accounts, seen through two gateways that are open all the time. */

let first: TestService;
let second: Pick<TestService, 'compute' | 'storage'>;
let store: Store;
let sandbox: Sandbox;
let url = '';
const ends: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  const { sandbox: made, remove } = createSandbox();
  sandbox = made;
  const database = await createDatabase();
  ({ url } = database);
  ends.push(remove, database.drop);
  const open = (): Promise<Store> => openClusterStore({ database: url, bytes: `${sandbox.home}/bytes` });
  first = await createTestService({
    open,
    startJobs: (over, dataDir) => {
      const log = (line: string): void => void line;
      const options = { store: over, dataDir, url: () => 'https://storage.test', server: 'east-1', now: Date.now, log };
      const engine = startJobEngine({ ...options, isolation: usualIsolation() });
      ends.push(followCancelled(over, engine.wake, log));
      return engine;
    },
  });
  store = await open();
  second = joinServices(store, first.key);
  ends.push(
    () => first.close(),
    () => store.close(),
  );
});
afterAll(async () => {
  while (ends.length > 0) await ends.pop()?.();
});

const at = (): string[] => ['--database', url];
const accounts = (...words: string[]): Promise<Record<string, unknown>> =>
  sandbox.json<Record<string, unknown>>('server', 'accounts', ...words, ...at());
const both = (): (readonly [string, Pick<TestService, 'compute' | 'storage'>])[] => [
  ['first', first],
  ['second', second],
];
const shown = ({ status, code }: TestReply): unknown[] => [status, code];
const refused = [403, 'NotAuthorized'];

describe('a disabled account', () => {
  const guest = createRsaKey();
  const requests: readonly (readonly [string, (to: Pick<TestService, 'compute' | 'storage'>) => Promise<TestReply>])[] = [
    ['the account, compute', ({ compute }) => compute('GET', '/my/keys')],
    ['the account by its id', ({ compute }) => compute('GET', `/${first.account.id}/keys`)],
    ['the account, storage', ({ storage }) => storage('GET', '/demo/stor/kept')],
    ['a PUT of the account', ({ storage }) => storage('PUT', '/demo/stor/new', { body: Buffer.from('x') })],
    ['what is not there', ({ storage }) => storage('GET', '/demo/stor/missing')],
    ['a user, compute', ({ compute }) => compute('GET', '/demo/keys', { signing: signAs('compute', guest, 'demo', 'guest') })],
    ['a user, storage', ({ storage }) => storage('GET', '/demo/stor/kept', { signing: signAs('storage', guest, 'demo', 'guest') })],
    [
      'a signed URL',
      ({ storage }) => storage('GET', signUrl('storage', signAs('storage', first.key, 'demo'), '/demo/stor/kept'), { signing: false }),
    ],
    [
      'a signed URL, compute',
      ({ compute }) =>
        compute('GET', signUrl('compute', signAs('compute', first.key, 'demo'), '/demo/keys'), { signing: false, headers: {} }),
    ],
    ['public, for everybody', ({ storage }) => storage('GET', '/demo/public/page', { signing: false })],
    ['public, missing', ({ storage }) => storage('GET', '/demo/public/missing', { signing: false })],
    [
      'public, for another account',
      ({ storage }) => storage('GET', '/demo/public/page', { signing: signAs('storage', first.otherKey, 'other') }),
    ],
    [
      'by a role of another account',
      ({ compute }) => compute('GET', '/demo/keys', { signing: signAs('compute', first.otherKey, 'other') }),
    ],
    ['the account at another account', ({ storage }) => storage('GET', '/other/public/page')],
    [
      'a link to what was public',
      ({ storage }) =>
        storage('PUT', '/other/stor/link', {
          signing: signAs('storage', first.otherKey, 'other'),
          headers: { 'content-type': 'application/json; type=link', location: '/demo/public/page' },
        }),
    ],
    [
      'a preflight',
      ({ storage }) =>
        storage('OPTIONS', '/demo/public/page', {
          signing: false,
          headers: { origin: 'https://a.test', 'access-control-request-method': 'GET' },
        }),
    ],
  ];

  beforeAll(async () => {
    await addUser(first.store, first.account, 'guest', guest);
    const put = (path: string): Promise<TestReply> =>
      first.storage('PUT', path, { body: Buffer.from('kept'), headers: { 'access-control-allow-origin': '*' } });
    const members = [
      { type: 'subuser', login: 'guest', default: true },
      { type: 'account', login: 'other', default: true },
    ];
    const prepared = [
      await put('/demo/stor/kept'),
      await put('/demo/public/page'),
      await first.compute('POST', '/my/policies', { json: { name: 'all', rules: ['CAN *'] } }),
      await first.compute('POST', '/my/roles', { json: { name: 'dev', policies: [{ name: 'all' }], members } }),
      await first.compute('PUT', '/my/keys', { json: { name: 'keys', 'role-tag': ['dev'] } }),
      await first.storage('PUT', '/demo/stor/kept?metadata=true', { headers: { 'role-tag': 'dev' } }),
    ];
    for (const { status, text } of prepared) if (status >= 300) throw new Error(text);
  });

  test('is refused on both services, whoever asks for whatever of it, on every gateway at once, and is whole when it is enabled again', async () => {
    const before = new Map<string, unknown[]>();
    for (const [name, send] of requests) before.set(name, shown(await send(second)));
    // The requests are such that they say something: all of them but those for what is missing were answered.
    expect([...before].filter(([, [status]]) => Number(status) >= 400).map(([name]) => name)).toEqual([
      'what is not there',
      'public, missing',
      'the account at another account',
    ]);

    const { state } = await accounts('disable', 'demo');
    expect(state).toBe('disabled');
    for (const [gateway, services] of both())
      for (const [name, send] of requests) expect([gateway, name, ...shown(await send(services))]).toEqual([gateway, name, ...refused]);
    // A wrong signature learns nothing of it, and other accounts are served as ever.
    const wrong = await first.compute('GET', '/my/keys', { signing: signAs('compute', createRsaKey(), 'demo') });
    expect(shown(wrong)).toEqual([401, 'InvalidCredentials']);
    expect((await second.storage('GET', '/other/stor', { signing: signAs('storage', first.otherKey, 'other') })).status).toBe(200);
    const listed = await sandbox.json<{ login: string; state: string }[]>('server', 'accounts', 'list', ...at());
    expect(listed.map((each) => [each.login, each.state])).toEqual([
      ['demo', 'disabled'],
      ['other', 'enabled'],
    ]);
    const again = await sandbox.here(['server', 'accounts', 'disable', 'demo', ...at()]);
    expect([again.code, again.stderr]).toEqual([0, 'Account demo is already disabled\n']);

    expect(await accounts('enable', 'demo')).toMatchObject({ login: 'demo', state: 'enabled' });
    for (const [, services] of both())
      for (const [name, send] of requests) expect([name, shown(await send(services))]).toEqual([name, before.get(name)]);
  });

  test('has its jobs cancelled, those that it created for others too, and new ones of requests under way', async () => {
    const create = async (): Promise<string> => {
      const phases = [{ type: 'map', exec: 'sleep 3600' }];
      const made = await first.storage('POST', '/demo/jobs', { json: { phases } });
      expect(made.status).toBe(201);
      return made.headers['location']?.split('/').at(-1) ?? '';
    };
    const [running, created] = [await create(), await create()];
    const added = await first.storage('POST', `/demo/jobs/${running}/live/in`, {
      body: Buffer.from('/demo/stor/kept\n'),
      headers: { 'content-type': 'text/plain' },
    });
    expect(added.status).toBe(204);
    // As another's, which demo created.
    await store.write((transaction) =>
      transaction.updateTable('jobs').set({ account: first.other.id, creator: first.account.id }).where('id', '=', created).execute(),
    );
    const { stderr } = await sandbox.here(['server', 'accounts', 'disable', 'demo', ...at()]);
    expect(stderr).toBe('Disabled account demo, cancelled 2 jobs\n');
    const late = {
      id: '9f1b1a3e-0000-4000-8000-000000000001',
      account: first.account.id,
      creator: null,
      user: null,
      access: '{"sourceip":""}',
    };
    await store.write((transaction) =>
      transaction
        .insertInto('jobs')
        .values({
          ...late,
          name: null,
          phases: '[]',
          state: 'running',
          cancelled: 0,
          input_done: 0,
          created: 1,
          done: null,
          outputs: 0,
          errors: 0,
          retries: 0,
        })
        .execute(),
    );
    const states = (): Promise<unknown> => store.db.selectFrom('jobs').select(['state', 'cancelled']).execute();
    const done = { state: 'done', cancelled: 1 };
    await expect.poll(states, { timeout: 50_000, interval: 100 }).toEqual([done, done, done]);
    await accounts('enable', 'demo');
    const archived = await first.storage('GET', `/demo/jobs/${running}/job.json`);
    expect([archived.status, archived.json]).toEqual([200, expect.objectContaining({ state: 'done', cancelled: true })]);
  });

  test('errors: an account that is not there', async () => {
    for (const verb of ['disable', 'enable', 'delete']) {
      const { code, stderr, stdout } = await sandbox.here(['server', 'accounts', verb, 'nobody', ...at()]);
      expect([code, stderr, stdout]).toEqual([
        3,
        expect.stringMatching(/: there is no account nobody\nhint: cloud server accounts list\n$/u),
        '',
      ]);
    }
  });
});

describe('deleting', () => {
  const remove = (...words: string[]) => sandbox.here(['server', 'accounts', 'delete', 'gone', ...words, ...at()]);
  const rowsOf = async (id: string): Promise<Record<string, number>> => {
    const counted: Record<string, number> = {};
    const columns = [
      ['accounts', 'id'],
      ['users', 'account'],
      ['keys', 'account'],
      ['roles', 'account'],
      ['policies', 'account'],
      ['role_members', 'member'],
      ['role_tags', 'account'],
      ['changes', 'account'],
      ['limits', 'account'],
      ['images', 'owner'],
      ['uploads', 'account'],
      ['jobs', 'account'],
    ] as const;
    for (const [table, column] of columns) {
      const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)} where ${sql.ref(column)} = ${id}`.execute(
        store.db,
      );
      counted[table] = rows[0]?.n ?? 0;
    }
    const { rows } = await sql<{
      n: number;
    }>`select count(*) as n from entries where parent || '/' || name like '/gone%' or name = '/gone'`.execute(store.db);
    return { ...counted, entries: rows[0]?.n ?? 0 };
  };

  test('needs a disabled account, asks, survives kills, and leaves nothing of it and all of the others', async () => {
    const key = createRsaKey();
    const account = await seedAccount(store, { login: 'gone', publicKey: key.line, keyFile: '', now: Date.now() });
    const signing = { storage: signAs('storage', key, 'gone'), compute: signAs('compute', key, 'gone') };
    const put = (path: string, size: number): Promise<TestReply> =>
      first.storage('PUT', path, { signing: signing.storage, body: Buffer.alloc(size, 'x') });
    for (const [path, size] of [
      ['public/large', 100_000],
      ['stor/row', 5000],
      ['stor/inline', 5],
    ] as const)
      expect((await put(`/gone/${path}`, size)).status).toBe(204);
    // A link of another account keeps the content.
    const link = { 'content-type': 'application/json; type=link', location: '/gone/public/large' };
    expect(
      (await first.storage('PUT', '/other/stor/copy', { signing: signAs('storage', first.otherKey, 'other'), headers: link })).status,
    ).toBe(204);
    await addUser(store, account, 'guest', createRsaKey());
    for (const [path, json] of [
      ['/my/policies', { name: 'all', rules: ['CAN *'] }],
      ['/my/roles', { name: 'dev', policies: [{ name: 'all' }], members: [{ type: 'subuser', login: 'guest' }] }],
    ] as const)
      expect((await first.compute('POST', path, { json, signing: signing.compute })).status).toBe(201);
    const upload = await first.storage('POST', '/gone/uploads', { signing: signing.storage, json: { objectPath: '/gone/stor/film' } });
    expect(upload.status).toBe(201);
    const fill = sql`
      insert into entries (parent, name, type, mtime, etag, size, md5, content, copies, headers, role_tags, children)
      select case when n % 2 = 0 then '/gone/stor/many' else '/gone/stor/many/deep' end, 'object' || n, 'object', 1, 'e', 1, 'm', 'inline/eA', 2, '{}', '[]', 0
      from generate_series(1, 12000) as n`;
    for (const path of ['/gone/stor/many', '/gone/stor/many/deep'])
      await first.storage('PUT', path, { signing: signing.storage, headers: { 'content-type': 'application/json; type=directory' } });
    await fill.execute(store.db);
    await sql`update entries set children = children + 6000 where parent = '/gone/stor' and name = 'many'`.execute(store.db);
    await sql`update entries set children = children + 6000 where parent = '/gone/stor/many' and name = 'deep'`.execute(store.db);
    expect(await findDamage(store)).toEqual([]);

    const early = await remove('--yes');
    expect([early.code, early.stderr]).toEqual([
      2,
      expect.stringMatching(
        /: account gone is enabled: only a disabled account can be deleted\nhint: cloud server accounts disable gone\n$/u,
      ),
    ]);
    await accounts('disable', 'gone');
    const asked = await remove();
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('Delete account gone and everything in it? Nothing was done')]);

    // Killed while it removes entries, in the directory below and then in that above.
    const program = resolve(import.meta.dirname, '../../bin/cloud');
    const words = [program, 'server', 'accounts', 'delete', 'gone', '--yes', ...at()];
    for (const [parent, name] of [
      ['/gone/stor/many/deep', 'object3001'],
      ['/gone/stor/many', 'object5000'],
    ]) {
      const child = spawn(process.execPath, words, { env: sandbox.env, stdio: 'ignore' });
      const ended = new Promise((done) => child.once('close', done));
      await store.db.transaction().execute(async (transaction) => {
        await sql`select 1 from entries where parent = ${parent} and name = ${name} for update`.execute(transaction);
        const waits = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
        await expect.poll(async () => (await waits.execute(store.db)).rows.length, { timeout: 50_000 }).toBeGreaterThan(0);
        child.kill('SIGKILL');
        await ended;
      });
      const { accounts: isThere, entries = 0 } = await rowsOf(account.id);
      expect([isThere, entries > 0 && entries < 12_000]).toEqual([1, true]);
      expect(await findDamage(store)).toEqual([]);
      expect(shown(await second.storage('GET', '/gone/stor', { signing: signing.storage }))).toEqual(refused);
    }
    expect(await sandbox.json('server', 'accounts', 'list', ...at())).toContainEqual(
      expect.objectContaining({ login: 'gone', state: 'deleting' }),
    );
    const enabled = await sandbox.here(['server', 'accounts', 'enable', 'gone', ...at()]);
    expect([enabled.code, enabled.stderr]).toEqual([2, expect.stringContaining('cannot be undone\nhint: to complete it')]);

    // Going on asks for nothing: the answer was given.
    const { code, stderr } = await remove();
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^Continuing .*\nDeleted account gone: \d+ objects? and directories, 0 jobs\n$/u),
    ]);
    const left = await rowsOf(account.id);
    expect(Object.entries(left).filter(([, n]) => n > 0)).toEqual([]);
    expect(await findDamage(store)).toEqual([]);
    expect(shown(await second.storage('GET', '/gone/stor', { signing: signing.storage }))).toEqual([403, 'AccountDoesNotExist']);
    const copy = await first.storage('GET', '/other/stor/copy', { signing: signAs('storage', first.otherKey, 'other') });
    expect([copy.status, copy.bytes.length]).toEqual([200, 100_000]);
    // The login is free again.
    sandbox.write('gone.pub', createRsaKey().line);
    const made = await accounts('create', 'gone', '--email', 'gone@example.com', '--public-key', `${sandbox.home}/gone.pub`);
    expect(made).toMatchObject({ login: 'gone', state: 'enabled', keys: 1 });
  });
});
