import { exitCodes, PartialError, UsageError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { duration, flag } from '../../cli/parameters.ts';
import { records } from '../../output/kinds.ts';
import { endWith } from '../rbac/show.ts';
import { databaseOptions, readDatabase } from './engines.ts';

/** Milliseconds between two updates of --watch. */
const usualInterval = 2000;

export const status = command({
  summary: 'Show gateways, schema, garbage and jobs of a database',
  description:
    'A line for the version of the tables, each gateway and worker, who collects, contents that wait for removal, running jobs and tasks that are not done. SLOTS are tasks that one does at once, and USED how many of them are taken. A gateway or worker is lost when its lease has ended without being given back. The exit status is 1 when the tables are not of this release, a gateway or worker is lost, no gateway serves, or nobody does tasks that wait. Times are those of the clock of the database.\n--watch draws the table anew at a terminal. Elsewhere each change is a line, or a record with its time: what is there at first, then gateways and workers that come, are lost or are gone, who collects, and numbers that change; while the database does not answer it says so, and goes on.',
  options: {
    ...databaseOptions,
    watch: flag('Look again and again, until Ctrl-C', { short: 'w' }),
    watchInterval: duration('With --watch: time between two looks; 2s when absent'),
  },
  run: async (invocation) => {
    const { options, world } = invocation;
    if (!options.watch && options.watchInterval !== undefined) throw new UsageError('--watch-interval is for --watch');
    const database = await readDatabase(invocation, options);
    const { readStatus } = await import('../../server/cluster/status.ts');
    if (options.watch) {
      const { lookAgain, showLooks } = await import('./status-watch.ts');
      return showLooks(
        invocation,
        lookAgain(world, () => readStatus(database), options.watchInterval ?? usualInterval),
      );
    }
    const rows = await readStatus(database);
    const since = { key: 'started', title: 'SINCE', as: 'time' } as const;
    const columns = ['item', 'state', 'id', 'host', since, 'used', 'slots', 'version', 'detail'];
    const shown = records(rows, { id: 'item', columns, fields: ['address', 'count', 'renewed', 'until', 'oldest'] });
    const wrong = rows.filter(({ state }) => state !== 'ok');
    if (wrong.length === 0) return shown;
    const words = wrong.map(({ item, state }) => `${item} ${state}`).join(', ');
    return endWith(shown, new PartialError(`not as it should be: ${words}`, { allFailed: exitCodes.failed }));
  },
  examples: [
    { line: 'cloud server status --database-file /etc/cloud/database', help: 'Who serves, and is all well?' },
    { line: 'cloud server status --watch --database-file /etc/cloud/database', help: 'During an update or a failure' },
    {
      line: `cloud server status --database-file /etc/cloud/database --jq '.[] | select(.item == "gateway")'`,
      help: 'Only the gateways, as JSON',
    },
  ],
});
