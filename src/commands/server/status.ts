import { exitCodes, PartialError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { records } from '../../output/kinds.ts';
import { endWith } from '../rbac/show.ts';
import { databaseOptions, readDatabase } from './engines.ts';

export const status = command({
  summary: 'Show gateways, schema, garbage and jobs of a database',
  description:
    'A line for the version of the tables, each gateway, who collects, contents that wait for removal, running jobs and tasks that are not done. A gateway is lost when its lease has ended without being given back. The exit status is 1 when the tables are not of this release, a gateway is lost, or none serves. Times are those of the clock of the database.',
  options: databaseOptions,
  run: async (invocation) => {
    const database = await readDatabase(invocation, invocation.options);
    const { readStatus } = await import('../../server/cluster/status.ts');
    const rows = await readStatus(database);
    const fields = ['address', 'version', 'started', 'until', 'oldest'];
    const shown = records(rows, { id: 'item', columns: ['item', 'state', 'id', 'count', 'detail'], fields });
    const wrong = rows.filter(({ state }) => state !== 'ok');
    if (wrong.length === 0) return shown;
    const words = wrong.map(({ item, state }) => `${item} ${state}`).join(', ');
    return endWith(shown, new PartialError(`not as it should be: ${words}`, { allFailed: exitCodes.failed }));
  },
  examples: [
    { line: 'cloud server status --database-file /etc/cloud/database', help: 'Who serves, and is all well?' },
    {
      line: `cloud server status --database-file /etc/cloud/database --jq '.[] | select(.item == "gateway")'`,
      help: 'Only the gateways, as JSON',
    },
  ],
});
