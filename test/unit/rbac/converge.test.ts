import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RbacDocument } from '../../../src/commands/rbac/document.ts';
import { collectPasswords, createExecutor } from '../../../src/commands/rbac/execute.ts';
import { toDocument } from '../../../src/commands/rbac/export.ts';
import { plan } from '../../../src/commands/rbac/plan.ts';
import { listTaggable, readState, readTags } from '../../../src/commands/rbac/state.ts';
import { createTestContext } from '../../support/compute-context.ts';
import { createRandom } from '../../support/random.ts';
import { scale, seed } from '../../support/scale.ts';
import { createTestService, type TestService } from '../../support/service.ts';

/** How many random documents are applied one after the other. */
const edits = scale(15, 300);

const random = createRandom(seed);
const below = (limit: number): number => Math.floor(random() * limit);
const chance = (share: number): boolean => random() < share;

function some<T>(items: readonly T[], share: number): T[] {
  return items.filter(() => chance(share));
}

function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => [random(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

/** A key that the service takes: its numbers need not be good for anything. */
function makeKey(): string {
  const field = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0, 0, 0, bytes.length >> 8, bytes.length & 255].slice(1)), bytes]);
  const modulus = Buffer.concat([Buffer.from([0, 0x80 | below(128)]), Buffer.from(Array.from({ length: 255 }, () => below(256) | 1))]);
  return `ssh-rsa ${Buffer.concat([field(Buffer.from('ssh-rsa')), field(Buffer.from([1, 0, 1])), field(modulus)]).toString('base64')}`;
}

const rules = ['CAN listkeys', 'CAN getkey AND listusers', 'CAN * WHEN day = mon', 'CAN getimage WHEN sourceip = 10.0.0.0/8'];
const names = ['ant', 'bee', 'cat', 'dog', 'eel'];

interface Named {
  id?: string | undefined;
  name: string;
}

/** Changes names with each other, along rings, and to new ones; some entries go and some come. */
function editNames<T extends Named>(entries: readonly T[], prefix: string, make: (name: string) => T): T[] {
  const kept = some(entries, 0.85);
  const pool = shuffle(names.map((name) => `${prefix}${name}`));
  const renamed = kept.map((entry) => (chance(0.4) ? { ...entry, name: pool.pop() ?? entry.name } : entry));
  const unique = renamed.filter(({ name }, at) => renamed.findIndex((other) => other.name === name) === at);
  const added = pool.filter((name) => chance(0.4) && !unique.some((entry) => entry.name === name)).map(make);
  return shuffle([...unique, ...added]);
}

function editKeys(keys: { name?: string | undefined; key: string }[] = []): { name?: string | undefined; key: string }[] {
  const kept = some(keys, 0.8).map((key) => (chance(0.2) ? { ...key, name: `key${below(1000)}` } : key));
  return chance(0.3) ? [...kept, { name: `key${below(1000)}`, key: makeKey() }] : kept;
}

function editDocument({ users = [], policies = [], roles = [] }: RbacDocument, fixed: readonly string[]): RbacDocument {
  const newUsers = editNames(
    users.map((user) => ({ ...user, name: user.login })),
    'u-',
    (name) => ({ name, login: name, email: `${name}@example.com`, password: '$SECRET', keys: [] }),
  ).map(({ name, ...user }) => ({
    ...user,
    login: name,
    keys: editKeys(user.keys),
    ...(chance(0.3) && { firstName: `First ${below(10)}` }),
    ...(chance(0.2) && { phone: '' }),
  }));
  const newPolicies = editNames(policies, 'p-', (name) => ({ name, rules: ['CAN listkeys'] })).map((policy) =>
    chance(0.4)
      ? { ...policy, rules: shuffle(rules).slice(0, 1 + below(3)), description: chance(0.5) ? `About ${below(10)}` : '' }
      : policy,
  );
  const logins = newUsers.map(({ login }) => login);
  const newRoles = editNames(roles, 'r-', (name) => ({ name })).map((role) => ({
    ...role,
    default_members: some(logins, 0.3),
    members: some(logins, 0.3),
    policies: some(newPolicies, 0.4).map(({ name }) => name),
  }));
  const roleNames = newRoles.map(({ name }) => name);
  const paths = [
    'keys',
    'users',
    'account',
    ...fixed,
    ...newUsers.map(({ login }) => `users/${login}`),
    ...newPolicies.map(({ name }) => `policies/${name}`),
  ];
  const tags = Object.fromEntries(
    some([...paths, ...roleNames.map((name) => `roles/${name}`)], 0.3).map((path) => [path, some(roleNames, 0.4)]),
  );
  return { version: '1', users: newUsers, policies: newPolicies, roles: newRoles, tags };
}

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
  const fixed = ['images/61fd44f6-b986-44cb-ab14-31249df98718'];
  for (let at = 0; at < edits; at += 1) {
    const before = await read();
    const exported = toDocument(before.state, 'demo', before.tags);
    expect(plan(exported, before.state, before.tags, true)).toEqual([]);
    const wanted = editDocument(exported, fixed);
    const changes = plan(wanted, before.state, before.tags, true);
    const executor = createExecutor(context, before.state, await collectPasswords(context, changes));
    for (const { step } of changes) await executor.execute(step);
    const after = await read();
    expect(plan(wanted, after.state, after.tags, true)).toEqual([]);
  }
}, 120_000);
