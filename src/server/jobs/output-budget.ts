import { ApiError } from '../../base/errors.ts';
import { groupBy } from '../../base/group-by.ts';
import type { ServiceSettings } from '../settings.ts';
import { assertSpace } from '../storage/space.ts';
import type { Store } from '../store/store.ts';
import type { Task } from './active-job.ts';
import { openOutputRoom, type Placed, type TakeOutputRoom } from './output-room.ts';
import { describeDiskLimit, diskLimitBytes } from './zone-limits.ts';

/**
 * The outputs of a task are copied with the holes of their files as zero bytes, so that their sizes, not their disk usage, are checked
 * before they are copied.
 */

/** Bytes of outputs after which the room left is looked up: for less, the check costs more than it saves. */
const askedFrom = 1024 * 1024;

/** The outputs of a task are larger than the disk limit of its phase. */
export class OutputsTooLarge extends Error {
  override readonly name = 'OutputsTooLarge';
}

/**
 * Called with each output of a task before it is copied.
 * @throws {OutputsTooLarge}
 * @throws {ApiError} 507 if the outputs fit neither the account's quota nor the disk
 */
export type ReserveOutput = (output: Placed) => Promise<void>;

/** Creates the check of one task's outputs. What other concurrent tasks store is not seen; the transaction that records outputs sees it. */
export function createOutputBudget(store: Store, { phase: { disk } }: Pick<Task, 'phase'>, settings: ServiceSettings): ReserveOutput {
  const rooms = new Map<string, TakeOutputRoom>();
  let waiting: Placed[] = [];
  let [total, unchecked] = [0, 0];
  return async (output) => {
    total += output.size;
    unchecked += output.size;
    waiting.push(output);
    if (disk !== undefined && total > diskLimitBytes(disk)) throw new OutputsTooLarge(describeDiskLimit(disk));
    if (unchecked < askedFrom) return;
    await assertSpace(store, unchecked, 'the output has');
    for (const [login, outputs] of groupBy(waiting, ({ place }) => place.login)) {
      const takeRoom = rooms.get(login) ?? (await openOutputRoom(store.db, settings, outputs));
      rooms.set(login, takeRoom);
      const refusal = takeRoom(outputs);
      if (refusal) throw refusal;
    }
    waiting = [];
    unchecked = 0;
  };
}

/** True if an error of `ReserveOutput` says that an output does not fit. */
export function isNoRoom(error: unknown): boolean {
  return error instanceof OutputsTooLarge || (error instanceof ApiError && error.status === 507);
}
