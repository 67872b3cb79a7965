import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/server/store/open.ts';
import type { Store } from '../../src/server/store/store.ts';
import { openClusterStore } from '../../src/server/store/postgres/open.ts';
import type { Schema } from '../../src/server/store/schema.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';
import { addUser, createRsaKey, createTestService, joinServices, signAs, type TestReply, type TestService } from '../support/service.ts';

/** `cloud server import`: what an embedded service has, brought into a cluster and looked at through its services. */

type Services = Pick<TestService, 'compute' | 'storage'>;

let sandbox: Sandbox;
/** An upload that is committed in the cluster. */
let unfinished: { id: string; partsDirectory: string; etags: string[] };
let dataDir = '';
let url = '';
let cluster: Store;
/** What the services of the embedded service showed. */
let before: Map<string, unknown>;
let key: TestService['key'];
let otherKey: TestService['otherKey'];
const guest = createRsaKey();
const ends: (() => Promise<unknown> | void)[] = [];

const directory = { 'content-type': 'application/json; type=directory' };
const link = (location: string): Record<string, string> => ({ 'content-type': 'application/json; type=link', location });

function check(response: TestReply): TestReply {
  if (response.status >= 300) throw new Error(`${response.status} ${response.text}`);
  return response;
}

/** An account with one of everything. */
async function fill({ compute, storage, store, account }: TestService): Promise<void> {
  const put = async (path: string, body: Uint8Array | string, headers = {}): Promise<TestReply> =>
    check(await storage('PUT', path, { body: Buffer.from(body), headers }));
  await addUser(store, account, 'guest', guest);
  check(await compute('POST', '/my/policies', { json: { name: 'read', rules: ['CAN getobject and listkeys'], description: 'ü' } }));
  const members = [
    { type: 'subuser', login: 'guest', default: true },
    { type: 'account', login: 'other' },
  ];
  check(await compute('POST', '/my/roles', { json: { name: 'readers', policies: [{ name: 'read' }], members } }));
  check(await compute('PUT', '/my/keys', { json: { name: 'keys', 'role-tag': ['readers'] } }));
  check(await compute('POST', '/my', { json: { city: 'Zürich', phone: '1' } }));
  for (const path of ['/demo/stor/a', '/demo/stor/a/b', '/demo/stor/a b', '/demo/stor/a-b', '/demo/stor/many', '/demo/public/p'])
    check(await storage('PUT', path, { headers: directory }));
  await put('/demo/stor/a/b/row', 'x'.repeat(5000), { 'm-colour': 'blue', 'content-type': 'text/x', 'durability-level': '3' });
  await put('/demo/stor/a/empty', '');
  await put('/demo/stor/a b/%C3%BC%20', 'odd');
  await put('/demo/stor/large', Buffer.alloc(1_500_000, 'large '), { 'role-tag': 'readers' });
  await put('/demo/public/p/page', '<p>', { 'access-control-allow-origin': '*' });
  // Links before and behind their sources in the order of names, and of another account.
  for (const [path, source] of [
    ['/demo/stor/a/a-link', '/demo/stor/large'],
    ['/demo/stor/z-link', '/demo/stor/large'],
    ['/demo/stor/row-link', '/demo/stor/a/b/row'],
  ] as const)
    check(await storage('PUT', path, { headers: link(source) }));
  check(await storage('PUT', '/other/stor/copy', { headers: link('/demo/public/p/page'), signing: signAs('storage', otherKey, 'other') }));
  // A snap-link of what was replaced since.
  await put('/demo/stor/later', 'first'.repeat(20_000));
  check(await storage('PUT', '/demo/stor/snapped', { headers: link('/demo/stor/later') }));
  await put('/demo/stor/later', 'second');
  // Together: they share flushes.
  await Promise.all(Array.from({ length: 450 }, (_, index) => put(`/demo/stor/many/${index}`, `${index}`)));
  // An object of several parts, a link to it, and an upload that stays open.
  const create = async (path: string): Promise<{ id: string; partsDirectory: string }> =>
    check(await storage('POST', '/demo/uploads', { json: { objectPath: path } })).json as { id: string; partsDirectory: string };
  const { partsDirectory } = await create('/demo/stor/film');
  const part = async (number: number, size: number): Promise<string> =>
    (await put(`${partsDirectory}/${number}`, Buffer.alloc(size, `part ${number} `))).headers['etag'] ?? '';
  const parts = [await part(0, 5 * 1024 * 1024), await part(1, 5 * 1024 * 1024), await part(2, 10)];
  check(await storage('POST', `${partsDirectory}/commit`, { json: { parts } }));
  check(await storage('PUT', '/demo/stor/film-link', { headers: link('/demo/stor/film') }));
  const open = await create('/demo/stor/unfinished');
  const etag = (await put(`${open.partsDirectory}/0`, 'x'.repeat(6_000_000))).headers['etag'] ?? '';
  unfinished = { ...open, etags: [etag, (await put(`${open.partsDirectory}/1`, 'y'.repeat(9000))).headers['etag'] ?? ''] };
  // What a finished job left, kept compressed, and one that runs.
  const archived = await store.bytes.writeCompressed(Buffer.from('line\n'.repeat(10_000)));
  const running = '11111111-0000-4000-8000-000000000000';
  const done = '22222222-0000-4000-8000-000000000000';
  for (const id of [running, done]) check(await storage('PUT', `/demo/jobs/${id}`, { headers: directory }));
  await put(`/demo/jobs/${running}/half`, 'half');
  await put(`/demo/jobs/${done}/in.txt`, 'in');
  await store.write(async (transaction) => {
    await transaction
      .updateTable('entries')
      .set({ content: archived.id, size: archived.size, md5: archived.md5 })
      .where('name', '=', 'in.txt')
      .execute();
    for (const [id, state] of [
      [running, 'running'],
      [done, 'done'],
    ] as const) {
      const row = {
        id,
        account: account.id,
        creator: null,
        user: null,
        access: '{}',
        name: null,
        phases: '[]',
        cancelled: 0,
        input_done: 0,
      };
      await transaction
        .insertInto('jobs')
        .values({ ...row, state, created: 1, done: state === 'done' ? 2 : null, outputs: 1, errors: 1, retries: 0 })
        .execute();
    }
    // As of a job that was cancelled, with more rows than one transaction copies.
    await transaction
      .insertInto('job_phases')
      .values({ job: done, phase: 0, reducers: 0, inputs: 601, tasks: 601, finished: 1, closed: 1 })
      .execute();
    for (let number = 0; number < 601; number += 1) {
      const task = { job: done, phase: 0, number, state: number === 0 ? ('done' as const) : ('waiting' as const) };
      const nothing = { origin: null, tries: 0, adder: null, given: 0 };
      await transaction
        .insertInto('job_tasks')
        .values({ ...task, ...nothing, input: `/demo/stor/many/${number}` })
        .execute();
    }
    await transaction.insertInto('job_outputs').values({ job: done, number: 0, output: '/demo/stor/large', given: 1 }).execute();
    const record = JSON.stringify({ phaseNum: '0', what: 'a failure', code: 'UserTaskError', message: 'it failed' });
    await transaction.insertInto('job_errors').values({ job: done, number: 0, record, input: '/demo/stor/many/0', cause: null }).execute();
  });
}

/** An image of an instance, with its file, and an object that shares it. */
async function makeImage({ compute, store }: TestService): Promise<void> {
  const machine = await store.db.selectFrom('machines').select('id').where('state', '=', 'stopped').executeTakeFirst();
  const made = check(await compute('POST', '/my/images', { json: { machine: machine?.id ?? '', name: 'mine', version: '1' } }));
  const { id } = made.json as { id: string };
  const isActive = async (): Promise<boolean> => ((await compute('GET', `/my/images/${id}`)).json as { state: string }).state === 'active';
  for (const end = Date.now() + 30_000; !(await isActive()) && Date.now() < end;) await sleep(20);
  check(await compute('POST', `/my/images/${id}?action=export`, { json: { storage_path: '/demo/stor/a' } }));
}

/** The records of a body, which engines write with and without spaces, and its other lines. */
function readLines(text: string): unknown[] {
  return text.split('\n').map((line) => (line.startsWith('{') ? (JSON.parse(line) as unknown) : line));
}

/** Everything that clients see of both accounts, by request. */
async function lookAt({ compute, storage }: Services): Promise<Map<string, unknown>> {
  const seen = new Map<string, unknown>();
  for (const path of ['', '/keys', '/users', '/users/guest/keys', '/roles', '/policies', '/images?state=all', '/packages', '/config'])
    seen.set(path, check(await compute('GET', `/my${path}`)).json);
  seen.set('by a role', (await compute('GET', '/demo/keys', { signing: signAs('compute', guest, 'demo', 'guest') })).status);
  const walk = async (path: string, signing: ReturnType<typeof signAs>): Promise<void> => {
    const { headers, bytes, status, text } = check(await storage('GET', path, { signing }));
    const { date: _date, 'x-request-id': _id, 'x-response-time': _time, 'x-server-name': _name, ...kept } = headers;
    const isDirectory = headers['content-type']?.includes('type=directory') === true;
    const entries = isDirectory
      ? text
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as { name: string })
      : [];
    seen.set(path, [status, kept, isDirectory ? entries : createHash('md5').update(bytes).digest('base64')]);
    for (const { name } of entries) await walk(`${path}/${encodeURIComponent(name)}`, signing);
  };
  await walk('/demo/stor', signAs('storage', key, 'demo'));
  await walk('/demo/public', signAs('storage', key, 'demo'));
  await walk('/demo/reports', signAs('storage', key, 'demo'));
  await walk('/demo/jobs/22222222-0000-4000-8000-000000000000', signAs('storage', key, 'demo'));
  for (const path of ['/demo/jobs?state=done', '/demo/uploads', `/demo/uploads/${unfinished.id.slice(0, 3)}/${unfinished.id}/state`])
    seen.set(path, readLines(check(await storage('GET', path)).text));
  for (const name of ['status', 'in', 'out', 'err', 'fail'])
    seen.set(name, readLines(check(await storage('GET', `/demo/jobs/22222222-0000-4000-8000-000000000000/live/${name}`)).text));
  await walk('/other/stor', signAs('storage', otherKey, 'other'));
  return seen;
}

/** Every file of a directory with its size, time and content. */
function describeFolder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => {
      const file = join(each.parentPath, each.name);
      return `${file} ${statSync(file).mtimeMs} ${createHash('md5').update(readFileSync(file)).digest('hex')}`;
    })
    .toSorted();
}

beforeAll(async () => {
  const { sandbox: made, remove } = createSandbox();
  sandbox = made;
  dataDir = join(sandbox.home, 'data');
  const local = await createTestService({ open: () => openStore(dataDir), settings: { imageTime: 0 } });
  ({ key, otherKey } = local);
  try {
    await fill(local);
    await makeImage(local);
    before = await lookAt(local);
  } finally {
    await local.close();
  }
  const database = await createDatabase();
  ({ url } = database);
  cluster = await openClusterStore({ database: url, bytes: `${sandbox.home}/bytes` });
  ends.push(remove, database.drop, () => cluster.close());
}, 240_000);
afterAll(async () => {
  while (ends.length > 0) await ends.pop()?.();
});

const words = (from = dataDir, database = url): string[] => [
  'server',
  'import',
  '--from',
  from,
  '--database',
  database,
  '--bytes',
  `file://${sandbox.home}/bytes`,
];
const run = (...more: string[]): Promise<Outcome> => sandbox.here([...words(), ...more]);

/** Starts the program, waits until it waits for what `hold` has locked, and kills it. */
async function killAt(hold: (transaction: Kysely<Schema>) => Promise<unknown>): Promise<void> {
  const program = resolve(import.meta.dirname, '../../bin/cloud');
  await cluster.db
    .transaction()
    .execute(async (transaction) => {
      // On a busy machine the program takes longer than an idle transaction may otherwise last.
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(transaction);
      await hold(transaction);
      const child = spawn(process.execPath, [program, ...words()], { env: sandbox.env, stdio: 'ignore' });
      const ended = new Promise<number | null>((done) => child.once('close', done));
      const waits = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      try {
        await expect.poll(async () => (await waits.execute(cluster.db)).rows.length, { timeout: 50_000 }).toBeGreaterThan(0);
      } finally {
        child.kill('SIGKILL');
        await ended;
      }
      throw new Error('undone');
    })
    .catch((error: unknown) => {
      if (!(error instanceof Error && error.message === 'undone')) throw error;
    });
}

const take = (parent: string, name: string) => (transaction: Kysely<Schema>) =>
  transaction
    .insertInto('entries')
    .values({ parent, name, type: 'directory', mtime: 0, headers: '{}', role_tags: '[]', children: 0 } as never)
    .execute();

test('a data directory that a service uses is refused', async () => {
  const store = await openStore(dataDir);
  const { code, stderr } = await run();
  await store.close();
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`is in use by a cloud local \\(process ${process.pid}\\)\nhint: stop it first: cloud local stop\n$`, 'u'),
    ),
  ]);
});

test('killed at many points it goes on, and the cluster shows what the local service showed', { timeout: 180_000 }, async () => {
  const files = describeFolder(dataDir);
  const services = joinServices(cluster, key);
  const states = async (): Promise<unknown> =>
    (await sandbox.json<{ login: string; state: string }[]>('server', 'accounts', 'list', '--database', url)).map(({ login, state }) => [
      login,
      state,
    ]);
  await killAt((transaction) => sql`lock table role_tags in share mode`.execute(transaction));
  expect(await states()).toEqual([]);
  await killAt((transaction) => sql`lock table images in share mode`.execute(transaction));
  const begun = [
    ['demo', 'importing'],
    ['other', 'importing'],
  ];
  expect(await states()).toEqual(begun);
  for (const [parent, name] of [
    ['', '/demo'],
    ['/demo/stor/many', '150'],
    ['/demo/stor/many', '420'],
  ] as const) {
    await killAt(take(parent, name));
    expect(await states()).toEqual(begun);
    const early = await services.storage('GET', '/demo/stor');
    expect([early.status, early.code]).toEqual([403, 'NotAuthorized']);
  }
  const enabled = await sandbox.here(['server', 'accounts', 'enable', 'demo', '--database', url]);
  expect([enabled.code, enabled.stderr]).toEqual([2, expect.stringContaining('account demo is not complete')]);
  await killAt((transaction) => sql`select 1 from accounts where login = 'other' for update`.execute(transaction));
  expect(await states()).toEqual(begun);

  const { code, stdout, stderr } = await run('-j');
  const notes = stderr.split('\n').slice(0, 2);
  expect([code, notes.map((line) => (JSON.parse(line) as { note: string }).note)]).toEqual([
    0,
    ['Resuming the import', 'Left out: job 11111111-0000-4000-8000-000000000000 of demo, which is not done'],
  ]);
  expect(JSON.parse(stdout)).toMatchObject({
    accounts: ['demo', 'other'],
    users: 1,
    keys: 3,
    roles: 1,
    policies: 1,
    jobs: 1,
    // One was committed.
    uploads: 2,
    jobsLeftOut: 1,
  });
  expect(await states()).toEqual(begun.map(([login]) => [login, 'enabled']));

  const after = await lookAt(services);
  for (const [request, seen] of before) expect([request, after.get(request)]).toEqual([request, seen]);
  expect([...after.keys()]).toEqual([...before.keys()]);
  // The source is as it was, also where it was killed.
  expect(describeFolder(dataDir)).toEqual(files);
  // One content for all its links.
  const contents = await cluster.db.selectFrom('entries').select('content').where('name', 'in', ['large', 'a-link', 'z-link']).execute();
  expect(new Set(contents.map(({ content }) => content)).size).toBe(1);
  expect((await services.storage('GET', '/demo/jobs')).headers['result-set-size']).toBe('1');
  // Nobody begins what was never begun, and an upload is gone on with.
  const waiting = await cluster.db.selectFrom('job_tasks').select('number').where('state', 'in', ['waiting', 'running']).execute();
  expect([waiting, (await cluster.db.selectFrom('job_tasks').select('number').execute()).length]).toEqual([[], 601]);
  check(await services.storage('POST', `${unfinished.partsDirectory}/commit`, { json: { parts: unfinished.etags } }));
  expect((await services.storage('GET', '/demo/stor/unfinished')).text).toBe('x'.repeat(6_000_000) + 'y'.repeat(9000));
  // What was linked stays when its source goes.
  check(await services.storage('DELETE', '/demo/stor/large'));
  expect((await services.storage('GET', '/demo/stor/z-link')).bytes.length).toBe(1_500_000);

  const again = await run();
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('there are accounts demo, other already\nhint: ')]);
});

test('an object that is damaged is named, and nobody can use what was begun', async () => {
  const damaged = join(sandbox.home, 'damaged');
  cpSync(dataDir, damaged, { recursive: true });
  const large =
    describeFolder(damaged)
      .map((line) => line.split(' ')[0] ?? '')
      .find((file) => statSync(file).size === 1_500_000) ?? '';
  const bytes = readFileSync(large);
  bytes[1000] = 0;
  writeFileSync(large, bytes);
  const { url: other, drop } = await createDatabase();
  ends.push(drop);
  const first = await sandbox.here(words(damaged, other));
  expect([first.code, first.stderr]).toEqual([
    1,
    expect.stringMatching(
      /\/demo\/stor\/\S+ is damaged in the data directory: the MD5 of its bytes is \S+, not \S+\nhint: delete the object/u,
    ),
  ]);
  rmSync(large);
  const second = await sandbox.here(words(damaged, other));
  expect([second.code, second.stderr]).toEqual([
    1,
    expect.stringMatching(/\/demo\/stor\/\S+ is damaged in the data directory: its content is missing\n/u),
  ]);
  for (const login of ['demo', 'other'])
    expect((await sandbox.here(['server', 'accounts', 'delete', login, '--yes', '--database', other])).code).toBe(0);
  expect((await sandbox.here(words(dataDir, other))).code).toBe(0);
});

test('words that are refused', async () => {
  const empty = join(sandbox.home, 'nothing');
  for (const [from, message] of [
    [empty, `${empty} is not a data directory of a local service: it has no cloud.db`],
    [undefined, 'no data directory is given'],
  ] as const) {
    const { code, stderr, stdout } = await sandbox.here(
      from === undefined ? words().filter((word) => word !== '--from' && word !== dataDir) : words(from),
    );
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)]);
  }
  sandbox.write('text/cloud.db', 'this is not a database');
  const { code, stderr } = await sandbox.here(words(join(sandbox.home, 'text')));
  expect([code, stderr]).toEqual([1, expect.stringContaining('text/cloud.db is damaged: file is not a database')]);
});
