import { command, type AnyCommand } from '../../cli/command.ts';
import { listKeys } from '../../cli/shapes.ts';
import { readInput } from '../../cli/input.ts';
import { confirm } from '../../cli/prompt.ts';
import { filePath, flag, one, text } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { record, records } from '../../output/kinds.ts';
import { databaseOptions, readDatabase } from './engines.ts';
import { countOf } from '../../base/count.ts';

const columns = [
  'login',
  'id',
  'email',
  'state',
  'keys',
  { key: 'bytes', as: 'size' as const },
  'objects',
  { key: 'created', as: 'time' as const },
];

const limitFields = ['mostBytes', 'mostObjects', 'mostRequests'];

/** All fields of an account, so that unknown ones are refused before a change. */
const changing = { fields: [...listKeys(columns), ...limitFields], changes: true } as const;

export const list = command({
  summary: 'List the accounts',
  aliases: ['ls'],
  options: databaseOptions,
  run: async (invocation) => {
    const database = await readDatabase(invocation, invocation.options);
    const { listAccounts } = await import('../../server/cluster-accounts.ts');
    return records(await listAccounts(database), { id: 'login', columns });
  },
  examples: [
    { line: 'cloud server accounts list --database-file /etc/cloud/database', help: 'All accounts, by login' },
    { line: 'cloud server accounts list --database postgresql://cloud@db.example.com/cloud -o name', help: 'Only the logins' },
  ],
});

export const create = command({
  ...changing,
  summary: 'Create an account with its first key',
  description: 'The owner signs requests with the private key and manages everything else as in any account.',
  arguments: { login: one('Login of the account') },
  options: {
    ...databaseOptions,
    email: text('E-mail address of the account', { placeholder: 'ADDRESS' }),
    publicKey: filePath('First public key, in OpenSSH format'),
  },
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const { email, publicKey } = options;
    if (email === undefined || publicKey === undefined) {
      throw new UsageError('an account needs an e-mail address and a key', { hint: 'give --email ADDRESS and --public-key FILE' });
    }
    if (!/^[^\s@]+@[^\s@]+$/u.test(email)) throw new UsageError(`--email ${email}: must be an e-mail address`);
    const database = await readDatabase(invocation, options);
    const key = (await readInput(world, publicKey)).toString();
    const { createAccount } = await import('../../server/cluster-accounts.ts');
    const made = await createAccount(database, { login: args.login, email, publicKey: key, now: world.now() });
    note(`Created account ${made.login}`);
    return record({ ...made }, { id: 'login', columns });
  },
  examples: [
    {
      line: 'cloud server accounts create alice --email alice@example.com --public-key alice.pub --database-file /etc/cloud/database',
      help: 'An account for the owner of the key alice.pub',
    },
    {
      line: 'cloud server accounts create alice --email alice@example.com --public-key alice.pub --database postgresql://cloud@db.example.com/cloud -j',
      help: 'The record of the account as JSON',
    },
  ],
});

const loginArgument = { login: one('Login of the account') };

/** Creates a command that sets the state of an account. */
function stateCommand(state: 'enabled' | 'disabled', spec: Pick<AnyCommand, 'summary' | 'description' | 'examples'>) {
  return command({
    ...changing,
    ...spec,
    arguments: loginArgument,
    options: databaseOptions,
    run: async (invocation) => {
      const { args, options, note } = invocation;
      const database = await readDatabase(invocation, options);
      const { setAccountState } = await import('../../server/cluster/account-state.ts');
      const { account, isChanged, cancelled } = await setAccountState(database, args.login, state);
      const jobs = cancelled === 0 ? '' : `, cancelled ${countOf(cancelled, 'job')}`;
      if (!isChanged) note(`Account ${account.login} is already ${state}`);
      else note(`${state === 'enabled' ? 'Enabled' : 'Disabled'} account ${account.login}${jobs}`);
      return record({ ...account }, { id: 'login', columns });
    },
  });
}

export const disable = stateCommand('disabled', {
  summary: 'Disable an account and keep its data',
  description:
    'From the next request on, every gateway responds with 403 NotAuthorized on both services: to the account, its users and all their keys, to URLs that they signed, and to requests for resources of the account, including public objects. Requests in progress are finished; the jobs of the account are cancelled. Images that it shares with others stay available.',
  examples: [
    { line: 'cloud server accounts disable alice --database-file /etc/cloud/database', help: 'Until cloud server accounts enable' },
    { line: 'cloud server accounts disable alice --database-file /etc/cloud/database -j', help: 'The record of the account as JSON' },
  ],
});

export const enable = stateCommand('enabled', {
  summary: 'Enable a disabled account',
  description: 'All data is unchanged; cancelled jobs stay cancelled.',
  examples: [
    { line: 'cloud server accounts enable alice --database-file /etc/cloud/database', help: 'Enable the account with its existing keys' },
    { line: 'cloud server accounts enable alice --database-file /etc/cloud/database -j', help: 'The record of the account as JSON' },
  ],
});

export const remove = command({
  summary: 'Delete a disabled account with everything in it',
  aliases: ['rm'],
  description:
    'Permanently deletes its objects, uploads, jobs, images, users, keys, roles and policies, a few hundred rows at a time; the collector frees the space of the contents. To continue an interrupted deletion, run the same command again. An account whose deletion has started cannot be enabled.',
  arguments: loginArgument,
  options: { ...databaseOptions, yes: flag('Do not ask', { short: 'y' }) },
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const database = await readDatabase(invocation, options);
    const { checkRemoval, removeAccount } = await import('../../server/cluster/remove-account.ts');
    const { state } = await checkRemoval(database, args.login);
    if (state === 'deleting') note(`Continuing the deletion of account ${args.login}`);
    else if (!options.yes) await confirm(world, `Delete account ${args.login} and everything in it?`);
    const { login, entries, jobs } = await removeAccount(database, args.login, world.interrupted);
    note(`Deleted account ${login}: ${countOf(entries, 'object')} and directories, ${countOf(jobs, 'job')}`);
    return undefined;
  },
  examples: [
    { line: 'cloud server accounts delete alice --database-file /etc/cloud/database', help: 'Asks first' },
    { line: 'cloud server accounts delete alice --database-file /etc/cloud/database --yes', help: 'Do not ask' },
  ],
});
