import { existsSync, readdirSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { assertOwnDataDirectory } from '../../base/data-directory.ts';
import { UsageError } from '../../base/errors.ts';
import type { LiveState } from '../foundation.ts';
import type { ControlHandlers } from './listen.ts';

/** @throws {UsageError} unless the folder is an empty directory of this user */
function assertTarget(folder: string): void {
  assertOwnDataDirectory(folder);
  if (isAbsolute(folder) && existsSync(folder) && readdirSync(folder).length === 0) return;
  throw new UsageError(`${folder} is not an empty directory`);
}

/** Operations on the whole state of the services, one after the other. @param now milliseconds since the epoch, by the machine's clock */
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
