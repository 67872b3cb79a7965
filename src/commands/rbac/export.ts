import type { Context } from '../../cli/command.ts';
import { contactFields, type Key } from '../../api/resources.ts';
import type { KeyDocument, RbacDocument, RoleDocument, UserDocument } from '../../rbac/document.ts';
import { printMember, type Role } from '../../lookup/role.ts';
import { listTaggable, readState, readTags, type State } from '../../rbac/state.ts';

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
  const pick = (isDefault: boolean): string[] =>
    members
      .filter((member) => member.default === isDefault)
      .map(printMember)
      .toSorted();
  return { id, name, default_members: pick(true), members: pick(false), policies: policies.map((policy) => policy.name) };
}

/** The document that says what an account has, everything in an order of its own. */
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

/** The account as a document. */
export async function readAccount(context: Context): Promise<RbacDocument> {
  const state = await readState(context, true);
  return toDocument(state, context.account, await readTags(context, listTaggable(state), state));
}
