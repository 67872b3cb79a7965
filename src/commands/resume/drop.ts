import { groupBy } from '../../base/group-by.ts';
import { isAlive } from '../../base/world.ts';
import type { Context } from '../../cli/command.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Unfinished } from '../../config/journal.ts';
import { removeUnfinished } from '../../transfer/local/leftovers.ts';
import { dropUploads } from '../../transfer/upload/leftovers.ts';
import { readPlace } from '../../transfer/path.ts';
import { openProfile } from '../stor/sides.ts';
import { openThere } from './go-on.ts';

/** Kinds of work that may write files on this machine. */
const writesFiles = new Set(['download', 'sync']);

/** True if a path is one of `roots` or below one. */
function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`));
}

/** Removes files that a killed process was writing. */
export function cleanFiles({ world }: Context, { kind, pids }: Unfinished, { placed, left }: Entry): void {
  if (!writesFiles.has(kind)) return;
  const isMine = (pid: number): boolean => pids.includes(pid) && (pid === world.pid || !isAlive(world, pid));
  for (const [, target] of placed) if (target.startsWith('/')) removeUnfinished(target, { isMine, until: left });
}

/** Returns the path in the object storage of `stor:/ann/photos` or `PROFILE/stor:/ann/photos`. */
function readStored(target: string): string {
  return readPlace(target)?.path.slice('stor:'.length) ?? target;
}

/** Removes what an entry left at its services: parts of uncommitted uploads. Cancels a job that waits for inputs. */
export async function cleanService(there: Context, { pids }: Unfinished, { placed, facts }: Entry): Promise<void> {
  const targets = placed.map(([, target]) => target);
  for (const [profile, group] of groupBy(targets, (target) => readPlace(target)?.profile)) {
    const { storage, state, settings } = openProfile(there, profile);
    const paths = group.map(readStored);
    await dropUploads(storage, state, {
      service: settings().storUrl?.value ?? '',
      isMeant: ({ target, pid }) => isBelow(target, paths) && pids.includes(pid),
    });
  }
  const { job } = facts;
  if (typeof job !== 'string') return;
  try {
    await there.storage.cancelJob({ account: there.account, id: job });
  } catch (error) {
    // The job is done or does not exist any more.
    if (!(error instanceof ApiError) || error.status >= 500) throw error;
  }
}

/** Removes an entry and what it left on this machine and at the service. What is done stays done. */
export async function drop(context: Context, unfinished: Unfinished, entry: Entry): Promise<void> {
  let isOver = false;
  try {
    cleanFiles(context, unfinished, entry);
    await cleanService(await openThere(context, unfinished, entry), unfinished, entry);
    isOver = true;
  } catch (error) {
    // Without the profile of the entry, the service cannot be cleaned up.
    if (!(error instanceof UsageError)) throw error;
    isOver = true;
    context.warn(`${error.message}: unfinished data at the service was not deleted`);
  } finally {
    entry.close(isOver);
  }
}
