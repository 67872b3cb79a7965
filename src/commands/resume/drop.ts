import type { Context } from '../../cli/command.ts';
import { isAlive } from '../../base/world.ts';
import { UsageError } from '../../base/errors.ts';
import type { Entry, Unfinished } from '../../config/journal.ts';
import { dropUploads } from '../../transfer/upload/leftovers.ts';
import { openThere } from './go-on.ts';

/** Whether a path is one of these, or below one. */
function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`));
}

/** Removes what an entry left at the service: the parts of uploads that were not committed. */
async function cleanService(context: Context, unfinished: Unfinished, entry: Entry): Promise<void> {
  const there = await openThere(context, unfinished, entry);
  const targets = entry.placed.map(([, target]) => target);
  const mine = (pid: number): boolean => unfinished.pids.includes(pid) || !isAlive(context.world, pid);
  await dropUploads(there.storage, there.state, {
    service: there.settings().storUrl?.value ?? '',
    isMeant: ({ target, pid }) => isBelow(target, targets) && mine(pid),
  });
}

/** Forgets an entry, and removes what it left here and at the service. What is done stays done. */
export async function drop(context: Context, unfinished: Unfinished, entry: Entry): Promise<void> {
  try {
    await cleanService(context, unfinished, entry);
  } catch (error) {
    // Without its profile nobody can clean up there.
    if (!(error instanceof UsageError)) throw error;
    context.warn(`${error.message}: what was left at the service stays there`);
  }
  entry.close(true);
}
