import { command, group, type Command, type Context } from '../../cli/command.ts';
import { many, one, some, type Argument } from '../../cli/parameters.ts';
import { record, type Output } from '../../output/kinds.ts';
import { inspect } from '../../transfer/inspect.ts';
import { decodeValue } from '../../transfer/tree/headers.ts';
import { pickStoredHeaders } from '../../transfer/tree/link.ts';
import { changeMetadata } from '../../transfer/tree/metadata.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { missing } from './paths.ts';

function readTags(header: string | undefined): string[] {
  return (header ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

function show(path: RemotePath, roles: readonly string[]): Output {
  return record({ path: printRemotePath(path), roles }, { id: 'roles', columns: ['path', 'roles'] });
}

async function changeTags(context: Context, word: string, change: (current: readonly string[]) => string[]): Promise<Output> {
  const path = readRemotePath(word, context.account);
  let roles: string[] = [];
  const changed = await changeMetadata(
    context.storage,
    path,
    (current) => {
      roles = [...new Set(change(readTags(current['role-tag'])))];
      const stored = Object.entries(pickStoredHeaders(current)).map(([name, value]) => [name, decodeValue(value)]);
      return { headers: Object.fromEntries(stored), roleTag: roles.join(',') };
    },
    context.world.interrupted,
  );
  if (!changed) throw missing(path);
  context.note(`${printRemotePath(path)} is tagged with ${roles.length === 0 ? 'no role' : roles.join(', ')}`);
  return show(path, roles);
}

const path = one('Directory or object', { values: 'path' });

interface Verb {
  readonly summary: string;
  readonly role: Argument<string[]>;
  readonly change: (current: readonly string[], given: readonly string[]) => string[];
  readonly examples: readonly { line: string; help: string }[];
}

function createVerb({ summary, role, change, examples }: Verb): Command<{ path: typeof path; role: Argument<string[]> }> {
  return command({
    summary,
    arguments: { path, role },
    run: async (invocation) => await changeTags(invocation, invocation.args.path, (current) => change(current, invocation.args.role)),
    examples,
  });
}

export const roles = group({
  summary: 'Roles that a directory or object is tagged with: they decide which sub-users may use it',
  commands: {
    get: command({
      summary: 'Show the roles of a directory or object',
      aliases: ['show'],
      arguments: { path },
      run: async ({ args, storage, account }) => {
        const place = readRemotePath(args.path, account);
        const found = await inspect(storage, place);
        if (!found) throw missing(place);
        return show(place, readTags(found.headers['role-tag']));
      },
      examples: [
        { line: 'cloud stor roles get logs', help: 'Of a directory' },
        { line: 'cloud stor roles get logs/a.gz -j', help: 'Of an object, as JSON' },
      ],
    }),
    set: createVerb({
      summary: 'Tag a directory or object with exactly these roles',
      role: some('Role; none: with no role', { values: 'role' }),
      change: (_current, given) => [...given],
      examples: [
        { line: 'cloud stor roles set logs operators', help: 'This one alone' },
        { line: 'cloud stor roles set logs', help: 'None' },
      ],
    }),
    add: createVerb({
      summary: 'Tag a directory or object with further roles',
      role: many('Role', { values: 'role' }),
      change: (current, given) => [...current, ...given],
      examples: [
        { line: 'cloud stor roles add logs auditors', help: 'One more' },
        { line: 'cloud stor roles add logs auditors operators', help: 'Two more' },
      ],
    }),
    remove: createVerb({
      summary: 'Remove roles from a directory or object',
      role: many('Role', { values: 'role' }),
      change: (current, given) => current.filter((name) => !given.includes(name)),
      examples: [
        { line: 'cloud stor roles remove logs auditors', help: 'One' },
        { line: 'cloud stor roles remove logs auditors operators', help: 'Two' },
      ],
    }),
  },
});
