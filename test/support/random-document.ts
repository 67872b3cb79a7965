import type { RbacDocument } from '../../src/rbac/document.ts';
import { createRandom } from './random.ts';

const usualRules = ['CAN listkeys', 'CAN getkey AND listusers', 'CAN * WHEN day = mon', 'CAN getimage WHEN sourceip = 10.0.0.0/8'];
const names = ['ant', 'bee', 'cat', 'dog', 'eel'];

interface Named {
  id?: string | undefined;
  name: string;
}

interface EditorOptions {
  /** What policies are made of. */
  rules?: readonly string[];
  /** Members of roles beside the users. */
  others?: readonly string[];
  /** How many times as many members, policies and tags there are. */
  density?: number;
  /** Paths that trees may begin at. */
  trees?: readonly string[];
}

/**
 * Edits documents of access control at random; the same seed makes the same edits. New users get the password of `$SECRET`.
 * @param fixed paths of role tags that are there whatever the document says
 */
export function createDocumentEditor(
  seed: number,
  fixed: readonly string[],
  { rules = usualRules, others = [], density = 1, trees: roots = [] }: EditorOptions = {},
): (document: RbacDocument) => RbacDocument {
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

  function editDocument({ users = [], policies = [], roles = [] }: RbacDocument): RbacDocument {
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
    const logins = [...newUsers.map(({ login }) => login), ...others];
    const newRoles = editNames(roles, 'r-', (name) => ({ name })).map((role) => ({
      ...role,
      default_members: some(logins, 0.3 * density),
      members: some(logins, 0.3 * density),
      policies: some(newPolicies, 0.4 * density).map(({ name }) => name),
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
      some([...paths, ...roleNames.map((name) => `roles/${name}`)], 0.3 * density).map((path) => [path, some(roleNames, 0.4)]),
    );
    if (roots.length === 0) return { version: '1', users: newUsers, policies: newPolicies, roles: newRoles, tags };
    const trees = Object.fromEntries(
      some([...roots, ...newUsers.map(({ login }) => `users/${login}`)], 0.5).map((path) => [path, some(roleNames, 0.4)]),
    );
    return { version: '1', users: newUsers, policies: newPolicies, roles: newRoles, tags, trees };
  }

  return editDocument;
}
