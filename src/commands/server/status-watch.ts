import { CloudError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import type { Context } from '../../cli/command.ts';
import { pause } from '../../client/retry.ts';
import { canDraw, createBottomLines } from '../../output/bottom-lines.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records, type Output } from '../../output/kinds.ts';
import { pad, truncate } from '../../output/width.ts';
import type { StatusRow } from '../../server/cluster/status.ts';
import { wantsText } from '../rbac/show.ts';

/** A row of the state of a cluster, in a complete status or as a change. */
export type WatchedRow = Omit<StatusRow, 'item' | 'state'> & {
  readonly item: StatusRow['item'] | 'database';
  /** In addition: `gone` is a gateway or worker whose lease no longer exists, `away` a database that does not respond. */
  readonly state: StatusRow['state'] | 'gone' | 'away';
};

/** Reads the status repeatedly until an interrupt; yields later errors as a row for the database. @throws errors of the first read */
export async function* lookAgain(
  { interrupted }: Pick<Context['world'], 'interrupted'>,
  look: () => Promise<readonly WatchedRow[]>,
  interval: number,
): AsyncGenerator<readonly WatchedRow[]> {
  yield await look();
  for (;;) {
    await pause(interval, interrupted);
    if (interrupted.aborted) return;
    try {
      yield await look();
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      yield [{ item: 'database', state: 'away', detail: error.message }];
    }
  }
}

/** True for an item with a lease, of which there may be several. */
const isMember = ({ item }: WatchedRow): boolean => item === 'gateway' || item === 'worker' || item === 'command';

const keyOf = (row: WatchedRow): string => (isMember(row) ? `${row.item} ${row.id ?? ''}` : row.item);

/** Formats the parts of a row as one text. */
function describeRow({ address, version, started, used, slots, detail }: WatchedRow): string {
  if (address === undefined) return detail;
  const tasks = slots === undefined || slots === 0 ? [] : [`${used ?? 0} of ${slots} slots used`];
  return [address, `release ${version ?? 'unknown'}`, `since ${started ?? ''}`, ...tasks, detail].join(', ');
}

/** Yields rows that are new, or whose state, count or holder has changed. Ages change constantly, and are ignored. */
export async function* findChanges(looks: AsyncIterable<readonly WatchedRow[]>): AsyncGenerator<WatchedRow> {
  let last = new Map<string, WatchedRow>();
  for await (const rows of looks) {
    const now = new Map(rows.map((row) => [keyOf(row), row]));
    const isAway = now.has('database');
    for (const [key, row] of last) {
      // While the database is away, the state of all other items is unknown.
      if (isAway || now.has(key)) continue;
      if (row.item === 'database') yield { item: 'database', state: 'ok', detail: 'responds again' };
      else if (isMember(row) && row.state !== 'none')
        yield { ...row, state: 'gone', detail: row.state === 'lost' ? 'its expired lease was removed' : 'shut down' };
    }
    for (const [key, row] of now) {
      const before = last.get(key);
      if (before === undefined || before.state !== row.state || before.count !== row.count || before.id !== row.id) yield row;
    }
    last = isAway ? new Map([...last, ...now]) : now;
  }
}

/** Formats rows as a table that fits the terminal: long lines are truncated, rows beyond its height are counted. */
export function layOutRows(rows: readonly WatchedRow[], columns: number, lines: number): string[] {
  const cells = [['ITEM', 'STATE', 'DETAIL'], ...rows.map((row) => [row.item, row.state, escapeControl(describeRow(row))])];
  const widths = [0, 1].map((at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const laid = cells.map(([item = '', state = '', detail = '']) =>
    truncate(`${pad(item, widths[0] ?? 0)}  ${pad(state, widths[1] ?? 0)}  ${detail}`, columns).trimEnd(),
  );
  return laid.length <= lines ? laid : [...laid.slice(0, Math.max(0, lines - 1)), `... ${laid.length - lines + 1} more`];
}

/** Redraws the table for each status in place; the last one stays. */
async function* draw({ world }: Context, looks: AsyncIterable<readonly WatchedRow[]>): AsyncGenerator<Uint8Array> {
  const { stdout } = world;
  const bottom = createBottomLines(stdout);
  for await (const rows of looks)
    bottom.draw(layOutRows(rows, Math.max(20, stdout.columns() - 1), Math.max(3, (stdout.rows?.() ?? 24) - 1)));
  yield* [];
}

/** Shows the status repeatedly: a terminal gets a table that is redrawn, other outputs a line or record for each change. */
export function showLooks(context: Context, looks: AsyncIterable<readonly WatchedRow[]>): Output {
  const { world, global } = context;
  const timeOf = (): string => new Date(world.now()).toISOString();
  if (!wantsText(context)) {
    const rows = mapEach(findChanges(looks), (row) => ({ time: timeOf(), ...row }));
    return records(rows, {
      id: 'item',
      columns: ['time', 'item', 'state', 'id', 'count', 'detail'],
      fields: ['address', 'host', 'version', 'slots', 'used', 'started', 'renewed', 'until', 'oldest'],
    });
  }
  if (canDraw(world.stdout, world.env) && !global.quiet) return bytes(draw(context, looks));
  const describe = (row: WatchedRow): string =>
    `${timeOf()}  ${pad(row.item, 9)}  ${pad(row.state, 5)}  ${escapeControl(describeRow(row))}\n`;
  return bytes(mapEach(findChanges(looks), (row) => Buffer.from(describe(row))));
}
