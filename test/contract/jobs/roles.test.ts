import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../../src/api/message.ts';
import { addUser, signHeaders, type TestReply } from '../../support/service.ts';
import { createTestJobs, narrow, type TestJobs } from './harness.ts';

/** Jobs of sub-users: what comes out carries the roles that the job was created under. */

let service: TestJobs;

async function make(collection: string, json: object): Promise<void> {
  const { status, text } = await service.compute('POST', `/my/${collection}`, { json });
  expect(status, text).toBe(201);
}

/** A client that signs as a sub-user. */
function askAs(login: string): (method: string, target: string, headers?: Headers, body?: string) => Promise<TestReply> {
  const signed = signHeaders('storage', { key: service.key, keyId: `/demo/${login}/keys/${service.key.fingerprint}` });
  return (method, target, headers = {}, body) =>
    service.storage(method, target, {
      headers: { ...signed, ...headers },
      signing: false,
      ...(body !== undefined && { body: Buffer.from(body) }),
    });
}

beforeAll(async () => {
  service = await createTestJobs(narrow);
  for (const login of ['ann', 'bob', 'eve', 'tim']) await addUser(service.store, service.account, login, service.key);
  const jobs = 'createjob, addjobinputs, endjobinput, getjob, getjoboutput, getjoberrors AND getjobfailures';
  await make('policies', { name: 'working', rules: [`CAN ${jobs} *`] });
  await make('policies', { name: 'reading', rules: ['CAN getobject AND listdirectory'] });
  const members = (...logins: string[]): object[] => logins.map((login) => ({ type: 'subuser', login, default: true }));
  await make('roles', { name: 'workers', policies: [{ name: 'working' }], members: members('ann', 'bob') });
  await make('roles', { name: 'readers', policies: [{ name: 'reading' }], members: members('ann') });
  await make('roles', {
    name: 'night',
    policies: [{ name: 'reading' }, { name: 'working' }],
    members: [{ type: 'subuser', login: 'bob' }],
  });
  await make('policies', { name: 'inside', rules: ['CAN getobject /demo/stor/open WHEN fromjob = TRUE'] });
  await make('roles', { name: 'narrow', policies: [{ name: 'inside' }, { name: 'working' }], members: members('tim') });
  await make('roles', { name: 'others', policies: [{ name: 'reading' }], members: members('eve') });
  await service.put('/demo/stor/open', 'one\ntwo\n', { 'role-tag': 'readers,night,narrow' });
});
afterAll(() => service.close());

/** Runs a job as a sub-user; reading its state is left to that user too. */
async function runAs(login: string, phases: object[], inputs: readonly string[], headers: Headers = {}): Promise<string> {
  const ask = askAs(login);
  const created = await service.storage('POST', '/demo/jobs', {
    headers: { ...signHeaders('storage', { key: service.key, keyId: `/demo/${login}/keys/${service.key.fingerprint}` }), ...headers },
    signing: false,
    json: { phases },
  });
  expect(created.status, created.text).toBe(201);
  const id = created.headers['location']?.split('/').at(-1) ?? '';
  const added = await ask('POST', `/demo/jobs/${id}/live/in?end=true`, headers, inputs.map((input) => `${input}\n`).join(''));
  expect(added.status, added.text).toBe(204);
  for (;;) {
    const { status, json, text } = await ask('GET', `/demo/jobs/${id}/live/status`, headers);
    expect(status, text).toBe(200);
    if ((json as { state: string }).state === 'done') return id;
    await sleep(40);
  }
}

describe('a job of a sub-user', () => {
  test('leaves outputs, stderr, files and directories that its creator may read, through every phase', async () => {
    const id = await runAs('ann', [{ exec: 'cat' }, { exec: 'grep o || exit 3' }], ['/demo/stor/open']);
    const ask = askAs('ann');
    const output = (await ask('GET', `/demo/jobs/${id}/live/out`)).text.trim();
    expect(await ask('GET', output)).toMatchObject({ status: 200, text: 'one\ntwo\n' });
    for (const file of ['job.json', 'in.txt', 'out.txt', 'err.txt', 'fail.txt']) {
      expect([file, (await ask('GET', `/demo/jobs/${id}/${file}`)).status]).toEqual([file, 200]);
    }
    for (const path of ['', '/stor', '/stor/demo', '/stor/demo/stor']) {
      const { headers } = await service.ask('HEAD', `/demo/jobs/${id}${path}`);
      expect([path, headers['role-tag']?.split(',').toSorted()]).toEqual([path, ['readers', 'workers']]);
    }
    const failed = await runAs('ann', [{ exec: 'echo why >&2; exit 3' }], ['/demo/stor/open']);
    const { stderr = '' } = JSON.parse((await ask('GET', `/demo/jobs/${failed}/live/err`)).text) as { stderr?: string };
    expect(await ask('GET', stderr)).toMatchObject({ status: 200, text: 'why\n' });
    const broken = await runAs('ann', [{ exec: 'cat', init: 'echo no >&2; exit 1' }], ['/demo/stor/open']);
    const record = JSON.parse((await ask('GET', `/demo/jobs/${broken}/live/err`)).text) as { stderr?: string };
    expect(await ask('GET', record.stderr ?? '')).toMatchObject({ status: 200, text: 'no\n' });
  });

  test('carries the roles that were named at its creation, and nobody else reads it', async () => {
    const id = await runAs('bob', [{ exec: 'cat' }], ['/demo/stor/open'], { role: 'night' });
    const bob = askAs('bob');
    const output = (await bob('GET', `/demo/jobs/${id}/live/out`, { role: 'night' })).text.trim();
    expect((await service.ask('HEAD', output)).headers['role-tag']).toBe('night');
    expect(await bob('GET', output, { role: 'night' })).toMatchObject({ status: 200, text: 'one\ntwo\n' });
    expect(await bob('GET', output)).toMatchObject({ status: 403 });
    for (const login of ['ann', 'eve']) {
      expect(await askAs(login)('GET', output)).toMatchObject({ status: 403, code: 'NoMatchingRoleTag' });
    }
  });

  test('reads what its own phases made, though its creator may read only the input, and only in a job', async () => {
    const tim = askAs('tim');
    const id = await runAs('tim', [{ exec: 'cat' }, { exec: 'cat' }, { type: 'reduce', exec: 'wc -l' }], ['/demo/stor/open']);
    const output = (await tim('GET', `/demo/jobs/${id}/live/out`)).text.trim();
    expect((await service.ask('GET', output)).text.trim()).toBe('2');
    expect((await tim('GET', output)).status).toBe(403);
    expect((await tim('GET', '/demo/stor/open')).status).toBe(403);
    const again = await runAs('tim', [{ exec: 'cat' }], [output]);
    expect((await tim('GET', `/demo/jobs/${again}/live/err`)).text).toContain('"EJ_ACCES"');
  });

  test('keeps the tags of the jobs directory beside them; a job of the account has only those', async () => {
    await service.ask('PUT', '/demo/jobs?metadata=true', {
      headers: { 'content-type': 'application/json; type=directory', 'role-tag': 'others' },
    });
    const id = await runAs('ann', [{ exec: 'cat' }], ['/demo/stor/open']);
    const output = (await askAs('ann')('GET', `/demo/jobs/${id}/live/out`)).text.trim();
    expect((await service.ask('HEAD', output)).headers['role-tag']?.split(',').toSorted()).toEqual(['others', 'readers', 'workers']);
    const { outputs } = await service.run([{ exec: 'cat' }], ['/demo/stor/open']);
    expect((await service.ask('HEAD', outputs[0] ?? '')).headers['role-tag']).toBe('others');
  });
});
