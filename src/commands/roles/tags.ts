import { command, group, type Context } from '../../cli/command.ts';
import { many, one, some } from '../../cli/parameters.ts';
import { NotFoundError, UsageError } from '../../base/errors.ts';
import { record, type Output } from '../../output/kinds.ts';
import { findTags, requestPath, resolveResource, type Resource } from '../../lookup/resource.ts';

const resourceHelp =
  'Path of a collection or of one member: keys, keys/laptop, images/NAME@VERSION, /my/users; account for the account itself';

/** A resource with its tags. @throws {NotFoundError} when it does not exist */
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

/** `cloud roles tags`. */
export const tags = group({
  summary: 'Role tags of resources: what the members of a role may act on',
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
        { line: 'cloud roles tags get keys', help: 'Of the list of keys' },
        { line: 'cloud roles tags get images/debian-12 -j', help: 'Of one image, as JSON' },
      ],
    }),
    set: command({
      summary: 'Replace the role tags of a resource',
      description: 'Without any role, all tags are removed.',
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: some('Name of a role', { values: 'role' }) },
      run: async (invocation) => {
        const resource = await resolveResource(invocation, invocation.args.resource);
        return await writeTags(invocation, resource, invocation.args.role);
      },
      examples: [
        { line: 'cloud roles tags set keys dev ops', help: 'Members of dev and ops may act on the list of keys, as their policies say' },
        { line: 'cloud roles tags set keys', help: 'No tags any more' },
      ],
    }),
    add: command({
      summary: 'Add role tags to a resource',
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: many('Name of a role', { values: 'role' }) },
      run: async (invocation) => {
        const { resource, tags } = await readTags(invocation, invocation.args.resource);
        return await writeTags(invocation, resource, [...tags, ...invocation.args.role]);
      },
      examples: [
        { line: 'cloud roles tags add images dev', help: 'The list of images' },
        { line: 'cloud roles tags add images/debian-12@20250401 dev', help: 'One image' },
      ],
    }),
    remove: command({
      summary: 'Remove role tags from a resource',
      aliases: ['rm'],
      arguments: { resource: one(resourceHelp, { values: 'resource' }), role: many('Name of a role', { values: 'role' }) },
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
        { line: 'cloud roles tags remove keys ops', help: 'The others stay' },
        { line: 'cloud roles tags remove images/debian-12@20250401 dev', help: 'From one image' },
      ],
    }),
  },
});
