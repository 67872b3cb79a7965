import { confirm } from '../../cli/prompt.ts';
import { CloudError, InterruptedError, isSystemError, PartialError, UsageError } from '../../base/errors.ts';
import { pause } from '../../client/retry.ts';
import { type Output, type Row } from '../../output/kinds.ts';
import { watchTree, type TreeWatch } from '../../transfer/local/watch-tree.ts';
import { printSide } from './sides.ts';
import { runSync, type SyncInvocation, type SyncJob } from './sync-run.ts';
import { stepShape } from './sync-steps.ts';
import { showRows, wantsRows } from '../../cli/rows.ts';

/** Milliseconds between runs without notified changes: the system may lose notifications, and the object storage sends none. */
const localInterval = 60_000;
const remoteInterval = 10_000;
/** The same after a failed run, at most: recovery may not be notified. */
const failureInterval = 5000;

/** True for errors after which a later run may succeed. */
function isPassing(error: unknown): boolean {
  return (error instanceof CloudError && !(error instanceof InterruptedError)) || isSystemError(error);
}

/** Asks once for the deletions of all future runs. */
async function allowDeletion({ options, world }: SyncInvocation, { sides }: SyncJob): Promise<void> {
  if (!options.delete || options.yes) return;
  await confirm(
    world,
    `Delete what is only in ${printSide(sides.to)}, now and whenever something is removed from ${printSide(sides.from)}?`,
  );
}

/**
 * Runs again and again. The first run may end the command with its error; errors of later runs are reported, and the next run tries again.
 */
async function* runAgain(invocation: SyncInvocation, job: SyncJob, changes: TreeWatch | undefined): AsyncGenerator<Row> {
  const { options, world, note, fail } = invocation;
  const { from } = job.sides;
  const interval = options.watchInterval ?? (from.kind === 'local' ? localInterval : remoteInterval);
  for (let isFirst = true; ; isFirst = false) {
    let longest = interval;
    try {
      // Changes from here on are noticed by this run or cause the next one.
      await changes?.refresh();
      const output = await runSync(invocation, job, !isFirst);
      if (output?.kind === 'records') for await (const row of output.rows) yield row;
    } catch (error) {
      if (world.interrupted.aborted || !isPassing(error)) throw error;
      // An error in the command line is permanent.
      if (isFirst && !(error instanceof PartialError)) throw error;
      await fail(error);
      longest = Math.min(interval, failureInterval);
    }
    if (isFirst && !world.interrupted.aborted) note(`Watching ${printSide(from)}; Ctrl-C ends it`);
    await (changes ? changes.wait(longest, world.interrupted) : pause(longest, world.interrupted));
    if (world.interrupted.aborted) throw new InterruptedError('stopped watching');
  }
}

/**
 * Brings one side up to date with the other, repeatedly, until interrupted.
 * @throws {InterruptedError} at the end
 */
export async function watchSync(invocation: SyncInvocation, job: SyncJob): Promise<Output | undefined> {
  const { options, global, warn } = invocation;
  const { from } = job.sides;
  if (wantsRows(invocation) && !['jsonl', 'tsv', 'csv', 'name'].includes(global.output ?? ''))
    throw new UsageError('--watch has no end, so a table or document cannot be printed', {
      hint: 'use -o jsonl: one line for each step',
    });
  await allowDeletion(invocation, job);
  const agreed = Object.create(invocation, { options: { value: { ...options, yes: true } } }) as SyncInvocation;
  const onLimit = ({ message }: Error): void => warn(`some directories cannot be watched and are checked at intervals: ${message}`);
  async function* rows(): AsyncGenerator<Row> {
    const changes = from.kind === 'local' ? watchTree(from.root, job.filter.prunes, onLimit) : undefined;
    try {
      yield* runAgain(agreed, job, changes);
    } finally {
      changes?.close();
    }
  }
  return await showRows(invocation, rows(), stepShape);
}
