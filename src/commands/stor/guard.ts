import type { Context } from '../../cli/command.ts';
import { flag, number, type Values } from '../../cli/parameters.ts';
import { canAsk, confirm } from '../../cli/prompt.ts';
import { countOf } from '../../base/count.ts';
import { PartialError, UsageError } from '../../base/errors.ts';
import { isRemoval } from '../../transfer/sync/plan.ts';
import type { Step } from '../../transfer/sync/steps.ts';
import type { Side } from '../../transfer/sync/tree.ts';
import { walkLocal } from '../../transfer/local/walk.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import { printSide, type Sides } from './sides.ts';

/** Options of sync that guard deletions. */
export const guardOptions = {
  delete: flag('Delete what is only in the target; asks first'),
  yes: flag('With --delete: do not ask', { short: 'y' }),
  maxDelete: number('With --delete: refuse to delete more than N'),
  allowEmptySource: flag('With --delete: allow an empty source'),
};

type GuardValues = Values<typeof guardOptions>;

/** True for a directory without anything that a sync transfers: a local one may contain a manifest and unfinished downloads. */
async function isEmpty(context: Context, side: Side): Promise<boolean> {
  let hasFailed = false;
  const onError = (): void => void (hasFailed = true);
  const visits = side.kind === 'local' ? walkLocal(side.root, { onError }) : walkRemote(side.origin?.storage ?? context.storage, side.root);
  for await (const _ of visits) return false;
  return !hasFailed;
}

/** @throws {UsageError} for an empty source, such as an unmounted disk: everything in the target would be removed */
export async function assertSourceNotEmpty(context: Context, { from }: Sides, options: GuardValues): Promise<void> {
  if (!options.delete || options.allowEmptySource || !(await isEmpty(context, from))) return;
  throw new UsageError(`${printSide(from)} is empty: --delete would delete everything in the target. Nothing was done`, {
    hint: 'if this is intended: add --allow-empty-source',
  });
}

/** Counts the removals of a dry run; the run itself reports what cannot be read. */
async function countRemovals(steps: AsyncIterable<Step>): Promise<number> {
  let count = 0;
  try {
    for await (const step of steps) if (isRemoval(step)) count += 1;
  } catch (error) {
    if (!(error instanceof PartialError)) throw error;
  }
  return count;
}

/**
 * Asks for confirmation before anything is deleted, and enforces `--max-delete`.
 * @param rehearse starts a dry run; called only when removals have to be counted
 * @throws {UsageError} when nothing may be deleted
 */
export async function confirmDeletion(
  { world }: Context,
  { to }: Sides,
  options: GuardValues,
  rehearse: () => AsyncIterable<Step>,
): Promise<void> {
  const { maxDelete, yes } = options;
  if (!options.delete) return;
  if (!yes && !canAsk(world)) await confirm(world, `Delete what is only in ${printSide(to)}?`);
  if (yes && maxDelete === undefined) return;
  const count = await countRemovals(rehearse());
  if (maxDelete !== undefined && count > maxDelete)
    throw new UsageError(
      `${countOf(count, 'entry', 'entries')} of ${printSide(to)} would be deleted, more than --max-delete ${maxDelete}. Nothing was done`,
      {
        hint: 'to list them: add --dry-run',
      },
    );
  if (!yes && count > 0) await confirm(world, `Delete ${countOf(count, 'entry', 'entries')} of ${printSide(to)}?`);
}
