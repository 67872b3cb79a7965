import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectPasswords, createExecutor } from '../../../src/commands/rbac/execute.ts';
import { toDocument } from '../../../src/commands/rbac/export.ts';
import type { RbacDocument } from '../../../src/rbac/document.ts';
import { plan } from '../../../src/rbac/plan.ts';
import { listTaggable, readState, readTags } from '../../../src/rbac/state.ts';
import { createTestContext } from '../../support/compute-context.ts';
import { createDocumentEditor } from '../../support/random-document.ts';
import { seed } from '../../support/scale.ts';
import { useQuickPasswords } from '../../support/quick-crypto.ts';
import { createRsaKey, createTestService, type TestService } from '../../support/service.ts';

/** How many random documents are applied one after the other; test/proof/documents.test.ts applies more, through the program. */
const edits = 5;

useQuickPasswords();

let service: TestService;
beforeAll(async () => {
  service = await createTestService();
});
afterAll(() => service.close());

test(`random documents converge in one apply each (seed ${seed})`, async () => {
  const context = createTestContext(service, { SECRET: 'open sesame 1' });
  async function read() {
    const state = await readState(context, true);
    // Only what the test tags is asked for; everything else has no tags.
    const paths = listTaggable(state).filter((path) => !/^(machines|packages\/|images\/[^6]|fwrules|networks|services)/.test(path));
    return { state, tags: await readTags(context, paths, state) };
  }
  const edit = createDocumentEditor(seed, ['images/61fd44f6-b986-44cb-ab14-31249df98718'], {
    trees: ['users', 'policies', 'roles'],
  });
  for (let at = 0; at < edits; at += 1) {
    const before = await read();
    const exported = toDocument(before.state, 'demo', before.tags);
    expect(plan(exported, before.state, before.tags, true)).toEqual([]);
    const wanted = edit(exported);
    const changes = plan(wanted, before.state, before.tags, true);
    const executor = createExecutor(context, before.state, await collectPasswords(context, changes));
    for (const { step } of changes) await executor.execute(step);
    const after = await read();
    expect(plan(wanted, after.state, after.tags, true)).toEqual([]);
  }
});

test('of the two lists of members, the one that a document does not have stays as it is when the step is done', async () => {
  const context = createTestContext(service);
  const make = async (path: string, json: object) => expect((await service.compute('POST', path, { json })).status).toBeLessThan(300);
  for (const login of ['first', 'second', 'third']) await make('/my/users', { login, email: 'a@b', password: 'secret1234' });
  await make('/my/roles', { name: 'partly', members: [{ type: 'subuser', login: 'first', default: true }] });
  const state = await readState(context, false);
  const steps = (fields: object) => plan({ version: '1', roles: [{ name: 'partly', ...fields }] }, state, {}, false);
  // Somebody else's change, which what the plan was made from does not show.
  const members = [
    { type: 'subuser', login: 'first', default: true },
    { type: 'subuser', login: 'second', default: true },
  ];
  await make('/my/roles/partly', { members });
  const shown = async () => (await service.compute('GET', '/my/roles/partly')).json as { members: { login: string; default: boolean }[] };
  for (const { step } of steps({ members: ['third', 'first'] })) await createExecutor(context, state, new Map()).execute(step);
  const pick = ({ members: list }: Awaited<ReturnType<typeof shown>>) => Object.fromEntries(list.map((each) => [each.login, each.default]));
  expect(pick(await shown())).toEqual({ first: false, third: false, second: true });
  for (const { step } of steps({ default_members: ['third'] })) await createExecutor(context, state, new Map()).execute(step);
  expect(pick(await shown())).toEqual({ first: false, third: true });
});

test('a policy whose name is a UUID is referred to by its name', async () => {
  const context = createTestContext(service);
  const name = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const document: RbacDocument = {
    version: '1',
    policies: [{ name, rules: ['CAN listkeys'] }],
    roles: [{ name: 'of UUIDs', policies: [name] }],
  };
  for (let round = 0; round < 2; round += 1) {
    const state = await readState(context, false);
    const changes = plan(document, state, {}, false);
    expect(changes).toHaveLength(round === 0 ? 2 : 0);
    for (const { step } of changes) await createExecutor(context, state, new Map()).execute(step);
  }
  expect((await service.compute('GET', '/my/roles/of%20UUIDs')).json).toMatchObject({ policies: [{ name }] });
});

test('role tags of a user whose login is written in another case are not taken away', async () => {
  const context = createTestContext(service);
  const document: RbacDocument = { version: '1', tags: { 'users/FIRST': ['partly'] } };
  const state = await readState(context, true);
  expect(plan(document, state, { 'users/first': ['partly'] }, true)).toEqual([]);
});

test('a key that gets another name keeps its role tags; one that is attested is refused', async () => {
  const context = createTestContext(service);
  const { line, fingerprint } = createRsaKey();
  const ask = (method: string, path: string, json?: object) => service.compute(method, path, json && { json });
  await ask('POST', '/my/users', { login: 'renamer', email: 'a@b', password: 'secret1234' });
  await ask('POST', '/my/users/renamer/keys', { name: 'before', key: line });
  await ask('PUT', `/my/users/renamer/keys/${fingerprint}`, { 'role-tag': ['partly'] });
  const document: RbacDocument = {
    version: '1',
    users: [{ login: 'renamer', email: 'a@b', keys: [{ name: 'after', key: line }] }],
    tags: { [`users/renamer/keys/${fingerprint}`]: ['partly'] },
  };
  const state = await readState(context, true);
  const changes = plan(document, state, { [`users/renamer/keys/${fingerprint}`]: ['partly'] }, false);
  expect(changes.map(({ action, kind, name }) => [action, kind, name])).toEqual([
    ['delete', 'key', 'renamer/before'],
    ['create', 'key', 'renamer/after'],
  ]);
  const executor = createExecutor(context, state, new Map());
  for (const { step } of changes) await executor.execute(step);
  expect((await ask('GET', '/my/users/renamer/keys/after')).headers['role-tag']).toBe('partly');
  const attested = state.users.map((user) => ({ ...user, keys: user.keys.map((key) => ({ ...key, attested: true })) }));
  expect(() => plan(document, { ...state, users: attested }, {}, false)).toThrow('the key before is attested');
});
