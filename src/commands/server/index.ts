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
  summary: 'Make the tables of a database, or those that an update of this program needs',
  description:
    'Everything that is missing is made in one transaction: a kill leaves the database as it was, and any number may run at once. What is there stays.',
  options: databaseOptions,
  run: async (invocation) => {
    const database = await readDatabase(invocation, invocation.options);
    const { migrateCluster } = await import('../../server/cluster-accounts.ts');
    const { from, to } = await migrateCluster(database, invocation.world.now());
    invocation.note(from === to ? `The database has version ${to} already` : `The database has version ${to} now`);
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
  summary: 'The services on PostgreSQL, for a team',
  description:
    'The same services as those of cloud local, unchanged for every client, with their data in a PostgreSQL database and a folder.',
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
      summary: 'Accounts of the services',
      aliases: ['account'],
      commands: { list, create, limit, disable, enable, delete: remove },
    }),
  },
});
