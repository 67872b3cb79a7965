import { isMissing } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { drainPool } from '../../base/parallel.ts';
import { printRemotePath, type RemotePath } from '../path.ts';
import { isConditionFailed } from '../precondition.ts';
import { tryAgain } from '../retry.ts';
import { createChangedError } from '../sync/steps.ts';
import { createChooser, type Filter } from '../sync/tree.ts';
import { walkRemote, type Visit } from './walk.ts';

/** A directory that is removed once all its entries are. */
interface Doomed {
  readonly path: RemotePath;
  readonly parent: Doomed | undefined;
  /** Entries that still exist, plus one for the walk itself. */
  rest: number;
  /** True if an entry could not be removed, or was left out. */
  isBlocked: boolean;
}

/** Receives removed paths and failures. */
export interface RemovalReport {
  readonly removed: (path: RemotePath) => void;
  readonly failed: (error: unknown, path: RemotePath) => Promise<void>;
  /** Called for each entry that stays because it is younger than `until`. */
  readonly kept?: (path: RemotePath) => void;
}

/** Resolution of HTTP dates, milliseconds. */
const dateStep = 1000;

/** True if an entry was created or changed after a time that a service stated as an HTTP date. */
function isYounger({ entry }: Visit, until: number | undefined): boolean {
  return until !== undefined && Date.parse(entry.mtime) >= until + dateStep;
}

/**
 * Removes an object or an empty directory; with `etag`, unless it is empty, only that version. A missing entry counts as removed.
 * @throws {LocalError} for another version
 */
export async function removeEntry(
  { storage, ...engine }: Pick<Engine, 'storage' | 'retries' | 'signal'>,
  path: RemotePath,
  etag?: string,
): Promise<void> {
  try {
    await tryAgain(() => storage.deleteObject({ ...path, ifMatch: etag === '' ? undefined : etag }), engine);
  } catch (error) {
    if (isConditionFailed(error)) throw createChangedError(printRemotePath(path), error);
    if (!isMissing(error)) throw error;
  }
}

/**
 * Removes a directory and the entries below it that the filter selects, concurrently; each directory after its entries. A directory stays
 * if something in it was left out or, where files are selected one by one, if nothing in it was removed.
 * @param until entries created after this time stay, in milliseconds since the epoch; absent: everything is removed
 */
export async function removeTree(engine: Engine, root: RemotePath, filter: Filter, report: RemovalReport, until?: number): Promise<void> {
  const takesPart = createChooser(filter);
  async function removeOne(path: RemotePath): Promise<boolean> {
    try {
      await removeEntry(engine, path);
      report.removed(path);
      return true;
    } catch (error) {
      await report.failed(error, path);
      return false;
    }
  }

  async function settle(directory: Doomed | undefined, isGone: boolean): Promise<void> {
    if (!directory) return;
    directory.rest -= 1;
    if (!isGone) directory.isBlocked = true;
    if (directory.rest > 0) return;
    const removed = !directory.isBlocked && (await removeOne(directory.path));
    await settle(directory.parent, removed);
  }

  const levels: Doomed[] = [{ path: root, parent: undefined, rest: 1, isBlocked: false }];
  async function* steps(): AsyncGenerator<() => Promise<void>> {
    const onError = async (error: unknown, path: RemotePath): Promise<void> => {
      await report.failed(error, path);
      const level = levels.at(-1);
      if (level) level.isBlocked = true;
    };
    for await (const visit of walkRemote(engine.storage, root, { onError, prune: filter.prunes })) yield* planVisit(visit);
    const top = levels[0];
    if (top && !takesPart({ kind: 'leave', rel: '' })) top.isBlocked = true;
    yield () => settle(top, true);
  }

  function* planVisit(visit: Visit): Generator<() => Promise<void>> {
    const { kind, path, rel } = visit;
    const parent = levels.at(-1);
    const isYoung = kind !== 'enter' && isYounger(visit, until);
    if (isYoung) report.kept?.(path);
    const isTaken = takesPart({ kind, rel }) && !isYoung;
    if (kind === 'leave') {
      if (filter.prunes(rel)) return;
      const left = levels.pop();
      if (left && !isTaken) left.isBlocked = true;
      yield () => settle(left, true);
      return;
    }
    if (!isTaken) {
      if (parent) parent.isBlocked = true;
      return;
    }
    if (parent) parent.rest += 1;
    if (kind === 'enter') levels.push({ path, parent, rest: 1, isBlocked: false });
    else yield async () => settle(parent, await removeOne(path));
  }

  await drainPool(steps(), (step) => step(), { limit: engine.parallel, signal: engine.signal });
}
