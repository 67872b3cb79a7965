import { NotFoundError } from '../../base/errors.ts';
import type { Context } from '../../cli/command.ts';
import { contactFields, type Key } from '../../api/resources.ts';
import type { KeyDocument, RbacDocument, RoleDocument, UserDocument } from '../../rbac/document.ts';
import type { Role } from '../../lookup/role.ts';
import { listTaggable, normalizePath, readState, readTags, type State } from '../../rbac/state.ts';
import { findTree, isInTree, isStoragePath } from '../../rbac/tree.ts';
import { readEntryTags } from './entry-tags.ts';
import { writeMembers } from '../roles/members.ts';

function byName<T>(items: readonly T[], nameOf: (item: T) => string): T[] {
  return items.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

function writeKey({ name, fingerprint, key }: Key): KeyDocument {
  return { ...(name !== fingerprint && { name }), key };
}

function writeUser(user: State['users'][number]): UserDocument {
  const { id, login, keys } = user;
  const contact = Object.entries(user).filter(([name, value]) => name in contactFields && value !== '');
  return { id, login, ...(Object.fromEntries(contact) as { email: string }), keys: keys.map(writeKey) };
}

function writeRole({ id, name, members, policies }: Role): RoleDocument {
  const [asking, byDefault] = [writeMembers(members, false).toSorted(), writeMembers(members, true).toSorted()];
  return { id, name, default_members: byDefault, members: asking, policies: policies.map((policy) => policy.name) };
}

/** Returns the access document of an account, with all entries sorted. */
export function toDocument(state: State, account: string, tags: Readonly<Record<string, string[]>>): RbacDocument {
  const { users, policies, roles } = state;
  return {
    version: '1',
    account,
    users: byName(users, ({ login }) => login).map(writeUser),
    policies: byName(policies, ({ name }) => name).map(({ id, name, description, rules }) => ({
      id,
      name,
      ...(description !== undefined && description !== '' && { description }),
      rules,
    })),
    roles: byName(roles, ({ name }) => name).map(writeRole),
    tags: Object.fromEntries(byName(Object.entries(tags), ([path]) => path)),
  };
}

/** Removes from `tags` the role tags that the trees imply, and returns the trees. @param paths of everything in the trees */
function foldTrees(tags: Record<string, string[]>, roots: readonly string[], paths: readonly string[]): Record<string, string[]> {
  const trees = Object.fromEntries(roots.map((root) => [root, tags[root] ?? []]));
  const say = (path: string): string => JSON.stringify(tags[path] ?? []);
  // Directories come before their entries.
  for (const path of paths.toSorted((a, b) => a.split('/').length - b.split('/').length)) {
    const said = findTree(trees, path);
    const isSame = said !== undefined && JSON.stringify(said) === say(path);
    if (!isSame && isStoragePath(path)) trees[path] = tags[path] ?? [];
    if (isSame || isStoragePath(path)) delete tags[path];
    else tags[path] ??= [];
  }
  return trees;
}

/** Reads the account as a document. @param roots paths to be written as trees */
export async function readAccount(context: Context, roots: readonly string[] = []): Promise<RbacDocument> {
  const state = await readState(context, true);
  const paths = listTaggable(state);
  const trees = [...new Set(roots.map((root) => (isStoragePath(root) ? root : normalizePath(root, state))))];
  const missing = trees.find((root) => !isStoragePath(root) && !paths.includes(root));
  if (missing !== undefined) throw new NotFoundError(`--tree: ${missing} does not exist`);
  const entries = await readEntryTags(context, Object.fromEntries(trees.map((root) => [root, []])));
  const tags = { ...(await readTags(context, paths, state)), ...entries };
  const inTrees = [...paths, ...Object.keys(entries)].filter((path) => trees.some((root) => isInTree(path, root)));
  const folded = foldTrees(tags, trees, inTrees);
  const document = toDocument(state, context.account, tags);
  return trees.length === 0 ? document : { ...document, trees: Object.fromEntries(byName(Object.entries(folded), ([path]) => path)) };
}
