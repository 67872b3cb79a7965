import { chmodSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { compute } from '../../src/api/compute.ts';
import { readAudit, type AuditRecord } from '../../src/server/cluster/audit.ts';
import { openPostgres } from '../../src/server/store/postgres/open.ts';
import { createDatabase, openLeased } from '../support/cluster-database.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { addUser, createEcdsaKey, createRsaKey, createTestService, signAs, type Sending, type TestService } from '../support/service.ts';

/** The audit log of gateways: who changed what decides about access, in the transaction of the change. */

let service: TestService;
let url: string;
let drop: () => Promise<void>;
beforeAll(async () => {
  ({ url, drop } = await createDatabase());
  service = await createTestService({ open: async (dir) => (await openLeased(url, dir)).store });
});
afterAll(async () => {
  await service.close();
  await drop();
});

async function readAll(filter: Parameters<typeof readAudit>[1] = {}): Promise<AuditRecord[]> {
  const all: AuditRecord[] = [];
  for await (const each of readAudit(url, filter)) all.push(each);
  return all;
}

beforeEach(async () => {
  await service.store.db.deleteFrom('audit').execute();
});

/** A request that succeeds. @returns the id that the service gave, and its JSON */
async function change(method: string, target: string, sending?: Sending): Promise<{ id: string; json: Record<string, string> }> {
  const { status, headers, json, text } = await service.compute(method, target, sending);
  if (status >= 300) throw new Error(`${method} ${target}: ${status} ${text}`);
  return { id: headers['request-id'] ?? '', json: (json ?? {}) as Record<string, string> };
}

const secrets = ['hush-Passw0rd-1', 'hush-Passw0rd-2', 'hush-street 7', 'hush@example.com', '+49-hush-5'];

describe('changes by requests', () => {
  test('each operation that changes keys, users, roles, policies, role tags or the account is noted once, without secrets', async () => {
    const [password = '', again = '', address, email, phone] = secrets;
    const key = createEcdsaKey();
    const user = createEcdsaKey();
    const expected: string[] = [];
    const subjects: string[] = [];
    const ids: string[] = [];
    const note = async (operation: string, subject: string, made: ReturnType<typeof change>): Promise<Record<string, string>> => {
      const { id, json } = await made;
      expected.push(operation);
      subjects.push(subject.replace('ID', json['id'] ?? ''));
      ids.push(id);
      return json;
    };
    const fingerprint = `/demo/keys/${key.fingerprint}`;
    await note('createKey', fingerprint, change('POST', '/my/keys', { json: { key: key.line, name: 'laptop' } }));
    await note('deleteKey', fingerprint, change('DELETE', '/my/keys/laptop'));
    const { id: bob = '' } = await note(
      'createUser',
      '/demo/users/ID',
      change('POST', '/my/users', { json: { login: 'bob', email, password, address, phone } }),
    );
    const at = `/demo/users/${bob}`;
    await note('updateUser', at, change('POST', '/my/users/bob', { json: { phone, login: 'robert' } }));
    const passwords = { json: { password: again, password_confirmation: again } };
    await note('changeUserPassword', at, change('POST', '/my/users/robert/change_password', passwords));
    await note('createUserKey', `${at}/keys/${user.fingerprint}`, change('POST', '/my/users/robert/keys', { json: { key: user.line } }));
    const { id: policy = '' } = await note(
      'createPolicy',
      '/demo/policies/ID',
      change('POST', '/my/policies', { json: { name: 'read', rules: ['CAN listkeys'] } }),
    );
    await note('updatePolicy', `/demo/policies/${policy}`, change('POST', '/my/policies/read', { json: { rules: ['CAN getkey'] } }));
    const members = [{ type: 'subuser', login: 'robert', default: true }];
    const { id: role = '' } = await note(
      'createRole',
      '/demo/roles/ID',
      change('POST', '/my/roles', { json: { name: 'dev', members, policies: [{ name: 'read' }] } }),
    );
    await note('updateRole', `/demo/roles/${role}`, change('POST', '/my/roles/dev', { json: { members: [] } }));
    await note('setRoleTags', '/demo/keys', change('PUT', '/demo/keys', { json: { 'role-tag': ['dev'] } }));
    await note('updateAccount', '/demo', change('POST', '/my', { json: { address, phone } }));
    const network = await service.store.db.selectFrom('networks').select('id').executeTakeFirstOrThrow();
    await note('updateConfig', '/demo/config', change('PUT', '/my/config', { json: { default_network: network.id } }));
    await note('deleteRole', `/demo/roles/${role}`, change('DELETE', `/my/roles/${role}`));
    await note('deletePolicy', `/demo/policies/${policy}`, change('DELETE', `/my/policies/${policy}`));
    await note('deleteUserKey', `${at}/keys/${user.fingerprint}`, change('DELETE', `/my/users/robert/keys/${user.fingerprint}`));
    await note('deleteUser', at, change('DELETE', '/my/users/robert'));

    const rows = await readAll();
    expect(rows.map(({ action }) => action)).toEqual(expected);
    expect(rows.map(({ subject }) => subject)).toEqual(subjects);
    expect(rows.map(({ request }) => request)).toEqual(ids);
    const who = rows.map(({ account, actor, key: signer, address: from }) => ({ account, actor, signer, from }));
    expect(who).toEqual(rows.map(() => ({ account: 'demo', actor: 'demo', signer: service.key.fingerprint, from: '127.0.0.1' })));
    const detailsOf = (action: string): unknown => rows.find((row) => row.action === action)?.details;
    expect(detailsOf('createKey')).toEqual({ name: 'laptop' });
    expect(detailsOf('createUser')).toEqual({ login: 'bob' });
    expect(detailsOf('updateUser')).toEqual({ login: 'robert', changed: ['phone', 'login'] });
    expect(detailsOf('changeUserPassword')).toEqual({ login: 'robert', changed: ['password'] });
    expect(detailsOf('createUserKey')).toEqual({ name: user.fingerprint, user: 'robert' });
    expect(detailsOf('updatePolicy')).toEqual({ name: 'read', changed: ['rules'], rules: ['CAN getkey'] });
    expect(detailsOf('createRole')).toEqual({ name: 'dev', policies: ['read'], members });
    expect(detailsOf('updateRole')).toEqual({ name: 'dev', policies: ['read'], members: [] });
    expect(detailsOf('setRoleTags')).toEqual({ 'role-tag': ['dev'] });
    // No operation is forgotten, and none that is added later.
    const decides = Object.values(compute).filter(({ method, path }) => method !== 'GET' && !path.includes('/images'));
    expect(decides.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());

    const { rows: dumped } = await sql<{ line: string }>`select audit::text as line from audit`.execute(service.store.db);
    const dump = dumped.map(({ line }) => line).join('\n');
    const hashes = await service.store.db.selectFrom('users').select('password').execute();
    const hidden = [...secrets, 'rsa-sha256', key.line.split(' ')[1], user.line.split(' ')[1], ...hashes.map((row) => row.password)];
    expect(hidden.filter((secret) => secret !== undefined && secret !== '' && dump.includes(secret))).toEqual([]);
  });

  test('a sub-user is named with the key that signed, also of a pre-signed kind of caller; a role tag by header is a change of its own', async () => {
    const key = createRsaKey();
    await addUser(service.store, service.account, 'carol', key);
    await change('POST', '/my/policies', { json: { name: 'keys', rules: ['CAN createkey', 'CAN setroletags'] } });
    const member = { type: 'subuser', login: 'carol', default: true };
    await change('POST', '/my/roles', { json: { name: 'keepers', policies: [{ name: 'keys' }], members: [member] } });
    await change('PUT', '/demo/keys', { json: { 'role-tag': ['keepers'] } });
    await service.store.db.deleteFrom('audit').execute();
    const signing = signAs('compute', key, 'demo', 'carol');
    const line = createEcdsaKey();
    await change('POST', '/demo/keys', { json: { key: line.line, name: 'hers' }, signing, headers: { 'role-tag': 'keepers' } });
    const found = (await readAll()).map(({ actor, key: signer, action, subject, details }) => ({
      actor,
      signer,
      action,
      subject,
      details,
    }));
    const same = { actor: 'demo/carol', signer: key.fingerprint, action: 'createKey', subject: `/demo/keys/${line.fingerprint}` };
    expect(found).toEqual([
      { ...same, details: { name: 'hers' } },
      { ...same, details: { 'role-tag': ['keepers'] } },
    ]);
  });

  test('what is refused leaves no line', async () => {
    const stranger = createRsaKey();
    await addUser(service.store, service.account, 'dave', stranger);
    const refused: readonly [number, string, string, Sending][] = [
      [403, 'POST', '/demo/keys', { json: { key: createEcdsaKey().line }, signing: signAs('compute', stranger, 'demo', 'dave') }],
      [401, 'POST', '/my/keys', { json: { key: createEcdsaKey().line }, signing: { key: createRsaKey() } }],
      [409, 'POST', '/my/keys', { json: { key: service.key.line } }],
      [409, 'POST', '/my/users', { json: { login: 'dave', email: 'a@b', password: 'secret1234' } }],
      [409, 'POST', '/my/roles', { json: { name: 'x', members: [{ type: 'subuser', login: 'nobody' }] } }],
      [404, 'DELETE', '/my/users/nobody', {}],
      [409, 'PUT', '/demo/users', { json: { 'role-tag': ['nobody'] } }],
    ];
    const statuses: number[] = [];
    for (const [, method, target, sending] of refused) statuses.push((await service.compute(method, target, sending)).status);
    expect(statuses).toEqual(refused.map(([status]) => status));
    expect(await readAll()).toEqual([]);
  });

  test('what cannot be noted is not done', async () => {
    const key = createEcdsaKey();
    const { db } = service.store;
    await sql`alter table audit rename to audit_away`.execute(db);
    try {
      expect((await service.compute('POST', '/my/keys', { json: { key: key.line } })).status).toBe(500);
    } finally {
      await sql`alter table audit_away rename to audit`.execute(db);
    }
    expect((await service.compute('GET', `/my/keys/${key.fingerprint}`)).status).toBe(404);
  });
});

test('role tags of objects: each request that names them, in whichever way it writes', async () => {
  await change('POST', '/my/roles', { json: { name: 'readers' } });
  await service.store.db.deleteFrom('audit').execute();
  const put = (target: string, headers: Readonly<Record<string, string>>, body = ''): Promise<{ status: number; json: unknown }> =>
    service.storage('PUT', target, { headers: { 'content-type': 'text/plain', ...headers }, body: Buffer.from(body) });
  const tagged = { 'role-tag': 'readers' };
  const directory = { 'content-type': 'application/json; type=directory' };
  const link = { 'content-type': 'application/json; type=link', location: '/demo/stor/one' };
  const statuses = [
    await put('/demo/stor/one', tagged, 'one'),
    await put('/demo/stor/one', {}, 'two'),
    await put('/demo/stor/one?metadata=true', { 'role-tag': '' }),
    await put('/demo/stor/shelf', { ...directory, ...tagged }),
    await put('/demo/stor/other', { ...link, ...tagged }),
    await put('/demo/stor/refused', { 'role-tag': 'nobody' }, 'x'),
  ].map(({ status }) => status);
  expect(statuses).toEqual([204, 204, 204, 204, 204, 409]);
  const upload = { json: { objectPath: '/demo/stor/large', headers: tagged } };
  const { partsDirectory } = (await service.storage('POST', '/demo/uploads', upload)).json as { partsDirectory: string };
  expect((await service.storage('POST', `${partsDirectory}/commit`, { json: { parts: [] } })).status).toBe(201);
  expect((await readAll()).map(({ action, subject, details }) => [action, subject, details])).toEqual([
    ['putObject', '/demo/stor/one', { 'role-tag': ['readers'] }],
    ['putMetadata', '/demo/stor/one', { 'role-tag': [] }],
    ['putDirectory', '/demo/stor/shelf', { 'role-tag': ['readers'] }],
    ['putSnapLink', '/demo/stor/other', { 'role-tag': ['readers'] }],
    ['commitMultipartUpload', '/demo/stor/large', { 'role-tag': ['readers'] }],
  ]);
});

test('--follow tells of a change with an earlier number that is there later', async () => {
  const [late, soon] = [await openPostgres(url, 1), await openPostgres(url, 1)];
  const row = (subject: string) => ({
    account: null,
    actor: 'a',
    key: null,
    address: '',
    request: null,
    action: '',
    subject,
    details: '{}',
  });
  const told: (string | undefined)[] = [];
  let rounds = 0;
  let finish: (() => void) | undefined;
  const finishing = new Promise<void>((done) => (finish = done));
  try {
    let begun: (() => void) | undefined;
    const noted = new Promise<void>((done) => (begun = done));
    const writing = late.transaction().execute(async (transaction) => {
      await transaction.insertInto('audit').values(row('first')).execute();
      begun?.();
      await finishing;
    });
    await noted;
    await soon.insertInto('audit').values(row('second')).execute();
    const wait = async (): Promise<boolean> => {
      rounds += 1;
      finish?.();
      await writing;
      return rounds < 3;
    };
    for await (const { subject } of readAudit(url, {}, wait)) told.push(subject);
  } finally {
    finish?.();
    await Promise.all([late.destroy(), soon.destroy()]);
  }
  expect(told).toEqual(['second', 'first']);
});

describe('changes by operators, and the command', () => {
  let sandbox: Sandbox;
  let remove: () => void;
  let database: readonly string[];
  beforeAll(async () => {
    ({ sandbox, remove } = createSandbox());
    sandbox.write('key.pub', createRsaKey().line);
    chmodSync(sandbox.write('database', `${url}\n`), 0o600);
    database = ['--database-file', join(sandbox.home, 'database')];
  });
  afterAll(() => remove());

  test('accounts, what the cloud offers and limits; the lines of an account outlive it', async () => {
    const server = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await sandbox.here(['server', ...words, ...database]);
      if (code !== 0) throw new Error(stderr);
    };
    await server('accounts', 'create', 'erin', '--email', 'e@example.com', '--public-key', join(sandbox.home, 'key.pub'));
    const file = sandbox.write(
      'cloud.yaml',
      'version: "1"\nservices: { docs: "https://docs.example.com" }\npackages: [{ name: tiny, memory: 1, disk: 1, vcpus: 1 }]\nlimits: [{ account: erin, by: ram, value: 5 }]\n',
    );
    await server('apply', file, '--yes');
    await server('accounts', 'disable', 'erin');
    await server('accounts', 'disable', 'erin');
    await server('accounts', 'enable', 'erin');
    await server('accounts', 'disable', 'erin');
    await server('accounts', 'delete', 'erin', '--yes');
    const read = (...words: string[]): Promise<AuditRecord[]> => sandbox.json('server', 'audit', ...words, ...database);
    const all = await read();
    expect(all.map(({ action, account = '', details }) => [action, account, details])).toEqual([
      ['createAccount', 'erin', { fingerprint: expect.stringMatching(/^[0-9a-f:]{47}$/u) }],
      ['setUrl', '', { services: 'docs' }],
      ['createPackage', '', { name: 'tiny' }],
      ['setLimit', 'erin', { by: 'ram', value: 5 }],
      ['disableAccount', 'erin', {}],
      ['enableAccount', 'erin', {}],
      ['disableAccount', 'erin', {}],
      ['deleteAccount', 'erin', {}],
    ]);
    expect(all.map(({ actor, address }) => [actor, /^[^@]+@[^@]+$/u.test(address)])).toEqual(all.map(() => ['operator', true]));
    expect((await read('--account', 'erin')).map(({ account }) => account)).toEqual(Array.from({ length: 6 }, () => 'erin'));
    await sql`update audit set at = at - interval '2 days' where action <> 'deleteAccount'`.execute(service.store.db);
    expect((await read('--since', '1d')).map(({ action }) => action)).toEqual(['deleteAccount']);
    const table = await sandbox.here(['server', 'audit', '--since', '1d', ...database]);
    expect(table.stdout).toMatch(/^TIME +ACTOR +ACTION +SUBJECT +ADDRESS *\n.* operator +deleteAccount +\/erin +\S+@\S+ *\n$/u);
    const wrong = await sandbox.here(['server', 'audit', '--since', 'soon', ...database]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--since: "soon" is neither a date nor a duration')]);
  });

  test('--follow shows changes as they come, one a line, until it is interrupted', async () => {
    await sql`truncate audit`.execute(service.store.db);
    await change('POST', '/my', { json: { city: 'Köln' } });
    const program = resolve(import.meta.dirname, '../../bin/cloud');
    const child = spawn(process.execPath, [program, 'server', 'audit', '--follow', ...database], { env: sandbox.env });
    let stdout = '';
    const ended = new Promise((done) => child.once('close', done));
    const shows = (lines: number): Promise<void> =>
      new Promise((done) => {
        const look = (): void => {
          if (stdout.split('\n').length > lines) done();
        };
        child.stdout.on('data', look);
        look();
      });
    child.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece));
    try {
      await Promise.race([shows(1), ended]);
      await change('POST', '/my/roles', { json: { name: 'followed' } });
      await Promise.race([shows(2), ended]);
    } finally {
      child.kill('SIGINT');
    }
    await ended;
    const [first = '', second = '', ...more] = stdout.split('\n');
    expect(first).toMatch(/^\S+Z {2}demo {2}updateAccount {2}\/demo {2}127\.0\.0\.1 {2}\{"changed":\["city"\]\}$/u);
    expect(second).toMatch(/^\S+Z {2}demo {2}createRole {2}\/demo\/roles\/\S+ {2}127\.0\.0\.1 {2}\{"name":"followed"/u);
    expect(more).toEqual(['']);
  });
});
