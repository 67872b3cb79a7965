import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import type { LiveState } from '../foundation.ts';
import type { ControlHandlers } from './listen.ts';

/** @throws {UsageError} for what is no empty directory of this user */
function assertTarget(folder: string): void {
  assertOwnDataDirectory(folder);
  if (isAbsolute(folder) && existsSync(folder) && readdirSync(folder).length === 0) return;
  throw new UsageError(`${folder} is not an empty directory`);
}

/** Operations on all that the services hold, one after the other. @param now milliseconds since the epoch, of the machine */
export function createStateHandlers(live: LiveState, now: () => number): Pick<ControlHandlers, 'snapshot' | 'copyState' | 'restore'> {
  return {
    snapshot: ({ name = '' }) => live.snapshot(name, now()),
    restore: ({ name = '' }) => live.restore(name).then(() => ({})),
    copyState: ({ to = '' }) =>
      live.inTurn(async () => {
        assertTarget(to);
        await live.current().store.copyTo(to);
        return {};
      }),
  };
}
