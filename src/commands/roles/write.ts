import type { compute as operations } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { requirePolicy, requireUser } from '../../lookup/find.ts';
import { askRole, listRoles, readRole, writeRole, type PolicyReference, type Role, type RoleFields } from '../../lookup/role.ts';
import { isShownAs, readCurrent } from '../../rbac/settle.ts';
import { isUuid } from '../../base/uuid.ts';

type CreateInput = InputOf<typeof operations.createRole>;
type UpdateInput = InputOf<typeof operations.updateRole>;

function isId(policy: PolicyReference): policy is string {
  return typeof policy === 'string' && isUuid(policy);
}

/** Adds names to members and policies that have only ids: version 8 accepts no ids. @throws {NotFoundError} for an unknown id */
async function nameAll<F extends RoleFields>({ compute, account }: Context, fields: F): Promise<F> {
  const { members, policies } = fields;
  const users = members?.some(({ login }) => login === '') ? await compute.listUsers({ account }) : [];
  const listed = policies?.some(isId) ? await compute.listPolicies({ account }) : [];
  return {
    ...fields,
    members: members?.map((member) => (member.login === '' ? { ...member, login: requireUser(users, member.id ?? '').login } : member)),
    policies: policies?.map((policy) => (isId(policy) ? requirePolicy(listed, policy).name : policy)),
  };
}

/** Creates a role in the form that the service accepts. */
export async function createRole(context: Context, fields: RoleFields & { name: string }, isOld: boolean): Promise<Role> {
  const { compute, account } = context;
  const input = { account, ...writeRole(isOld ? await nameAll(context, fields) : fields, isOld) } as CreateInput;
  return readRole(await compute.createRole(input));
}

/** Changes a role; the given lists replace the current ones. */
export async function updateRole(context: Context, id: string, fields: RoleFields, isOld: boolean): Promise<Role> {
  const { compute, account } = context;
  const input = { account, role: id, ...writeRole(isOld ? await nameAll(context, fields) : fields, isOld) } as UpdateInput;
  return readRole(await compute.updateRole(input));
}

async function readRoles(context: Context): Promise<Role[]> {
  return (await listRoles(context)).roles;
}

/** Returns the current version of a role; undefined when it does not exist any more. */
export function readCurrentRole(context: Context, id: string, isOld: boolean): Promise<Role | undefined> {
  return readCurrent(
    id,
    () => updateRole(context, id, {}, isOld),
    () => readRoles(context),
  );
}

/** True if reads show a role as the response to a write did. */
export function isRoleShown(context: Context, written: Role): Promise<boolean> {
  return isShownAs(
    written,
    () => readRoles(context),
    async () => (await askRole(context, written.id)).role,
  );
}
