import { exitCodes, PartialError, UsageError } from '../../base/errors.ts';
import { command } from '../../cli/command.ts';
import { duration, flag } from '../../cli/parameters.ts';
import { records } from '../../output/kinds.ts';
import { endWith } from '../rbac/show.ts';
import { databaseOptions, readDatabase } from './engines.ts';

/** Milliseconds between two updates of --watch. */
const usualInterval = 2000;

export const status = command({
  summary: 'Show the gateways, workers, tables, garbage and jobs of a database',
  description:
    'Shows a line for the version of the tables, each gateway and worker, the collector, contents that wait for removal, running jobs and unfinished tasks. SLOTS is the number of tasks that a process can run concurrently, USED the number of running tasks. A gateway or worker is lost when its lease has expired; its state is `clock` when its clock is more than a minute from the clock of the database. The exit status is 1 when the tables are not of this release, a gateway or worker is lost or its clock is more than a minute off, no gateway is running, or tasks wait and no process runs them. Times are from the clock of the database.\n--watch redraws the table on a terminal. Otherwise it prints the initial state, then a line or a record with its time for each change: gateways and workers that start, are lost or shut down, a new collector, and changed numbers. While the database does not respond, it reports that and keeps trying.',
  options: {
    ...databaseOptions,
    watch: flag('Keep watching until Ctrl-C', { short: 'w' }),
    watchInterval: duration('With --watch: time between updates; 2s by default'),
  },
  run: async (invocation) => {
    const { options, world } = invocation;
    if (!options.watch && options.watchInterval !== undefined) throw new UsageError('--watch-interval needs --watch');
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
    const shown = records(rows, { id: 'item', columns, fields: ['address', 'count', 'renewed', 'until', 'oldest', 'skew'] });
    const wrong = rows.filter(({ state }) => state !== 'ok');
    if (wrong.length === 0) return shown;
    const words = wrong.map(({ item, state }) => `${item} ${state}`).join(', ');
    return endWith(shown, new PartialError(`problems: ${words}`, { allFailed: exitCodes.failed }));
  },
  examples: [
    { line: 'cloud server status --database-file /etc/cloud/database', help: 'Show all processes and problems' },
    { line: 'cloud server status --watch --database-file /etc/cloud/database', help: 'Watch an update or a failure' },
    {
      line: `cloud server status --database-file /etc/cloud/database --jq '.[] | select(.item == "gateway")'`,
      help: 'Only the gateways, as JSON',
    },
  ],
});
