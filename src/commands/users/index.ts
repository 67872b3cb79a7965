import { compute as operations } from '../../api/compute.ts';
import { contactFields, user as userShape, type User } from '../../api/resources.ts';
import { command, group, type Context } from '../../cli/command.ts';
import { readRecord } from '../../cli/from.ts';
import { filePath, flag, maybe, one, text } from '../../cli/parameters.ts';
import { canAsk } from '../../cli/prompt.ts';
import { changeCommand, deleteCommand, isForbidden, listCommand, listFieldNames } from '../../cli/shapes.ts';
import { waitForReads, waitOptions } from '../../cli/wait.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { record } from '../../output/kinds.ts';
import { contactOptions, fromHelp } from '../account.ts';
import { findUser, identifyUser, isIdLike, readUuid, requireUser } from '../../lookup/find.ts';
import { isShownAs } from '../../rbac/settle.ts';
import { userKeys } from './keys.ts';
import { passwordOptions, readPassword } from './password.ts';

const userHelp = 'Login, id, or first characters of an id';
/** Fields that `users get` shows and that no request accepts. */
const readOnly = ['id', 'created', 'updated', 'roles', 'default_roles'];

type ContactValues = Partial<Record<keyof typeof contactFields, string>>;

/** Reads contact fields and login from a file and from options; for a new user also a password from the file. */
async function readFields(
  { world }: Pick<Context, 'world'>,
  file: string | undefined,
  given: Readonly<Record<string, unknown>>,
  isNew = false,
): Promise<ContactValues & { login?: string; password?: string }> {
  const { login, password } = operations.createUser.fields;
  const fields = { ...contactFields, ...(login && { login }), ...(isNew && password && { password }) };
  const held = file === undefined ? {} : await readRecord(world, file, fields, { ignore: readOnly });
  const options = Object.entries(given).filter(([name, value]) => name in fields && value !== undefined);
  return { ...held, ...Object.fromEntries(options) };
}

/** True if reads show a user as the response to a write did. */
function isShown({ compute, account }: Context, written: User): Promise<boolean> {
  return isShownAs(
    written,
    () => compute.listUsers({ account }),
    () => compute.getUser({ account, user: written.id }),
  );
}

const create = changeCommand({
  summary: 'Create a sub-user',
  description:
    'The password is prompted for, or read from a file, stdin or the record of --from. A new user has no permissions until it has a role: cloud roles create.',
  aliases: ['add'],
  arguments: { login: maybe('Login, unique within the account') },
  options: { ...contactOptions, from: filePath(fromHelp), ...passwordOptions, ...waitOptions },
  id: 'login',
  columns: ['id', 'login', 'email'],
  shape: userShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    if (options.from === '-' && options.passwordStdin) throw new UsageError('--from - and --password-stdin cannot both read stdin');
    const given = { ...options, login: args.login };
    const { login, email, password: held, ...fields } = await readFields(invocation, options.from, given, true);
    if (login === undefined) throw new UsageError('missing argument LOGIN', { hint: 'cloud users create LOGIN --email ADDRESS' });
    if (email === undefined || email === '')
      throw new UsageError(`a user needs an e-mail address: ${login} has none`, {
        hint: `cloud users create ${quoteShell(login)} --email ADDRESS${canAsk(invocation.world) ? '' : ' --password-stdin'}`,
      });
    const hasOption = options.passwordStdin || options.passwordFile !== undefined;
    const password = held === undefined || hasOption ? await readPassword(invocation, options, login) : held;
    const created = await compute.createUser({ account, ...fields, login, email, password });
    await waitForReads(invocation, options, `user ${login}`, () => isShown(invocation, created));
    return created;
  },
  done: (user) => `Created user ${user.login}`,
  examples: [
    { line: 'cloud users create alice --email alice@example.com', help: 'Asks for the password' },
    { line: 'pass show alice | head -1 | cloud users create alice --email alice@example.com --password-stdin --wait', help: 'In a script' },
  ],
});

const update = changeCommand({
  summary: 'Change fields of a sub-user',
  arguments: { user: one(userHelp, { values: 'user' }) },
  options: {
    login: text('New login'),
    ...contactOptions,
    from: filePath(fromHelp),
    ...waitOptions,
  },
  id: 'login',
  shape: userShape,
  change: async (invocation) => {
    const { args, options, compute, account } = invocation;
    const fields = await readFields(invocation, options.from, { ...options });
    if (Object.keys(fields).length === 0) throw new UsageError('nothing to change', { hint: 'give a field: cloud users update --help' });
    const { id } = await identifyUser(invocation, args.user);
    const updated = await compute.updateUser({ account, user: id, ...fields });
    await waitForReads(invocation, options, `user ${updated.login}`, () => isShown(invocation, updated));
    return updated;
  },
  done: (user) => `Updated user ${user.login}`,
  examples: [
    { line: 'cloud users update alice --email alice@example.org --phone ""', help: 'Change the address, clear the phone number' },
    { line: 'cloud users update alice --login alicia', help: 'Rename' },
  ],
});

/** Finds the owner of a password. If a policy allows only the change itself, lookups fail, and the login is sent unchecked. */
async function identifyOwner(context: Context, word: string): Promise<Pick<User, 'id' | 'login'>> {
  try {
    return await identifyUser(context, word);
  } catch (error) {
    if (isForbidden(error) && !isIdLike(word)) return { id: word, login: word };
    throw error;
  }
}

export const users = group({
  summary: 'Sub-users of the account',
  commands: {
    list: listCommand({
      summary: 'List the sub-users',
      perDatacenter: true,
      aliases: ['ls'],
      columns: ['login', 'email', { key: 'firstName', long: true }, { key: 'lastName', long: true }, { key: 'created', as: 'time' }, 'id'],
      id: 'login',
      shape: userShape,
      fetch: ({ compute, account }) => compute.listUsers({ account }),
      examples: [
        { line: 'cloud users list', help: 'Logins and addresses' },
        { line: 'cloud users list -o name', help: 'One login per line, for scripts' },
      ],
    }),
    get: command({
      summary: 'Show a sub-user',
      aliases: ['show'],
      arguments: { user: one(userHelp, { values: 'user' }) },
      options: { membership: flag('Include the roles of the user, and those active by default') },
      run: async (invocation) => {
        const { args, options, compute, account } = invocation;
        const found = await findUser(invocation, args.user);
        const shown = options.membership ? await compute.getUser({ account, user: found.id, membership: true }) : found;
        return record(shown, { id: 'login', ...listFieldNames(userShape) });
      },
      examples: [
        { line: 'cloud users get alice', help: 'A user by login' },
        { line: 'cloud users get alice --membership -j --columns roles', help: 'The roles of a user, as JSON' },
      ],
    }),
    create,
    update,
    password: command({
      summary: 'Change the password of a sub-user',
      arguments: { user: one(userHelp, { values: 'user' }) },
      options: passwordOptions,
      run: async (invocation) => {
        const { args, options, compute, account } = invocation;
        const { id, login } = await identifyOwner(invocation, args.user);
        const password = await readPassword(invocation, options, login);
        await compute.changeUserPassword({ account, user: id, password, password_confirmation: password });
        invocation.note(`Changed the password of ${login}`);
        return undefined;
      },
      examples: [
        { line: 'cloud users password alice', help: 'Prompt for the password' },
        { line: 'cloud users password alice --password-file alice.txt', help: 'From a file' },
      ],
    }),
    delete: deleteCommand({
      summary: 'Delete sub-users with their keys and memberships',
      argument: 'user',
      values: 'user',
      help: userHelp,
      noun: 'user',
      read: ({ compute, account }) => compute.listUsers({ account }),
      wholeId: readUuid,
      resolve: (listed, word) => {
        const { id, login } = requireUser(listed, word);
        return { id, label: login };
      },
      remove: ({ compute, account }, user) => compute.deleteUser({ account, user }),
      isShown: async ({ compute, account }, ids) => (await compute.listUsers({ account })).some(({ id }) => ids.includes(id)),
      examples: [
        { line: 'cloud users delete alice', help: 'Asks first' },
        { line: 'cloud users delete alice bob --yes --wait', help: 'Several, without confirmation; wait until they are gone from lists' },
      ],
    }),
    keys: userKeys,
  },
});
