import { command } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { one, text } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { record, records } from '../../output/kinds.ts';
import { databaseOptions, readDatabase } from './engines.ts';

const columns = ['login', 'id', 'email', 'keys', { key: 'created', as: 'time' as const }];

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
    publicKey: text('Its first key, in OpenSSH format', { placeholder: 'FILE', values: 'file' }),
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
