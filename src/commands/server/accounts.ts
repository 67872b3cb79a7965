import { command, type AnyCommand } from '../../cli/command.ts';
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
    { line: 'cloud server accounts list --database-file /etc/cloud/database', help: 'All of them, by login' },
    { line: 'cloud server accounts list --database postgresql://cloud@db.example.com/cloud -o name', help: 'Only the logins' },
  ],
});

export const create = command({
  summary: 'Create an account with its first key',
  description: 'Its owner signs with the private half of the key, and does everything else as an account of any cloud does.',
  arguments: { login: one('Login of the account') },
  options: {
    ...databaseOptions,
    email: text('E-mail address of the account', { placeholder: 'ADDRESS' }),
    publicKey: filePath('Its first key, in OpenSSH format'),
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
      help: 'An account whose key alice has',
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
    ...spec,
    arguments: loginArgument,
    options: databaseOptions,
    run: async (invocation) => {
      const { args, options, note } = invocation;
      const database = await readDatabase(invocation, options);
      const { setAccountState } = await import('../../server/cluster/account-state.ts');
      const { account, isChanged, cancelled } = await setAccountState(database, args.login, state);
      const jobs = cancelled === 0 ? '' : `, cancelled ${countOf(cancelled, 'job')}`;
      if (!isChanged) note(`Account ${account.login} was ${state} before`);
      else note(`${state === 'enabled' ? 'Enabled' : 'Disabled'} account ${account.login}${jobs}`);
      return record({ ...account }, { id: 'login', columns });
    },
  });
}

export const disable = stateCommand('disabled', {
  summary: 'Let nobody use an account, and keep its data',
  description:
    'From the next request on, every gateway answers 403 NotAuthorized on both services: to the account, its users and all their keys, to URLs that they signed, and to everybody who asks for something of it, public objects included. Requests under way are finished, its jobs are cancelled. Images of it that others may use stay.',
  examples: [
    { line: 'cloud server accounts disable alice --database-file /etc/cloud/database', help: 'Until cloud server accounts enable' },
    { line: 'cloud server accounts disable alice --database-file /etc/cloud/database -q', help: 'Say nothing when it is done' },
  ],
});

export const enable = stateCommand('enabled', {
  summary: 'Give a disabled account back',
  description: 'All that it had is there as it was; jobs that were cancelled stay cancelled.',
  examples: [
    { line: 'cloud server accounts enable alice --database-file /etc/cloud/database', help: 'With the keys that it had' },
    { line: 'cloud server accounts enable alice --database-file /etc/cloud/database -j', help: 'The record of the account as JSON' },
  ],
});

export const remove = command({
  summary: 'Delete a disabled account with everything in it',
  aliases: ['rm'],
  description:
    'Its objects, uploads, jobs, images, users, keys, roles and policies are gone for good, a few hundred rows at a time; the room of its contents is given back by the collector. After a kill the same command goes on. An account whose deletion was begun cannot be enabled any more.',
  arguments: loginArgument,
  options: { ...databaseOptions, yes: flag('Do not ask', { short: 'y' }) },
  run: async (invocation) => {
    const { args, options, world, note } = invocation;
    const database = await readDatabase(invocation, options);
    const { checkRemoval, removeAccount } = await import('../../server/cluster/remove-account.ts');
    const { state } = await checkRemoval(database, args.login);
    if (state === 'deleting') note(`Going on with the deletion of account ${args.login}`);
    else if (!options.yes) await confirm(world, `Delete account ${args.login} with everything in it?`);
    const { login, entries, jobs } = await removeAccount(database, args.login, world.interrupted);
    note(`Deleted account ${login}: ${countOf(entries, 'object')} and directories, ${countOf(jobs, 'job')}`);
    return undefined;
  },
  examples: [
    { line: 'cloud server accounts delete alice --database-file /etc/cloud/database', help: 'Asks first' },
    { line: 'cloud server accounts delete alice --database-file /etc/cloud/database --yes', help: 'Without a question' },
  ],
});
