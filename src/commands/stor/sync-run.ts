import { randomUUID } from 'node:crypto';
import type { Context } from '../../cli/command.ts';
import type { Values } from '../../cli/parameters.ts';
import type { Output } from '../../output/kinds.ts';
import type { Work } from '../../config/journal-file.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { readTreeManifest } from '../../transfer/tree-manifest.ts';
import { createBackup } from '../../transfer/sync/backup.ts';
import type { Task } from '../../transfer/sync/compare.ts';
import { syncSides } from '../../transfer/sync/run.ts';
import type { Filter, Side } from '../../transfer/sync/tree.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import { assertSourceNotEmpty, confirmDeletion } from './guard.ts';
import { createLostHeaders } from './lost-headers.ts';
import { nameMemory } from './remember.ts';
import { checkSides, printSide, type Sides } from './sides.ts';
import { createStoring } from './link-known.ts';
import { runTransfers } from './show.ts';
import { createSkips, readLinks } from './skips.ts';
import { mapSteps, planSync, readCopyOptions, reportTo, stepShape } from './sync-steps.ts';
import type { syncOptions } from './sync-options.ts';

/** An invocation of `sync`. */
export type SyncInvocation = Context & {
  readonly args: { readonly source: string; readonly target: string };
  readonly options: Values<typeof syncOptions>;
};

/** The checked arguments of a sync. */
export interface SyncJob {
  readonly sides: Sides;
  readonly task: Task;
  readonly filter: Filter;
  /** Directory for backups of replaced and deleted files. */
  readonly backupRoot: Side | undefined;
}

/** The checks of a run that change nothing. @returns true if the target exists @throws {UsageError} for sides that cannot be synced */
async function checkSync(sides: Sides, options: SyncInvocation['options']): Promise<boolean> {
  const isThere = await checkSides(sides);
  await assertSourceNotEmpty(sides.context, sides, options);
  return isThere;
}

/** The same for a dry run, which also checks where the target would be created. */
export async function checkDryRun(sides: Sides, options: SyncInvocation['options']): Promise<boolean> {
  const isThere = await checkSync(sides, options);
  const { to, context } = sides;
  if (!isThere && to.kind === 'remote') await makeFolder(context.storage, to.root, { parents: true, dryRun: true });
  return isThere;
}

/**
 * Brings one side up to date with the other.
 * @param isRepeated one of many runs: prints nothing when there was nothing to do
 * @throws {UsageError} for sides that cannot be synced, and when nothing may be deleted
 */
export async function runSync(
  invocation: SyncInvocation,
  { sides, task, filter, backupRoot }: SyncJob,
  isRepeated = false,
): Promise<Output | undefined> {
  const { args, options } = invocation;
  const { from, to, context } = sides;
  const isThere = await checkSync(sides, options);
  await confirmDeletion(invocation, sides, options, () =>
    planSync(invocation, sides, {
      isThere,
      filter,
      deletes: true,
      modes: options.modes,
      remembers: false,
      tally: createTally({ world: invocation.world, fail: async () => 1 }),
      engine: createEngine(context, options, { bulk: true }),
    }),
  );
  const skips = createSkips(invocation);
  const declare = (): Work => ({
    command: 'stor sync',
    kind: 'sync',
    args: { ...args },
    // The user has confirmed already, and a resumed run must end.
    options: { ...options, yes: true, watch: false },
    placed: [[printSide(from), printSide(to)]],
  });
  const transfers = { only: false, bulk: true, declare, command: invocation, isRepeated };
  return await runTransfers(context, options, transfers, stepShape, async function* ({ engine, tally }) {
    if (!isThere && to.kind === 'remote') await makeFolder(engine.storage, to.root, { parents: true });
    if (!isThere && to.kind === 'local') makeFolders(to.root);
    const manifest = from.kind === 'local' && !options.withoutHeaders ? await readTreeManifest(from.root) : undefined;
    const lost = await createLostHeaders(invocation, to, options);
    const backup = backupRoot && createBackup(engine, to, backupRoot, { copiesThrough: options.copy, warn: invocation.warn });
    const storing = createStoring(context, options);
    const steps = syncSides(engine, {
      task,
      filter,
      deletes: options.delete,
      dryRun: false,
      isEmpty: false,
      // A sync that can remove or replace on a large scale always uses conditions.
      copy: { ...readCopyOptions(options, !options.delete && !backup), manifest, keeper: lost, backup, store: storing.store },
      memory: nameMemory(context, from, to),
      remembers: true,
      id: randomUUID(),
      report: reportTo(tally, () => (isRepeated ? undefined : context.world.putOff?.('incremental-marking'))),
      links: readLinks(options.links),
      onSkip: skips.add,
    });
    try {
      yield* mapSteps(steps);
    } finally {
      storing.finish();
      await lost.finish();
    }
    if (!isRepeated) skips.finish();
  });
}
