import { isAlive } from '../../base/world.ts';
import type { Context } from '../../cli/command.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import type { Entry, Unfinished } from '../../config/journal.ts';
import { removeUnfinished } from '../../transfer/local/leftovers.ts';
import { dropUploads } from '../../transfer/upload/leftovers.ts';
import { openThere } from './go-on.ts';

/** Kinds of work whose targets may be files of this machine. */
const writesFiles = new Set(['download', 'sync']);

/** Whether a path is one of these, or below one. */
function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`));
}

/** `stor:/ann/photos`, or `PROFILE/stor:...`, as the path that it is of the object storage. */
function readStored(target: string): string {
  return target.replace(/^(?:[^/]+\/)?stor:/, '');
}

/** Removes files that were being written when a process was killed. */
export function cleanFiles({ world }: Context, { kind, pids }: Unfinished, { placed, left }: Entry): void {
  if (!writesFiles.has(kind)) return;
  const isMine = (pid: number): boolean => pids.includes(pid) && (pid === world.pid || !isAlive(world, pid));
  for (const [, target] of placed) if (target.startsWith('/')) removeUnfinished(target, { isMine, until: left });
}

/** Removes what an entry left at the service: the parts of uploads that were not committed. A job that waits for inputs is cancelled. */
export async function cleanService(there: Context, { pids }: Unfinished, { placed, facts }: Entry): Promise<void> {
  const targets = placed.map(([, target]) => readStored(target));
  await dropUploads(there.storage, there.state, {
    service: there.settings().storUrl?.value ?? '',
    isMeant: ({ target, pid }) => isBelow(target, targets) && pids.includes(pid),
  });
  const { job } = facts;
  if (typeof job !== 'string') return;
  try {
    await there.storage.cancelJob({ account: there.account, id: job });
  } catch (error) {
    // It has ended, or is gone.
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
  }
}

/** Forgets an entry, and removes what it left here and at the service. What is done stays done. */
export async function drop(context: Context, unfinished: Unfinished, entry: Entry): Promise<void> {
  let isOver = false;
  try {
    cleanFiles(context, unfinished, entry);
    await cleanService(await openThere(context, unfinished, entry), unfinished, entry);
    isOver = true;
  } catch (error) {
    // Without its profile nobody can clean up there.
    if (!(error instanceof UsageError)) throw error;
    isOver = true;
    context.warn(`${error.message}: what was left at the service stays there`);
  } finally {
    entry.close(isOver);
  }
}
