import { command, group } from '../../cli/command.ts';
import { record } from '../../output/kinds.ts';
import { create, disable, enable, list, remove } from './accounts.ts';
import { apply, diff } from './catalogue/index.ts';
import { audit } from './audit.ts';
import { collect } from './collect.ts';
import { databaseOptions, readDatabase } from './engines.ts';
import { gateway } from './gateway.ts';
import { importData } from './import.ts';
import { limit } from './limit.ts';
import { status } from './status.ts';
import { worker } from './worker.ts';

const migrate = command({
  summary: 'Create or update the tables of a database',
  description:
    'Creates what is missing in one transaction: an interruption leaves the database unchanged, and several may run concurrently. Existing data stays.',
  options: databaseOptions,
  run: async (invocation) => {
    const database = await readDatabase(invocation, invocation.options);
    const { migrateCluster } = await import('../../server/cluster-accounts.ts');
    const { from, to } = await migrateCluster(database, invocation.world.now());
    invocation.note(from === to ? `The database already has version ${to}` : `The database now has version ${to}`);
    return record({ from, to }, { id: 'to', columns: ['from', 'to'] });
  },
  examples: [
    {
      line: 'cloud server migrate --database postgresql://cloud@db.example.com/cloud',
      help: 'Before the first gateway, and before an update',
    },
    { line: 'cloud server migrate --database-file /etc/cloud/database -o name', help: 'With a password in a file; prints the version' },
  ],
});

export const server = group({
  summary: 'Run the services on PostgreSQL, for a team',
  description:
    'The same services as cloud local, with no difference for clients, with data in a PostgreSQL database and a folder or bucket.',
  commands: {
    gateway,
    worker,
    migrate,
    collect,
    status,
    audit,
    apply,
    diff,
    import: importData,
    accounts: group({
      summary: 'Manage accounts of the services',
      aliases: ['account'],
      commands: { list, create, limit, disable, enable, delete: remove },
    }),
  },
});
