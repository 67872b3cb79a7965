import type { compute as operations } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type { Context } from '../../cli/command.ts';
import { isUuid, requirePolicy, requireUser } from '../../lookup/find.ts';
import { askRole, listRoles, readRole, writeRole, type Role, type RoleFields } from '../../lookup/role.ts';
import { isShownAs, readCurrent } from '../../rbac/settle.ts';

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

async function readRoles(context: Context): Promise<Role[]> {
  return (await listRoles(context)).roles;
}

/** A role as it is now; undefined when it is gone. */
export function readCurrentRole(context: Context, id: string, isOld: boolean): Promise<Role | undefined> {
  return readCurrent(
    id,
    () => updateRole(context, id, {}, isOld),
    () => readRoles(context),
  );
}

/** Whether reads show a role as a write answered it. */
export function isRoleShown(context: Context, written: Role): Promise<boolean> {
  return isShownAs(
    written,
    () => readRoles(context),
    async () => (await askRole(context, written.id)).role,
  );
}
