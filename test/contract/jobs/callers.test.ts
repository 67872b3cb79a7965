import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addUser, signAs, signHeaders, signUrl, type Sending, type TestReply } from '../../support/service.ts';
import { startJobEngine } from '../../../src/server/jobs/engine.ts';
import { readErrors } from '../../../src/server/jobs/streams.ts';
import { seedAccount } from '../../../src/server/seed/account.ts';
import { openStore } from '../../../src/server/store/open.ts';
import { createTestJobs, findIsolation, narrow, type TestJobs } from './harness.ts';

/** A job reads as whoever created it and as whoever added the input: neither can borrow the rights of the other, nor of the account. */

let service: TestJobs;
type Ask = (method: string, target: string, sending?: Sending) => Promise<TestReply>;
let [owner, partner, plain, reader]: Ask[] = [];

function askAs(key: TestJobs['key'], keyId: string): Ask {
  const signed = signHeaders('storage', { key, keyId });
  return (method, target, sending = {}) =>
    service.storage(method, target, { ...sending, headers: { ...signed, ...sending.headers }, signing: false });
}

async function make(collection: string, json: object): Promise<void> {
  const { status, text } = await service.compute('POST', `/my/${collection}`, { json });
  expect(status, text).toBe(201);
}

beforeAll(async () => {
  service = await createTestJobs(narrow);
  await addUser(service.store, service.account, 'plain', service.key);
  await addUser(service.store, service.account, 'reader', service.key);
  owner = askAs(service.key, `/demo/keys/${service.key.fingerprint}`);
  partner = askAs(service.otherKey, `/other/keys/${service.otherKey.fingerprint}`);
  plain = askAs(service.key, `/demo/plain/keys/${service.key.fingerprint}`);
  reader = askAs(service.key, `/demo/reader/keys/${service.key.fingerprint}`);
  const actions = 'createjob, addjobinputs, endjobinput, getjob, getjoboutput, getjoberrors, getobject AND listdirectory';
  await make('policies', { name: 'working', rules: [`CAN ${actions}`] });
  await make('policies', { name: 'looking', rules: ['CAN getobject'] });
  const member = (login: string, type = 'subuser'): object => ({ type, login, default: true });
  await make('roles', {
    name: 'workers',
    policies: [{ name: 'working' }],
    members: [member('other', 'account'), member('plain'), member('reader')],
  });
  await make('roles', { name: 'readers', policies: [{ name: 'looking' }], members: [member('reader')] });
  await service.ask('PUT', '/demo/jobs?metadata=true', {
    headers: { 'content-type': 'application/json; type=directory', 'role-tag': 'workers' },
  });
  await service.put('/demo/stor/secret', 'the secret');
  await service.put('/demo/stor/shared', 'shared', { 'role-tag': 'workers' });
  await service.put('/demo/stor/read', 'for readers', { 'role-tag': 'readers' });
});
afterAll(() => service.close());

test('inputs are added by no signed URL, whose holder would name what is read with the rights of the signer', async () => {
  const id = await create(owner, [{ exec: 'cat' }]);
  const useUrl = (method: string, path: string, body?: string) => {
    const target = signUrl('storage', { ...signAs('storage', service.key, 'demo'), method }, `/demo/jobs/${id}/live/${path}`);
    return service.storage(method, target, { signing: false, ...(body !== undefined && { body: Buffer.from(body) }) });
  };
  const refused = { status: 403, code: 'InvalidQueryStringAuthentication' };
  expect(await useUrl('POST', 'in', '/demo/stor/secret\n')).toMatchObject(refused);
  expect(await service.lines(`/demo/jobs/${id}/live/in`)).toEqual([]);
  // The signer adds the same; the URL reads the inputs, and ends them.
  await add(owner, id, ['/demo/stor/secret']);
  expect((await useUrl('GET', 'in')).text).toBe('/demo/stor/secret\n');
  expect((await useUrl('POST', 'in/end')).status).toBe(202);
  expect((await service.wait(id)).contents).toEqual(['the secret']);
});

interface Done {
  contents: string[];
  errors: [input: string, code: string][];
}

async function create(ask: Ask | undefined, phases: object[]): Promise<string> {
  if (!ask) throw new Error('no caller');
  const created = await ask('POST', '/demo/jobs', { json: { phases } });
  expect(created.status, created.text).toBe(201);
  return created.headers['location']?.split('/').at(-1) ?? '';
}

async function add(ask: Ask | undefined, id: string, inputs: readonly string[], end = false): Promise<void> {
  const body = Buffer.from(inputs.map((input) => `${input}\n`).join(''));
  const added = await ask?.('POST', `/demo/jobs/${id}/live/in${end ? '?end=true' : ''}`, { body });
  expect(added?.status, added?.text).toBe(204);
}

async function finish(id: string): Promise<Done> {
  const { contents, errors } = await service.wait(id);
  const told = errors.map(({ input = '', code }): [string, string] => [input, code]);
  return { contents: contents.toSorted(), errors: told.toSorted(([left], [right]) => (left < right ? -1 : 1)) };
}

describe('a job that another account creates', () => {
  test('reads as that account: what its role may, its own objects, which the owner may not, and nothing else of the owner', async () => {
    expect((await partner?.('GET', '/demo/stor/secret'))?.status).toBe(403);
    const put = await partner?.('PUT', '/other/stor/own', { body: Buffer.from('own') });
    expect(put?.status).toBe(204);
    const id = await create(partner, [{ exec: 'cat' }]);
    await add(partner, id, ['/demo/stor/secret', '/demo/stor/shared', '/other/stor/own']);
    await add(owner, id, ['/other/stor/own'], true);
    expect(await finish(id)).toEqual({
      contents: ['own', 'shared'],
      errors: [
        ['/demo/stor/secret', 'EJ_ACCES'],
        ['/other/stor/own', 'EJ_ACCES'],
      ],
    });
  });

  test('loads its assets as that account', async () => {
    const id = await create(partner, [{ exec: 'cat "$MANTA_ASSETS/demo/stor/secret"', assets: ['/demo/stor/secret'] }]);
    await add(partner, id, ['/demo/stor/shared'], true);
    expect(await finish(id)).toEqual({ contents: [], errors: [['/demo/stor/shared', 'TaskInitError']] });
    const allowed = await create(partner, [{ exec: 'cat "$MANTA_ASSETS/demo/stor/shared"', assets: ['/demo/stor/shared'] }]);
    await add(partner, allowed, ['/demo/stor/shared'], true);
    expect(await finish(allowed)).toEqual({ contents: ['shared'], errors: [] });
  });

  test('goes on as that account after a restart of the service', async () => {
    const id = await create(partner, [{ exec: 'cat' }]);
    await service.restart();
    await add(partner, id, ['/demo/stor/secret', '/demo/stor/shared'], true);
    expect(await finish(id)).toEqual({ contents: ['shared'], errors: [['/demo/stor/secret', 'EJ_ACCES']] });
  });
});

describe('an input that somebody else adds', () => {
  test('is read only when both may: the creator lends nothing', async () => {
    const id = await create(owner, [{ exec: 'cat' }]);
    await add(plain, id, ['/demo/stor/secret', '/demo/stor/shared']);
    await add(owner, id, ['/demo/stor/read'], true);
    expect(await finish(id)).toEqual({ contents: ['for readers', 'shared'], errors: [['/demo/stor/secret', 'EJ_ACCES']] });
  });

  test('nor does who adds lend the creator anything', async () => {
    const id = await create(plain, [{ exec: 'cat' }]);
    await add(owner, id, ['/demo/stor/secret', '/demo/stor/shared'], true);
    expect(await finish(id)).toEqual({ contents: ['shared'], errors: [['/demo/stor/secret', 'EJ_ACCES']] });
  });

  test('is checked for reducers too, each line for who added it, also after a restart', async () => {
    const id = await create(owner, [{ type: 'reduce', exec: 'cat' }]);
    await add(plain, id, ['/demo/stor/secret', '/demo/stor/read']);
    await add(reader, id, ['/demo/stor/read', '/demo/stor/shared']);
    await service.restart();
    await service.ask('POST', `/demo/jobs/${id}/live/in/end`);
    expect(await finish(id)).toEqual({
      contents: ['for readersshared'],
      errors: [
        ['/demo/stor/read', 'EJ_ACCES'],
        ['/demo/stor/secret', 'EJ_ACCES'],
      ],
    });
  });
});

describe('the roles of a creator', () => {
  test('are those of the creation: one that is given later does not serve, one that is taken no longer serves', async () => {
    const early = await create(plain, [{ exec: 'cat' }]);
    const late = await create(reader, [{ exec: 'cat' }]);
    const members = (logins: string[]): object => ({ members: logins.map((login) => ({ type: 'subuser', login, default: true })) });
    const { status, text } = await service.compute('POST', '/my/roles/readers', { json: members(['plain']) });
    expect(status, text).toBe(200);
    expect((await plain?.('GET', '/demo/stor/read'))?.status).toBe(200);
    for (const id of [early, late]) {
      await add(owner, id, ['/demo/stor/read', '/demo/stor/shared'], true);
      expect(await finish(id)).toEqual({ contents: ['shared'], errors: [['/demo/stor/read', 'EJ_ACCES']] });
    }
    await service.compute('POST', '/my/roles/readers', { json: members(['reader']) });
  });

  test('a job whose roles are all gone reads nothing, without any other error', async () => {
    await make('roles', {
      name: 'passing',
      policies: [{ name: 'looking' }],
      members: [{ type: 'subuser', login: 'reader', default: true }],
    });
    await service.put('/demo/stor/passing', 'x', { 'role-tag': 'passing' });
    const id = await create(reader, [{ exec: 'cat' }]);
    const { json } = await service.compute('GET', '/my/roles/passing');
    expect((await service.compute('DELETE', `/my/roles/${(json as { id: string }).id}`)).status).toBe(204);
    await add(reader, id, ['/demo/stor/passing', '/demo/stor/read'], true);
    expect(await finish(id)).toEqual({ contents: ['for readers'], errors: [['/demo/stor/passing', 'EJ_ACCES']] });
  });
});

test('a data directory of an earlier release is taken over, and its jobs go on as the account that they belong to', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-older-'));
  const id = randomUUID();
  const phases = JSON.stringify([{ exec: 'cat' }]);
  const older = await openStore(dir);
  const account = await seedAccount(older, { login: 'demo', publicKey: service.key.line, keyFile: '', now: 0 });
  await older.write(async (transaction) => {
    const columns = [
      'jobs.creator',
      'job_tasks.adder',
      'job_tasks.given',
      'job_reduce_inputs.adder',
      'job_reduce_inputs.given',
      'job_reduce_inputs.origin',
      'accounts.status',
      'accounts.most_bytes',
      'accounts.most_objects',
      'accounts.most_requests',
      'uploads.ended',
    ];
    const leases = ['owner', 'lease', 'attempt', 'lost'].map((each) => `job_tasks.${each}`);
    const undo = [
      'drop index jobs_by_end',
      'drop index uploads_ended',
      'drop index job_outputs_named',
      'drop index job_tasks_running',
      'drop index job_tasks_suspect',
      ...['new', 'old', 'added', 'replaced'].map((each) => `drop trigger usage_of_${each}`),
      'drop table storage_usage',
      'drop table job_adders',
      'drop table job_causes',
      ...[...leases, ...columns, 'job_outputs.given', 'job_errors.cause'].map(
        (each) => `alter table ${each.replace('.', ' drop column ')}`,
      ),
    ];
    for (const each of undo) await sql.raw(each).execute(transaction);
    await sql`delete from steps where number > 4`.execute(transaction);
    await sql`insert into jobs (id, account, access, phases, state, created, input_done, errors)
      values (${id}, ${account.id}, '{"sourceip":"127.0.0.1"}', ${phases}, 'running', 0, 1, 1)`.execute(transaction);
    await sql`insert into job_phases (job, phase, reducers, inputs, tasks, closed) values (${id}, 0, 0, 1, 1, 1)`.execute(transaction);
    await sql`insert into job_tasks (job, phase, number, state, input, origin)
      values (${id}, 0, 0, 'waiting', '/demo/stor/none', '/demo/stor/none')`.execute(transaction);
    await sql`insert into job_errors (job, number, record, input) values (${id}, 0, '{"code":"Old","message":"kept"}', '/x')`.execute(
      transaction,
    );
  });
  await older.close();
  const store = await openStore(dir);
  const isolation = await findIsolation();
  const engine = startJobEngine({ store, dataDir: dir, url: () => '', server: 'east-1', now: Date.now, log: () => undefined, isolation });
  try {
    const readState = (): Promise<{ state: string; errors: number }> =>
      store.db.selectFrom('jobs').select(['state', 'errors']).where('id', '=', id).executeTakeFirstOrThrow();
    await expect.poll(readState).toEqual({ state: 'done', errors: 2 });
    const errors: string[] = [];
    for await (const { code, message } of readErrors(store.db, id)) errors.push(`${code}: ${message}`);
    expect(errors).toEqual(['Old: kept', 'EJ_NOENT: no such object: "/demo/stor/none"']);
  } finally {
    await engine.close();
    await store.close();
    await rm(dir, { recursive: true });
  }
});
