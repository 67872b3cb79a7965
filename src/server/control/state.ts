import { isAbsolute } from 'node:path';
import { existsSync, readdirSync } from 'node:fs';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import type { FileStore } from '../store/open.ts';
import { createSnapshot } from '../store/snapshots.ts';
import type { ControlHandlers } from './listen.ts';

/** Does works one after the other, whether they succeed or not. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
}

/** @throws {UsageError} for what is no empty directory of this user */
function assertTarget(folder: string): void {
  assertOwnDataDirectory(folder);
  if (isAbsolute(folder) && existsSync(folder) && readdirSync(folder).length === 0) return;
  throw new UsageError(`${folder} is not an empty directory`);
}

/** Operations on all that the services hold, one after the other. @param now milliseconds since the epoch, of the machine */
export function createStateHandlers(store: FileStore, dataDir: string, now: () => number): Pick<ControlHandlers, 'snapshot' | 'copyState'> {
  const inTurn = createTurns();
  return {
    snapshot: ({ name = '' }) => inTurn(() => createSnapshot(store, dataDir, name, now())),
    copyState: ({ to = '' }) =>
      inTurn(async () => {
        assertTarget(to);
        await store.copyTo(to);
        return {};
      }),
  };
}
