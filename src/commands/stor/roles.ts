import { splitList } from '../../base/split-list.ts';
import { command, group, type Command, type Context } from '../../cli/command.ts';
import { flag, many, one, some, type Argument } from '../../cli/parameters.ts';
import { runPool } from '../../base/parallel.ts';
import { record, records, type Output } from '../../output/kinds.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { changeRoleTags } from '../../transfer/tree/role-tags.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import { createTally, type Tally } from './tally.ts';
import { chooseParallel } from './transfer-options.ts';
import { missing, requireThere } from './paths.ts';
import { dryRunOption } from './rehearse.ts';

interface Tagged {
  path: string;
  roles: string[];
}

function show(path: RemotePath, roles: readonly string[]): Output {
  return record({ path: printRemotePath(path), roles }, { id: 'roles', columns: ['path', 'roles'] });
}

type Change = (current: readonly string[]) => string[];

/** Changes the roles of one entry; undefined when it does not exist. */
async function changeTags({ storage, world }: Context, path: RemotePath, change: Change): Promise<Tagged | undefined> {
  const roles = await changeRoleTags({ storage, signal: world.interrupted }, path, change);
  return roles && { path: printRemotePath(path), roles };
}

/** The roles that one entry would have. */
async function foretellTags({ storage }: Context, path: RemotePath, change: Change): Promise<Tagged | undefined> {
  const found = await inspect(storage, path);
  return found && { path: printRemotePath(path), roles: [...new Set(change(splitList(found.headers['role-tag'])))] };
}

/** A directory and everything in it. The directory comes first, because entries that are created meanwhile get its roles. */
async function* listTree(context: Context, root: RemotePath, tally: Tally): AsyncGenerator<RemotePath> {
  yield root;
  const walk = walkRemote(context.storage, root, { onError: tally.fail });
  for await (const { kind, path } of walk) if (kind !== 'leave') yield path;
}

/** Changes the roles of a tree concurrently, and yields each entry afterwards; continues after failures. */
async function* changeTree(
  context: Context,
  root: RemotePath,
  work: (path: RemotePath) => Promise<Tagged | undefined>,
): AsyncGenerator<Tagged> {
  const found = await requireThere(context.storage, root);
  const tally = createTally(context);
  const items = found.type === 'directory' ? listTree(context, root, tally) : [root];
  const limit = chooseParallel({});
  const attempt = (path: RemotePath): Promise<Tagged | undefined> => tally.attempt(printRemotePath(path), () => work(path));
  for await (const tagged of runPool(items, attempt, { limit, signal: context.world.interrupted })) if (tagged) yield tagged;
  tally.finish();
}

const path = one('Directory or object', { values: 'path' });
const treeOptions = { recursive: flag('Change directories recursively', { short: 'r' }), dryRun: dryRunOption };

interface Verb {
  readonly summary: string;
  readonly role: Argument<string[]>;
  readonly change: (current: readonly string[], given: readonly string[]) => string[];
  readonly examples: readonly { line: string; help: string }[];
}

function createVerb({
  summary,
  role,
  change,
  examples,
}: Verb): Command<{ path: typeof path; role: Argument<string[]> }, typeof treeOptions> {
  return command({
    summary,
    arguments: { path, role },
    options: treeOptions,
    run: async (invocation) => {
      const { args, options, note, account } = invocation;
      const root = readRemotePath(args.path, account);
      const changeRoles: Change = (current) => change(current, args.role);
      const work = (each: RemotePath): Promise<Tagged | undefined> =>
        options.dryRun ? foretellTags(invocation, each, changeRoles) : changeTags(invocation, each, changeRoles);
      if (options.recursive) return records(changeTree(invocation, root, work), { columns: ['path', 'roles'], id: 'path' });
      const tagged = await work(root);
      if (!tagged) throw missing(root);
      const words = tagged.roles.length === 0 ? 'no role' : tagged.roles.join(', ');
      note(`${tagged.path} ${options.dryRun ? 'would be' : 'is'} tagged with ${words}`);
      return show(root, tagged.roles);
    },
    examples,
  });
}

export const roles = group({
  summary: 'Role tags, which decide which sub-users may use a path',
  commands: {
    get: command({
      summary: 'Show the role tags of a directory or object',
      aliases: ['show'],
      arguments: { path },
      run: async ({ args, storage, account }) => {
        const place = readRemotePath(args.path, account);
        const found = await requireThere(storage, place);
        return show(place, splitList(found.headers['role-tag']));
      },
      examples: [
        { line: 'cloud stor roles get logs', help: 'Roles of a directory' },
        { line: 'cloud stor roles get logs/a.gz -j', help: 'Roles of an object, as JSON' },
      ],
    }),
    set: createVerb({
      summary: 'Tag a directory or object with exactly these roles',
      role: some('Role; omit to remove all', { values: 'role' }),
      change: (_current, given) => [...given],
      examples: [
        { line: 'cloud stor roles set logs operators', help: 'Only this role' },
        { line: 'cloud stor roles set logs', help: 'No roles' },
        { line: 'cloud stor roles set -r photos operators', help: 'Change directories recursively' },
      ],
    }),
    add: createVerb({
      summary: 'Add role tags to a directory or object',
      role: many('Role', { values: 'role' }),
      change: (current, given) => [...current, ...given],
      examples: [
        { line: 'cloud stor roles add logs auditors', help: 'Add a role' },
        { line: 'cloud stor roles add logs auditors operators', help: 'Add two roles' },
      ],
    }),
    remove: createVerb({
      summary: 'Remove role tags from a directory or object',
      role: many('Role', { values: 'role' }),
      change: (current, given) => current.filter((name) => !given.includes(name)),
      examples: [
        { line: 'cloud stor roles remove logs auditors', help: 'Remove a role' },
        { line: 'cloud stor roles remove logs auditors operators', help: 'Remove two roles' },
      ],
    }),
  },
});
