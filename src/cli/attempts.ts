import { InterruptedError, PartialError, SilentServiceError } from '../base/errors.ts';
import type { Context } from './command.ts';

/** Work on several items, each of which may fail without affecting the others. */
export interface Attempts {
  /** Does a step for each item; reports items that fail and omits them from the result. */
  each<T, R>(items: readonly T[], step: (item: T) => Promise<R>): Promise<R[]>;
  /** Like `each`, but yields each result when it is ready. @throws {PartialError} at the end when an item failed */
  rows<T, R>(items: readonly T[], step: (item: T) => Promise<R>): AsyncGenerator<R>;
  /** @throws {PartialError} when an item failed */
  finish(): void;
}

/** Failures of some of several items. */
interface Failures {
  report(error: unknown, item?: string): Promise<void>;
  /** @param items their number and what they are: `3 datacenters` @throws {PartialError} when one of `total` items failed */
  finish(total: number, items?: string, ending?: string): void;
}

/** Reports and counts failures of items. */
export function countFailures({ fail }: Pick<Context, 'fail'>): Failures {
  let [failed, lastCode] = [0, 0];
  return {
    report: async (error, item) => {
      failed += 1;
      lastCode = await fail(error, item);
    },
    finish: (total, items = String(total), ending = 'failed') => {
      if (failed === 0) return;
      throw new PartialError(`${failed} of ${items} ${ending}`, failed === total ? { allFailed: lastCode } : {});
    },
  };
}

/** Tracks failures of `total` items: reports each failure, but throws that of an only item. */
export function createAttempts({ fail }: Pick<Context, 'fail'>, total: number): Attempts {
  const failures = countFailures({ fail });
  async function each<T, R>(items: readonly T[], step: (item: T) => Promise<R>): Promise<R[]> {
    const results = [];
    for (const item of items) {
      try {
        results.push(await step(item));
      } catch (error) {
        if (total === 1 || error instanceof InterruptedError) throw error;
        await failures.report(error);
        if (error instanceof SilentServiceError) failures.finish(total, undefined, 'failed; stopped because the service does not respond');
      }
    }
    return results;
  }
  return {
    each,
    rows: async function* rows(items, step) {
      for (const item of items) yield* await each([item], step);
      failures.finish(total);
    },
    finish: () => failures.finish(total),
  };
}
