import type { Context } from '../cli/command.ts';
import { readRecord } from '../cli/from.ts';
import { naming } from '../base/error-copies.ts';
import { UsageError } from '../base/errors.ts';
import { document, type RbacDocument } from './document.ts';
import { readResource } from '../lookup/resource.ts';
import { isStoragePath, readTreePath } from './tree.ts';

function findTwice(words: readonly string[]): string | undefined {
  return words.find((word, at) => words.indexOf(word) !== at);
}

/** Names of roles and policies are case-sensitive, other values are not. @throws {UsageError} when two entries have the same value */
function requireUnique(file: string, part: string, field: string, values: readonly (string | undefined)[]): void {
  const present = values.filter((value) => value !== undefined);
  const twice = findTwice(field === 'name' ? present : present.map((value) => value.toLowerCase()));
  if (twice !== undefined) throw new UsageError(`${file}: ${part}: two entries have the ${field} "${twice}"`);
}

/** The tags or trees of a document, with normalized paths. */
function readTags(
  file: string,
  part: string,
  tags: Readonly<Record<string, unknown>>,
  parse: (path: string) => string,
): Record<string, string[]> {
  const read = Object.entries(tags).map(([path, roles]): [string, string[]] => {
    const list: unknown = roles ?? [];
    if (!Array.isArray(list) || !list.every((role): role is string => typeof role === 'string')) {
      throw new UsageError(`${file}: ${part}.${path}: must be a list of names of roles`);
    }
    return [naming(`${file}: ${part}`, () => parse(path)), [...new Set(list)].toSorted()];
  });
  const twice = findTwice(read.map(([path]) => path));
  if (twice !== undefined) throw new UsageError(`${file}: ${part}: "${twice}" is given twice`);
  return Object.fromEntries(read);
}

function readTagPath(path: string, account: string): string {
  const isStored = isStoragePath(path.replace(/^\/[^/]+\//, ''));
  if (isStored) throw new UsageError(`"${path}" is in the object storage`, { hint: 'write directories and objects under trees' });
  return readResource(path, account).path;
}

function checkPasswords(file: string, users: RbacDocument['users'] = []): void {
  for (const { login, password } of users) {
    if (password === undefined || /^\$\w+$/.test(password)) continue;
    throw new UsageError(`${file}: users: ${login}: passwords are not written into files`, {
      hint: 'name the environment variable that holds it: password: $NAME',
    });
  }
}

/** Reads a document as `cloud rbac export` writes it. @throws {UsageError} that names the place and the correct form */
export async function readDocument({ world, settings }: Pick<Context, 'world' | 'settings'>, file: string): Promise<RbacDocument> {
  const name = file === '-' ? 'stdin' : file;
  const read = (await readRecord(world, file, document, { sample: 'such a document: cloud rbac export' })) as Partial<RbacDocument>;
  if (read.version === undefined) throw new UsageError(`${name}: version: is missing`, { hint: 'write version: "1"' });
  const { users, policies, roles, tags, trees } = read;
  const account = settings().account?.value ?? read.account ?? 'my';
  requireUnique(name, 'users', 'login', users?.map(({ login }) => login) ?? []);
  requireUnique(name, 'policies', 'name', policies?.map((policy) => policy.name) ?? []);
  requireUnique(name, 'roles', 'name', roles?.map((role) => role.name) ?? []);
  for (const [part, entries] of Object.entries({ users, policies, roles })) {
    requireUnique(name, part, 'id', entries?.map(({ id }) => id) ?? []);
  }
  checkPasswords(name, users);
  return {
    ...read,
    version: '1',
    ...(tags && { tags: readTags(name, 'tags', tags, (path) => readTagPath(path, account)) }),
    ...(trees && { trees: readTags(name, 'trees', trees, (path) => readTreePath(path, account)) }),
  };
}
