import { command, type Context } from '../../../cli/command.ts';
import { duration, flag, many, number, one, type Values } from '../../../cli/parameters.ts';
import { confirm } from '../../../cli/prompt.ts';
import { NotFoundError, UsageError } from '../../../base/errors.ts';
import { records, type Output, type Row } from '../../../output/kinds.ts';
import type { Engine } from '../../../transfer/engine.ts';
import { printRemotePath } from '../../../transfer/path.ts';
import { collectLinks, forgetSnapshot, removeHome } from '../../../transfer/snapshot/collect.ts';
import { listSnapshots, type Snapshot } from '../../../transfer/snapshot/list.ts';
import type { SnapshotHome } from '../../../transfer/snapshot/place.ts';
import { createEngine } from '../engine.ts';
import { createTally } from '../tally.ts';
import { transferOptions } from '../transfer-options.ts';
import { dryRunOption } from '../rehearse.ts';
import { readHome, readNamed } from './names.ts';
import { showRows, wantsRows } from '../../../cli/rows.ts';

/** A snapshot to be deleted. */
interface Doomed {
  readonly home: SnapshotHome;
  readonly snapshot: Snapshot;
}

function printDoomed({ snapshot: { directory, name, state } }: Doomed): string {
  return `${directory}@${name}${state === 'unfinished' ? ' (unfinished)' : ''}`;
}

const rowShape = { columns: ['directory', 'name', 'state'], id: 'name', fields: ['created', 'objects', 'bytes', 'tree', 'etag'] };

/** Deletes snapshots, then the links that no other snapshot needs. */
async function* removeAll(
  context: Context,
  engine: Engine,
  homes: readonly SnapshotHome[],
  doomed: readonly Doomed[],
): AsyncGenerator<Row> {
  const tally = createTally(context, doomed.length === 1);
  for (const each of doomed) {
    const done = await tally.attempt(printDoomed(each), async () => {
      await forgetSnapshot(engine, each.home, each.snapshot);
      return each.snapshot;
    });
    if (!done) continue;
    context.note(`Deleted ${printDoomed(each)}`);
    yield done;
  }
  for (const home of homes) {
    const links = await collectLinks(engine, home);
    if (links > 0) context.note(`Removed ${links} links that no snapshot of ${printRemotePath(home.directory)} needs`);
    if ((await listSnapshots(engine, home)).length === 0) await removeHome(engine, home);
  }
  tally.finish();
}

async function finish(
  context: Context,
  engine: Engine,
  homes: readonly SnapshotHome[],
  doomed: readonly Doomed[],
  { yes, dryRun }: Values<typeof commonOptions>,
): Promise<Output | undefined> {
  if (dryRun) {
    if (wantsRows(context))
      return records(
        doomed.map(({ snapshot }) => snapshot),
        rowShape,
      );
    for (const each of doomed) context.note(`Would delete ${printDoomed(each)}`);
    return undefined;
  }
  if (!yes && doomed.length > 0) {
    const shown = doomed.slice(0, 5).map(printDoomed).join(', ');
    await confirm(context.world, `Delete ${shown}${doomed.length > 5 ? ` and ${doomed.length - 5} more` : ''}?`);
  }
  return await showRows(context, removeAll(context, engine, homes, doomed), rowShape);
}

const commonOptions = { yes: flag('Do not ask', { short: 'y' }), dryRun: dryRunOption, parallel: transferOptions.parallel };

export const remove = command({
  summary: 'Delete snapshots',
  aliases: ['rm'],
  description:
    'Other snapshots stay complete: a link is deleted only when no snapshot needs it. Unfinished snapshots can be deleted by name too.',
  arguments: { snapshot: many('Snapshot: DIR@NAME', { values: 'path' }) },
  usage: 'DIR@NAME...',
  options: commonOptions,
  run: async (invocation) => {
    const { args, options } = invocation;
    const engine = createEngine(invocation, options, { bulk: true });
    const homes = new Map<string, SnapshotHome>();
    const doomed: Doomed[] = [];
    for (const word of args.snapshot) {
      const { home, name } = readNamed(invocation, word);
      const found = (await listSnapshots(engine, home)).filter((each) => each.name === name);
      if (found.length === 0)
        throw new NotFoundError(`there is no snapshot ${printRemotePath(home.directory)}@${name}: nothing was deleted`);
      homes.set(printRemotePath(home.root), home);
      doomed.push(...found.map((snapshot) => ({ home, snapshot })));
    }
    return await finish(invocation, engine, [...homes.values()], doomed, options);
  },
  examples: [
    { line: 'cloud stor snapshot delete photos@monday', help: 'Asks first' },
    { line: 'cloud stor snapshot delete photos@tuesday -y', help: 'Without confirmation' },
  ],
});

/** Age from which unfinished snapshots count as left by interrupted runs, milliseconds. */
const unfinishedAge = 24 * 3_600_000;

export const prune = command({
  summary: 'Delete old and unfinished snapshots',
  description:
    'Deletes snapshots beyond the latest --keep, or older than --older; with both, only those that are both. Also deletes unfinished snapshots older than a day, and links that no snapshot needs; without --keep and --older, only these.',
  arguments: { directory: one('Directory', { values: 'path' }) },
  options: {
    keep: number('Number of latest snapshots to keep'),
    older: duration('Only delete snapshots older than this'),
    ...commonOptions,
  },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const engine = createEngine(invocation, options, { bulk: true });
    const home = readHome(invocation, args.directory);
    if (options.keep === 0 && options.older === undefined)
      throw new UsageError('--keep 0 would delete all snapshots', {
        hint: 'to delete snapshots by name: cloud stor snapshot delete DIR@NAME...',
      });
    const all = await listSnapshots(engine, home);
    const whole = all.filter(({ state }) => state === 'whole');
    const isOlder = ({ created }: Snapshot, age: number): boolean => world.now() - Date.parse(created) > age;
    const isWanted = options.keep !== undefined || options.older !== undefined;
    const old = isWanted ? whole.slice(0, Math.max(0, whole.length - (options.keep ?? 0))) : [];
    const doomed = [
      ...old.filter((each) => options.older === undefined || isOlder(each, options.older)),
      ...all.filter((each) => each.state === 'unfinished' && isOlder(each, unfinishedAge)),
    ].map((snapshot) => ({ home, snapshot }));
    return await finish(invocation, engine, [home], doomed, options);
  },
  examples: [
    { line: 'cloud stor snapshot prune photos --keep 7 -y', help: 'In a daily job: keep a week' },
    { line: 'cloud stor snapshot prune photos --older 90d --dry-run', help: 'Preview' },
  ],
});
