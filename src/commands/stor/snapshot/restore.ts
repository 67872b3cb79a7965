import { command, type Context } from '../../../cli/command.ts';
import { flag, one, text } from '../../../cli/parameters.ts';
import { UsageError } from '../../../base/errors.ts';
import { andThen } from '../../../base/iterate.ts';
import { records } from '../../../output/kinds.ts';
import type { Engine } from '../../../transfer/engine.ts';
import { createObjectError, inspect } from '../../../transfer/inspect.ts';
import { assertStorable, joinPath, printRemotePath, readTargetPath, type RemotePath } from '../../../transfer/path.ts';
import { compareSnapshots, restoreFolderHeaders, snapshotSide } from '../../../transfer/snapshot/restore.ts';
import { isInSnapshots } from '../../../transfer/snapshot/place.ts';
import type { Step } from '../../../transfer/sync/steps.ts';
import type { Filter, Side } from '../../../transfer/sync/tree.ts';
import { makeFolder } from '../../../transfer/tree/folders.ts';
import { createTagKeeper, type Tagging } from '../../../transfer/tree/keep-tags.ts';
import { createEngine } from '../engine.ts';
import { createTally, type Tally } from '../tally.ts';
import { transferOptions } from '../transfer-options.ts';
import { filterOptions, readFilter } from '../filters.ts';
import { confirmDeletion, guardOptions } from '../guard.ts';
import { runTransfers } from '../show.ts';
import { mapSteps, reportTo, stepShape } from '../sync-steps.ts';
import { findNamed } from './names.ts';

interface Restoring {
  readonly word: string;
  readonly target: RemotePath | undefined;
  readonly filter: Filter;
  readonly deletes: boolean;
  readonly copy: boolean;
  readonly dryRun: boolean;
}

/** @returns true if the target exists @throws {UsageError} for an invalid target */
async function findTarget(engine: Engine, target: RemotePath): Promise<boolean> {
  assertStorable(target);
  if (isInSnapshots(target)) throw new UsageError(`${printRemotePath(target)} is the directory of snapshots: restore to another directory`);
  const found = await inspect(engine.storage, target);
  if (found?.type === 'object') throw createObjectError(target);
  return found !== undefined;
}

/** The steps that restore a directory from a snapshot. */
async function* restoreSteps(
  context: Context,
  engine: Engine,
  tally: Tally,
  { word, filter, deletes, copy, dryRun, ...given }: Restoring,
): AsyncGenerator<Step> {
  const { home, snapshot } = await findNamed(context, engine, word);
  const target = given.target ?? home.directory;
  const tags = createTagKeeper(engine.storage, context.warn);
  const isThere = await findTarget(engine, target);
  if (!isThere && dryRun) yield { action: 'mkdir', rel: '', to: { kind: 'remote', path: target }, reason: 'new' };
  const root = joinPath(home.trees, snapshot.tree);
  const tag = (path: RemotePath): Promise<Tagging | undefined> =>
    path.path === target.path ? tags.choose(root, path) : Promise.resolve(undefined);
  if (!isThere && !dryRun) await makeFolder(engine.storage, target, { parents: true, tag });
  const report = reportTo(tally);
  const common = { filter, dryRun, report };
  const from = snapshotSide(engine, home, snapshot);
  const to: Side = { kind: 'remote', root: target };
  const made = new Set<string>();
  const steps = compareSnapshots(engine, { ...common, from, to, deletes, isEmpty: !isThere && dryRun, copiesThrough: copy, tags });
  for await (const step of steps) {
    if (step.action === 'mkdir') made.add(step.rel);
    yield step;
  }
  yield* restoreFolderHeaders(engine, home, snapshot, { ...common, target, made, warn: context.warn });
}

export const restore = command({
  summary: 'Restore a directory from a snapshot',
  description:
    'What is missing or differs, in content or stored headers, becomes a link of what the snapshot has: no bytes move. Each step is done only where the target is as it was when it was compared; what another client writes meanwhile is left alone and reported. What came since the snapshot stays, unless --delete is given. What is missing gets the role tags that it had; what is there keeps its own.',
  arguments: { snapshot: one('Snapshot: DIR@NAME', { values: 'path' }) },
  usage: 'DIR@NAME',
  options: {
    to: text('Restore to another directory', { placeholder: 'DIR', values: 'path' }),
    delete: flag('Delete what is not in the snapshot; asks first'),
    yes: guardOptions.yes,
    maxDelete: guardOptions.maxDelete,
    dryRun: flag('Only show what would be done', { short: 'n' }),
    copy: flag('If the service refuses links, copy the bytes through this machine'),
    ...filterOptions,
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options, account } = invocation;
    const target = options.to === undefined ? undefined : readTargetPath(options.to, account);
    const filter = await readFilter(invocation, options);
    const restoring = { word: args.snapshot, target, filter, deletes: options.delete, copy: options.copy };
    const rehearse = (tally: Tally): AsyncGenerator<Step> =>
      restoreSteps(invocation, createEngine(invocation, options, { bulk: true }), tally, { ...restoring, dryRun: true });
    if (options.dryRun) {
      const tally = createTally(invocation);
      return records(mapSteps(andThen(rehearse(tally), tally.finish)), stepShape);
    }
    const engine = createEngine(invocation, options, { bulk: true });
    const { home } = await findNamed(invocation, engine, args.snapshot);
    const to: Side = { kind: 'remote', root: target ?? home.directory };
    await confirmDeletion(invocation, { from: to, to, context: invocation }, { ...options, allowEmptySource: true }, () =>
      rehearse(createTally({ world: invocation.world, fail: async () => 1 })),
    );
    return await runTransfers(invocation, options, { only: false, bulk: true }, stepShape, (transfers) =>
      mapSteps(restoreSteps(invocation, transfers.engine, transfers.tally, { ...restoring, dryRun: false })),
    );
  },
  examples: [
    { line: 'cloud stor snapshot restore photos@monday --dry-run', help: 'Preview' },
    { line: 'cloud stor snapshot restore photos@monday --delete', help: 'Restore exactly; asks before it deletes' },
    { line: 'cloud stor snapshot restore photos@monday --to old-photos', help: 'Restore to another directory' },
  ],
});
