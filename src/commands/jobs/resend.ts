import { storage as operations } from '../../api/storage.ts';
import { isTransient } from '../../http/network-error.ts';
import { pause } from '../../client/retry.ts';
import { ApiError, checkInterrupted, LocalError } from '../../base/errors.ts';
import type { JobContext } from './find.ts';

/** Milliseconds after a lost answer before the service is asked what it kept: it may still be at work on the request. */
const firstWait = 500;
/** Times that the rest of a batch is sent again. */
const mostTries = 5;

/** Whether a failure leaves open what the service did with the inputs. */
function isOpen(error: unknown): boolean {
  return isTransient(error) || (error instanceof ApiError && error.status >= 500);
}

/** How many inputs a job has; undefined where the service does not say, or this caller may not ask. */
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
 * How many of a list of inputs a job has: its beginning, as they are added one after the other. A service that tells only the latest ones tells
 * by their number where they are. @param last milliseconds since the epoch when the last ones may have been sent
 * @throws {LocalError} when the job has others too
 */
export async function countAdded(context: JobContext, id: string, list: readonly string[], last: number): Promise<number> {
  const { storage, account, world } = context;
  // The service may still be at work on a request whose sender is gone.
  if (world.now() - last < firstWait) await pause(firstWait, world.interrupted);
  const { headers, records } = await storage.getJobInput({ account, id });
  const told: string[] = [];
  for await (const line of records) told.push(line);
  const total = Math.max(told.length, Number(headers['result-set-size'] ?? 0));
  const before = total - told.length;
  if (total <= list.length && told.every((line, at) => line === list[before + at])) return total;
  throw new LocalError(`job ${id} has other inputs than those that were to be added`, {
    hint: `to see them: cloud jobs inputs ${id}; to run it on them: cloud jobs end ${id}`,
  });
}

/** How many of a batch the service kept, as it tells the inputs behind the first `before`; undefined when that cannot be told. */
async function countKept(
  { storage, account }: JobContext,
  id: string,
  batch: readonly string[],
  before: number,
): Promise<number | undefined> {
  const { headers, records } = await storage.getJobInput({ account, id });
  let number = 0;
  for await (const line of records) {
    // Somebody else added inputs too, or only the latest are told.
    if (number >= before && line !== batch[number - before]) return undefined;
    number += 1;
  }
  const size = headers['result-set-size'];
  return number < before || (size !== undefined && Number(size) !== number) ? undefined : number - before;
}

/**
 * Adds a batch of inputs. When the answer is lost, what the service kept is compared with what was sent, and the rest is sent.
 * @param before inputs that the job had; without it nothing is sent twice
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
