import { storage as operations } from '../../api/storage.ts';
import { isTransient } from '../../http/network-error.ts';
import { pause } from '../../client/retry.ts';
import { ApiError, checkInterrupted, LocalError } from '../../base/errors.ts';
import type { JobContext } from './find.ts';

/** Milliseconds to wait after a lost response before the inputs are read back: the service may still be processing the request. */
const firstWait = 500;
/** Maximum number of times that the rest of a batch is sent again. */
const mostTries = 5;

/** True if a failure leaves unknown whether the service added the inputs. */
function isOpen(error: unknown): boolean {
  return isTransient(error) || (error instanceof ApiError && error.status >= 500);
}

/** Number of inputs of a job; undefined if the service does not report it, or if the caller is not allowed to read it. */
export async function countInputs({ storage, account }: JobContext, id: string): Promise<number | undefined> {
  try {
    const { headers } = await storage.answer(operations.getJobInput, { account, id }, { head: true });
    const size = headers['result-set-size'];
    return size === undefined || !/^\d+$/.test(size) ? undefined : Number(size);
  } catch (error) {
    if (error instanceof ApiError || isTransient(error)) return undefined;
    throw error;
  }
}

/**
 * Returns how many inputs of a list a job has. They are the beginning of the list, because inputs are added in order. A service that lists
 * only the latest inputs reports their total number, which gives their position. @param last when the last request may have been sent,
 * milliseconds since the epoch
 * @throws {LocalError} when the job has other inputs too
 */
export async function countAdded(context: JobContext, id: string, list: readonly string[], last: number): Promise<number> {
  const { storage, account, world } = context;
  // The service may still be processing a request of a client that was killed.
  if (world.now() - last < firstWait) await pause(firstWait, world.interrupted);
  const { headers, records } = await storage.getJobInput({ account, id });
  const told: string[] = [];
  for await (const line of records) told.push(line);
  const total = Math.max(told.length, Number(headers['result-set-size'] ?? 0));
  const before = total - told.length;
  if (total <= list.length && told.every((line, at) => line === list[before + at])) return total;
  throw new LocalError(`job ${id} has inputs that were not given to this command`, {
    hint: `to list them: cloud jobs inputs ${id}; to run it on them: cloud jobs end ${id}`,
  });
}

/** Returns how many inputs of a batch the service added after the first `before` ones; undefined when that cannot be determined. */
async function countKept(
  { storage, account }: JobContext,
  id: string,
  batch: readonly string[],
  before: number,
): Promise<number | undefined> {
  const { headers, records } = await storage.getJobInput({ account, id });
  let number = 0;
  for await (const line of records) {
    // Another client added inputs too, or the service lists only the latest.
    if (number >= before && line !== batch[number - before]) return undefined;
    number += 1;
  }
  const size = headers['result-set-size'];
  return number < before || (size !== undefined && Number(size) !== number) ? undefined : number - before;
}

/**
 * Adds a batch of inputs. When the response is lost, the inputs of the job are compared with the batch, and the missing ones are sent.
 * @param before number of inputs that the job had; if undefined, nothing is sent twice
 */
export async function addBatch(context: JobContext, id: string, batch: readonly string[], before: number | undefined): Promise<void> {
  const { storage, account, world } = context;
  let kept = 0;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await storage.addJobInputs({ account, id, body: Buffer.from(`${batch.slice(kept).join('\n')}\n`) });
      return;
    } catch (error) {
      if (before === undefined || attempt > mostTries || !isOpen(error)) throw error;
      await pause(firstWait * attempt, world.interrupted);
      checkInterrupted(world.interrupted);
      const found = await countKept(context, id, batch, before).catch(() => undefined);
      if (found === undefined || found < kept) throw error;
      kept = found;
      if (kept === batch.length) return;
    }
  }
}
