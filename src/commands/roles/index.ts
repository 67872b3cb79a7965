import { compute as operations } from '../../api/compute.ts';
import { extend, list } from '../../api/fields.ts';
import { role as roleShape, type RoleMember } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { readRecord } from '../../cli/from.ts';
import { filePath, maybe, one, text, texts, type Values } from '../../cli/parameters.ts';
import { changeCommand, deleteCommand, explainUnlisted, getCommand, isForbidden, listCommand } from '../../cli/shapes.ts';
import { waitForReads, waitOptions } from '../../cli/wait.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { isUuid } from '../../base/uuid.ts';
import { record } from '../../output/kinds.ts';
import { roleDocument } from '../../rbac/document.ts';
import { editYaml } from '../rbac/editor.ts';
import { findRole, isIdLike, lookUpRole, readUuid, requireRole } from '../../lookup/find.ts';
import { listRoles, printMember, type FoundRole, type Member, type Role, type RoleFields } from '../../lookup/role.ts';
import { requireUnchanged } from '../../rbac/settle.ts';
import { addMembers, findKeptDefaults, readMembers, removeMembers, resolveMembers, writeMembers } from './members.ts';
import { changePolicies, resolvePolicies } from './policies.ts';
import { tags } from './tags.ts';
import { createRole, isRoleShown, readCurrentRole, updateRole } from './write.ts';

const roleHelp = 'Name, id, or first characters of an id';
const memberHelp = 'login or id of a sub-user, or account:LOGIN for another account';
const columns = ['name', 'members', 'default_members', 'policies', 'id'] as const;
const shape = extend(roleShape, { default_members: list('Logins of the members for whom the role is active by default') });
/** Fields that `roles get` shows and that no request accepts. */
const readOnly = ['id'];

/** Fields of a role in a file. */
interface FileFields extends RoleFields {
  /** Names or ids. */
  policies?: readonly string[] | undefined;
}

/** Reads a role from a file in the form of the API. */
async function readRoleFile({ world }: Pick<Context, 'world'>, file: string): Promise<FileFields> {
  const held = await readRecord(world, file, operations.createRole.fields, { ignore: readOnly });
  const {
    name,
    members,
    default_members: defaults,
    policies,
  } = held as {
    name?: string;
    members?: RoleMember[];
    default_members?: unknown[];
    policies?: { id?: string; name?: string }[];
  };
  if (defaults) assertSameDefaults(file, members ?? [], defaults);
  return {
    ...(name !== undefined && { name }),
    ...(members && { members: members.map((member, at) => readFileMember(member, `${file}: members[${at}]`)) }),
    ...(policies && { policies: policies.map((policy, at) => readFilePolicy(policy, `${file}: policies[${at}]`)) }),
  };
}

/** @throws {UsageError} if `default_members`, which only shows what `members` has, was changed without it: the change would be lost */
function assertSameDefaults(file: string, members: readonly RoleMember[], defaults: readonly unknown[]): void {
  const shown = new Set(defaults.map((login) => String(login).toLowerCase()));
  const active = new Set(members.filter((member) => member.default === true).map(({ login = '' }) => login.toLowerCase()));
  const other = [...shown, ...active].find((login) => shown.has(login) !== active.has(login));
  if (other === undefined) return;
  throw new UsageError(`${file}: members and default_members differ: ${other || 'a member without login'}`, {
    hint: 'set default of each entry of members, and leave out default_members',
  });
}

function readFileMember({ type = 'subuser', id, login, default: isDefault = false }: RoleMember, at: string): Member {
  if (id === undefined && login === undefined) throw new UsageError(`${at}: neither login nor id is given`);
  return { type, login: login ?? '', default: isDefault, ...(id !== undefined && { id }) };
}

function readFilePolicy({ id, name }: { id?: string; name?: string }, at: string): string {
  const word = id ?? name;
  if (word === undefined) throw new UsageError(`${at}: neither name nor id is given`);
  return word;
}

const create = changeCommand({
  summary: 'Create a role',
  aliases: ['add'],
  arguments: { name: maybe('Name, unique within the account') },
  options: {
    member: texts(`Member who may request the role: ${memberHelp}`, { placeholder: 'LOGIN', values: 'user' }),
    defaultMember: texts(`Member with the role active by default: ${memberHelp}`, { placeholder: 'LOGIN', values: 'user' }),
    policy: texts('Policy of the role, by name or id', { placeholder: 'NAME', values: 'policy' }),
    from: filePath('JSON or YAML file with name, members and policies; - for stdin; options take precedence'),
    ...waitOptions,
  },
  id: 'name',
  columns,
  shape,
  change: async (invocation) => {
    const { args, options } = invocation;
    const held = options.from === undefined ? {} : await readRoleFile(invocation, options.from);
    const name = args.name ?? held.name;
    if (name === undefined) throw new UsageError('missing argument NAME', { hint: 'cloud roles create NAME' });
    const given = await resolveMembers(invocation, options.member, options.defaultMember);
    const members = given.length > 0 ? given : held.members;
    const policies = options.policy.length > 0 ? await resolvePolicies(invocation, options.policy) : held.policies;
    const created = await createRole(invocation, { name, members, policies }, await hasOldRoles(invocation));
    await waitForReads(invocation, options, `role ${name}`, () => isRoleShown(invocation, created));
    return created;
  },
  done: (role) => `Created role ${role.name}`,
  examples: [
    { line: 'cloud roles create dev --default-member alice --policy read-images', help: 'With a member and a policy' },
    { line: 'cloud roles get dev -o yaml | cloud roles create dev2 --from -', help: 'A copy' },
  ],
});

const updateOptions = {
  name: text('New name', { placeholder: 'NAME' }),
  addMember: texts(`Add a member who may request the role: ${memberHelp}`, { placeholder: 'LOGIN', values: 'user' }),
  addDefaultMember: texts(`Add a member with the role active by default: ${memberHelp}`, { placeholder: 'LOGIN', values: 'user' }),
  removeMember: texts('Member to remove', { placeholder: 'LOGIN', values: 'user' }),
  addPolicy: texts('Policy to add, by name or id', { placeholder: 'NAME', values: 'policy' }),
  removePolicy: texts('Policy to remove, by name or id', { placeholder: 'NAME', values: 'policy' }),
  from: filePath('JSON or YAML file with fields to replace; - for stdin'),
  ...waitOptions,
};

const update = changeCommand({
  summary: 'Change a role',
  arguments: { role: one(roleHelp, { values: 'role' }) },
  options: updateOptions,
  id: 'name',
  columns,
  shape,
  change: async (invocation) => {
    const { args, options } = invocation;
    const held = options.from === undefined ? {} : await readRoleFile(invocation, options.from);
    const { role: before, isOld } = await openRole(invocation, args.role);
    const fields = { ...held, ...(await changeLists(invocation, before, held, options)), ...(options.name && { name: options.name }) };
    if (Object.keys(fields).length === 0) throw new UsageError('nothing to change', { hint: 'cloud roles update --help' });
    const updated = await updateRole(invocation, before.id, fields, isOld);
    await waitForReads(invocation, options, `role ${updated.name}`, () => isRoleShown(invocation, updated));
    return updated;
  },
  done: (role) => `Updated role ${role.name}`,
  examples: [
    { line: 'cloud roles update dev --add-default-member bob --remove-member alice', help: 'Change the members' },
    { line: 'cloud roles update dev --name developers', help: 'Rename' },
  ],
});

/** Returns the current version of a role, by its id or name. */
async function openRole(context: Context, word: string): Promise<FoundRole> {
  let found: FoundRole;
  try {
    found = await lookUpRole(context, word);
  } catch (error) {
    // A user who may change roles may not be allowed to read them.
    const role = isUuid(word) && isForbidden(error) ? await readCurrentRole(context, word, false) : undefined;
    if (role === undefined) throw isIdLike(word) ? error : explainUnlisted(error, 'role', word);
    return { role, isOld: false };
  }
  const { role, isOld } = found;
  return { role: (await readCurrentRole(context, role.id, isOld)) ?? role, isOld };
}

/** True if the service has roles in the form of version 8. If listing them is forbidden, the newer form is assumed. */
async function hasOldRoles(context: Context): Promise<boolean> {
  try {
    return (await listRoles(context)).isOld;
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return false;
  }
}

/** The complete lists to send, for those that options change. */
async function changeLists(context: Context, before: Role, held: FileFields, options: Values<typeof updateOptions>): Promise<RoleFields> {
  const added = await resolveMembers(context, options.addMember, options.addDefaultMember);
  const members = held.members ?? before.members;
  const kept = removeMembers(members, options.removeMember, before.name);
  for (const member of findKeptDefaults(kept, added).map(printMember))
    context.note(`${member} stays a default member; for one who must request the role, add: --remove-member ${quoteShell(member)}`);
  return {
    ...((added.length > 0 || options.removeMember.length > 0) && {
      members: addMembers(kept, added),
    }),
    ...((options.addPolicy.length > 0 || options.removePolicy.length > 0) && {
      policies: await changePolicies(context, before, held, options),
    }),
  };
}

const { id: _id, ...editable } = roleDocument;

const edit = command({
  summary: 'Edit a role in your editor',
  description: 'Opens the role as YAML in $VISUAL or $EDITOR. If the text is refused, it is opened again with the reason above it.',
  arguments: { role: one(roleHelp, { values: 'role' }) },
  options: waitOptions,
  fields: columns,
  changes: true,
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const { role: before, isOld } = await openRole(invocation, args.role);
    const value = {
      name: before.name,
      default_members: writeMembers(before.members, true),
      members: writeMembers(before.members, false),
      policies: before.policies.map(({ name }) => name),
    };
    const edited = await editYaml(invocation, {
      name: `role-${before.name}`,
      help: 'default_members have the role active by default; members must request it. Save and exit; an unchanged text changes nothing.',
      value,
      save: async (file) => {
        const read = await readRecord(world, file, editable);
        const { name, members, default_members: defaults, policies = [] } = read as Partial<typeof value>;
        requireUnchanged(`role ${before.name}`, before, await readCurrentRole(invocation, before.id, isOld));
        // A policy that the role has is shown by its name, which may be a UUID.
        const references = policies.map((word) => (value.policies.includes(word) ? { name: word } : word));
        const fields = { name: name ?? before.name, members: readMembers(members, defaults), policies: references };
        return await updateRole(invocation, before.id, fields, isOld);
      },
    });
    if (edited === undefined) {
      invocation.note('Nothing was changed');
      return undefined;
    }
    invocation.note(`Updated role ${edited.name}`);
    await waitForReads(invocation, options, `role ${edited.name}`, () => isRoleShown(invocation, edited));
    return record(edited, { id: 'name', columns });
  },
  examples: [
    { line: 'cloud roles edit dev', help: 'In your editor' },
    { line: 'EDITOR="sed -i s/alice/bob/" cloud roles edit dev', help: 'In a script' },
  ],
});

export const roles = group({
  summary: 'Roles: which members have which policies',
  commands: {
    list: listCommand({
      summary: 'List the roles',
      perDatacenter: true,
      aliases: ['ls'],
      columns: columns.map((key) => (key === 'id' ? { key, long: true } : key)),
      id: 'name',
      shape,
      fetch: async (context) => (await listRoles(context)).roles,
      examples: [
        { line: 'cloud roles list', help: 'Names, members and policies' },
        { line: 'cloud roles list -j --columns name,members', help: 'As JSON' },
      ],
    }),
    get: getCommand({
      summary: 'Show a role',
      perDatacenter: true,
      argument: 'role',
      values: 'role',
      help: roleHelp,
      id: 'name',
      listed: columns,
      shape,
      fetch: findRole,
      examples: [
        { line: 'cloud roles get dev', help: 'A role by its name' },
        { line: 'cloud roles get dev -o yaml > dev.yaml', help: 'For cloud roles create --from' },
      ],
    }),
    create,
    update,
    edit,
    delete: deleteCommand({
      summary: 'Delete roles',
      argument: 'role',
      values: 'role',
      help: roleHelp,
      noun: 'role',
      read: listRoles,
      wholeId: readUuid,
      resolve: (listed, word) => {
        const { id, name } = requireRole(listed.roles, word);
        return { id, label: name };
      },
      remove: ({ compute, account }, role) => compute.deleteRole({ account, role }),
      isShown: async (context, ids) => (await listRoles(context)).roles.some(({ id }) => ids.includes(id)),
      examples: [
        { line: 'cloud roles delete dev', help: 'Asks first' },
        { line: 'cloud roles delete dev ops --yes', help: 'Several, without confirmation' },
      ],
    }),
    tags,
  },
});
