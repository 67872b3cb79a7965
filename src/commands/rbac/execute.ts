import type { User } from '../../api/resources.ts';
import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../base/errors.ts';
import { createRole, readCurrentRole, updateRole } from '../roles/write.ts';
import { askNewPassword } from '../users/password.ts';
import type { Change, Step } from '../../rbac/change.ts';
import type { RoleDocument } from '../../rbac/document.ts';
import { findTags, requestPath } from '../../lookup/resource.ts';
import type { RoleFields } from '../../lookup/role.ts';
import { toRequestPath, type State } from '../../rbac/state.ts';
import { isStoragePath } from '../../rbac/tree.ts';
import { changeRoleTags } from '../../transfer/tree/role-tags.ts';
import { readMembers, writeMembers } from '../roles/members.ts';

/** Passwords of the users that a plan creates, by login. */
export type Passwords = ReadonlyMap<string, string>;

/**
 * Reads the passwords of new users from the environment, or prompts for them, before the first step.
 * @throws {UsageError} that names a user without a password
 */
export async function collectPasswords(context: Context, changes: readonly Change[]): Promise<Passwords> {
  const passwords = new Map<string, string>();
  for (const { step } of changes) {
    if (step.do !== 'createUser') continue;
    const { login, password: reference } = step.user;
    if (reference === undefined) {
      passwords.set(login, await askNewPassword(context, login, `give an environment variable in the file: password: $NAME`));
      continue;
    }
    const password = context.world.env[reference.slice(1)];
    if (!password) throw new UsageError(`users: ${login}: the environment variable ${reference} is not set`);
    passwords.set(login, password);
  }
  return passwords;
}

function toFields({ members, default_members: defaults, policies, name }: Partial<Omit<RoleDocument, 'id'>>): RoleFields {
  return {
    ...(name !== undefined && { name }),
    ...((members ?? defaults) && { members: readMembers(members, defaults) }),
    ...(policies && { policies: policies.map((policy) => ({ name: policy })) }),
  };
}

/**
 * Returns the fields of a role with both lists of members, because the API has one list for both. A list that the document does not define
 * is read now: the data that was read for the plan may be stale (compute document, section 1, rule 6).
 */
async function fillMembers(
  context: Context,
  id: string,
  fields: Partial<Omit<RoleDocument, 'id'>>,
  isOld: boolean,
): Promise<Partial<Omit<RoleDocument, 'id'>>> {
  const { members, default_members: defaults } = fields;
  if ((members === undefined) === (defaults === undefined)) return fields;
  const now = (await readCurrentRole(context, id, isOld))?.members ?? [];
  // A user who is listed only in `members` no longer has the role by default.
  const byDefault = defaults ?? writeMembers(now, true).filter((word) => !members?.includes(word));
  return { ...fields, members: members ?? writeMembers(now, false), default_members: byDefault };
}

function keyPath(user: string, fingerprint: string): string {
  return `users/${user}/keys/${fingerprint}`;
}

/** Executes the steps of a plan, one after the other. */
export interface Executor {
  execute(step: Step): Promise<void>;
}

/** Creates an executor that uses the ids from earlier steps. */
export function createExecutor(context: Context, state: State, passwords: Passwords): Executor {
  const { compute, storage, account, world } = context;
  const users = new Map<string, User['id']>();
  /** Role tags of keys that are deleted and created again under another name, by path. */
  const tagsOfKeys = new Map<string, string[]>();
  /** Current names of policies, by id. */
  const policies = new Map(state.policies.map(({ id, name }) => [id, name]));

  async function execute(step: Step): Promise<void> {
    switch (step.do) {
      case 'createUser': {
        const { id: _id, keys: _keys, password: _reference, ...fields } = step.user;
        const user = await compute.createUser({ account, ...fields, password: passwords.get(fields.login) ?? '' });
        users.set(user.login, user.id);
        return;
      }
      case 'updateUser':
        await compute.updateUser({ account, user: step.id, ...step.fields });
        return;
      case 'deleteUser':
        await compute.deleteUser({ account, user: step.id });
        return;
      case 'createKey': {
        const user = step.id ?? users.get(step.login) ?? step.login;
        const { fingerprint } = await compute.createUserKey({ account, user, ...step.key });
        const resource = requestPath({ path: keyPath(user, fingerprint) }, account);
        const tags = tagsOfKeys.get(resource) ?? [];
        if (tags.length > 0) await compute.setRoleTags({ resource, 'role-tag': tags });
        return;
      }
      case 'deleteKey': {
        const path = keyPath(step.id, step.fingerprint);
        if (step.returns) tagsOfKeys.set(requestPath({ path }, account), (await findTags(context, { path })) ?? []);
        await compute.deleteUserKey({ account, user: step.id, key: step.fingerprint });
        return;
      }
      case 'createPolicy': {
        const { id: _id, ...fields } = step.policy;
        const { id, name } = await compute.createPolicy({ account, ...fields });
        policies.set(id, name);
        return;
      }
      case 'updatePolicy': {
        const { id, name } = await compute.updatePolicy({ account, policy: step.id, ...step.fields });
        policies.set(id, name);
        return;
      }
      case 'deletePolicy':
        await compute.deletePolicy({ account, policy: step.id });
        policies.delete(step.id);
        return;
      case 'createRole':
        await createRole(context, { ...toFields(step.role), name: step.role.name }, state.isOld);
        return;
      case 'updateRole':
        await updateRole(context, step.id, toFields(await fillMembers(context, step.id, step.fields, state.isOld)), state.isOld);
        return;
      case 'deleteRole':
        await compute.deleteRole({ account, role: step.id });
        return;
      case 'setTags': {
        if (isStoragePath(step.path)) {
          await changeRoleTags({ storage, signal: world.interrupted }, { account, path: step.path }, () => step.roles);
          return;
        }
        const resource = requestPath({ path: toRequestPath(step.path, policies) }, account);
        await compute.setRoleTags({ resource, 'role-tag': step.roles });
        return;
      }
    }
  }

  return { execute };
}
