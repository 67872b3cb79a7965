import type { compute as operations } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { ApiError } from '../../base/errors.ts';
import { isUuid, requirePolicy, requireUser } from '../../lookup/find.ts';
import { listRoles, readRole, writeRole, type Role, type RoleFields } from '../../lookup/role.ts';
import { isSame } from '../../rbac/settle.ts';

type CreateInput = InputOf<typeof operations.createRole>;
type UpdateInput = InputOf<typeof operations.updateRole>;

/** The fields with names where they have ids alone: version 8 has no words for these. @throws {NotFoundError} for an id that nothing has */
async function nameAll<F extends RoleFields>({ compute, account }: Context, fields: F): Promise<F> {
  const { members, policies } = fields;
  const users = members?.some(({ login }) => login === '') ? await compute.listUsers({ account }) : [];
  const listed = policies?.some(isUuid) ? await compute.listPolicies({ account }) : [];
  return {
    ...fields,
    members: members?.map((member) => (member.login === '' ? { ...member, login: requireUser(users, member.id ?? '').login } : member)),
    policies: policies?.map((word) => (isUuid(word) ? requirePolicy(listed, word).name : word)),
  };
}

/** Creates a role in the form that the service speaks. */
export async function createRole(context: Context, fields: RoleFields & { name: string }, isOld: boolean): Promise<Role> {
  const { compute, account } = context;
  const input = { account, ...writeRole(isOld ? await nameAll(context, fields) : fields, isOld) } as CreateInput;
  return readRole(await compute.createRole(input));
}

/** Changes a role; the lists that are given are replaced as a whole. */
export async function updateRole(context: Context, id: string, fields: RoleFields, isOld: boolean): Promise<Role> {
  const { compute, account } = context;
  const input = { account, role: id, ...writeRole(isOld ? await nameAll(context, fields) : fields, isOld) } as UpdateInput;
  return readRole(await compute.updateRole(input));
}

/**
 * A role as it is now. Reads may lag behind writes, and a list that is replaced must be worked out from what is there: the answer to a
 * write is current (compute document, section 1, rule 6), also to one that changes nothing. Undefined when the role is gone.
 */
export async function readCurrentRole(context: Context, id: string, isOld: boolean): Promise<Role | undefined> {
  try {
    return await updateRole(context, id, {}, isOld);
  } catch (error) {
    if (!(error instanceof ApiError) || ![400, 404, 409].includes(error.status)) throw error;
    // Some services refuse a change without fields.
    return error.status === 404 ? undefined : (await listRoles(context)).roles.find((role) => role.id === id);
  }
}

/** Whether reads show a role as a write answered it. */
export async function isRoleShown(context: Context, written: Role): Promise<boolean> {
  const { compute, account } = context;
  const listed = (await listRoles(context)).roles.find(({ id }) => id === written.id);
  if (!isSame(listed, written)) return false;
  try {
    return isSame(readRole(await compute.getRole({ account, role: written.id })), written);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}
