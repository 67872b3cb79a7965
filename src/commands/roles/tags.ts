import { roleTags } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { flag, many, one, some } from '../../cli/parameters.ts';
import { finishChanges } from '../../cli/rows.ts';
import { checkInterrupted, NotFoundError, UsageError } from '../../base/errors.ts';
import { record, records, type Output } from '../../output/kinds.ts';
import { accountWord, findTags, requestPath, resolveResource, type Resource } from '../../lookup/resource.ts';
import { listTaggable, normalizePath, readState, toRequestPath } from '../../rbac/state.ts';
import { listFieldNames } from '../../cli/shapes.ts';
import { countFailures } from '../../cli/attempts.ts';

const resourceHelp = 'Path of a collection or resource: keys, keys/laptop, images/NAME@VERSION, /my/users; account for the account';

/** Reads a resource with its role tags. @throws {NotFoundError} when it does not exist */
async function readTags(context: Context, word: string): Promise<{ resource: Resource; tags: string[] }> {
  const resource = await resolveResource(context, word);
  const tags = await findTags(context, resource);
  if (tags === undefined && resource.kind === 'collection')
    throw new NotFoundError(`the service does not show the role tags of ${resource.path}`);
  if (tags === undefined) throw new NotFoundError(`resource "${word}" does not exist`);
  return { resource, tags };
}

async function writeTags(context: Context, resource: Resource, roles: readonly string[]): Promise<Output> {
  const { compute, account } = context;
  const written = await compute.setRoleTags({ resource: requestPath(resource, account), 'role-tag': [...new Set(roles)] });
  const tags = written['role-tag'];
  context.note(tags.length === 0 ? `${written.name} has no role tags now` : `${written.name} has the role tags ${tags.join(', ')} now`);
  return record(written, { id: 'name' });
}

/** A resource with its new role tags. */
interface Tagged {
  name: string;
  'role-tag': string[];
}

/** Request paths of a resource and all below it: a collection with its members, users with their keys, the account with everything. */
async function listTree(context: Context, { path }: Resource): Promise<string[]> {
  const state = await readState(context, true);
  const names = new Map(state.policies.map(({ id, name }) => [id, name]));
  const root = normalizePath(path, state);
  const below = listTaggable(state).filter((each) => root === accountWord || each === root || each.startsWith(`${root}/`));
  // Resources that no list contains, such as instances, keep their path.
  return below.length === 0 ? [path] : below.map((each) => toRequestPath(each, names));
}

/** Sets the role tags of a tree, one resource after the other; continues after failures. @throws {PartialError} at the end for failures */
async function* setTree(context: Context, resource: Resource, roles: readonly string[], dryRun: boolean): AsyncGenerator<Tagged> {
  const { compute, account } = context;
  const wanted = [...new Set(roles)];
  const paths = await listTree(context, resource);
  const failures = countFailures(context);
  for (const path of paths) {
    const target = requestPath({ path }, account);
    checkInterrupted(context.world.interrupted);
    try {
      yield dryRun ? { name: `/${target}`, 'role-tag': wanted } : await compute.setRoleTags({ resource: target, 'role-tag': wanted });
    } catch (error) {
      await failures.report(error, `/${target}`);
    }
  }
  failures.finish(paths.length);
}

/** The commands that change tags return these fields. */
const changed = { ...listFieldNames(roleTags), changes: true } as const;

/** `cloud roles tags`. */
export const tags = group({
  summary: 'Role tags: the resources that the members of a role may use',
  commands: {
    get: command({
      summary: 'Show the role tags of a resource',
      aliases: ['show'],
      arguments: { resource: one(resourceHelp, { values: 'resource' }) },
      run: async (invocation) => {
        const { resource, tags } = await readTags(invocation, invocation.args.resource);
        return record({ name: `/${requestPath(resource, invocation.account)}`, 'role-tag': tags }, { id: 'name' });
      },
      examples: [
        { line: 'cloud roles tags get keys', help: 'Tags of the list of keys' },
        { line: 'cloud roles tags get images/debian-12 -j', help: 'Tags of one image, as JSON' },
      ],
    }),
    set: command({
      summary: 'Replace the role tags of a resource',
      description: 'Without roles, all tags are removed.',
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: some('Name of a role', { values: 'role' }) },
      options: {
        recursive: flag('Include the members of a collection, the keys of users, or everything in the account', { short: 'r' }),
        dryRun: flag('Only show what would be done', { short: 'n' }),
      },
      ...changed,
      run: async (invocation) => {
        const { args, options } = invocation;
        const resource = await resolveResource(invocation, args.resource);
        if (options.recursive || options.dryRun) {
          const tagged = options.recursive
            ? finishChanges(invocation, setTree(invocation, resource, args.role, options.dryRun))
            : [{ name: `/${requestPath(resource, invocation.account)}`, 'role-tag': args.role }];
          return records(tagged, { columns: ['name', 'role-tag'], id: 'name' });
        }
        return await writeTags(invocation, resource, invocation.args.role);
      },
      examples: [
        { line: 'cloud roles tags set keys dev ops', help: 'Members of dev and ops may use the list of keys, if their policies allow it' },
        { line: 'cloud roles tags set keys', help: 'Remove all tags' },
        { line: 'cloud roles tags set -r users dev', help: 'Tag the list of users, every user and their keys' },
      ],
    }),
    add: command({
      summary: 'Add role tags to a resource',
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: many('Name of a role', { values: 'role' }) },
      ...changed,
      run: async (invocation) => {
        const { resource, tags } = await readTags(invocation, invocation.args.resource);
        return await writeTags(invocation, resource, [...tags, ...invocation.args.role]);
      },
      examples: [
        { line: 'cloud roles tags add images dev', help: 'Tag the list of images' },
        { line: 'cloud roles tags add images/debian-12@20250401 dev', help: 'Tag one image' },
      ],
    }),
    remove: command({
      summary: 'Remove role tags from a resource',
      aliases: ['rm'],
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: many('Name of a role', { values: 'role' }) },
      ...changed,
      run: async (invocation) => {
        const { args } = invocation;
        const { resource, tags } = await readTags(invocation, args.resource);
        const missing = args.role.find((role) => !tags.includes(role));
        if (missing !== undefined) {
          const words = tags.length === 0 ? 'it has none' : `it has ${tags.join(', ')}`;
          throw new UsageError(`${args.resource} does not have the role tag ${missing}: ${words}`);
        }
        return await writeTags(
          invocation,
          resource,
          tags.filter((tag) => !args.role.includes(tag)),
        );
      },
      examples: [
        { line: 'cloud roles tags remove keys ops', help: 'Remove one, keep the others' },
        { line: 'cloud roles tags remove images/debian-12@20250401 dev', help: 'Remove from one image' },
      ],
    }),
  },
});
