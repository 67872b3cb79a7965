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

/** Tracks failures of `total` items: reports each failure, but throws that of an only item. */
export function createAttempts({ fail }: Pick<Context, 'fail'>, total: number): Attempts {
  let failed = 0;
  let lastCode = 0;
  function describeFailures(ending = ''): PartialError {
    return new PartialError(`${failed} of ${total} failed${ending}`, failed === total ? { allFailed: lastCode } : {});
  }
  async function each<T, R>(items: readonly T[], step: (item: T) => Promise<R>): Promise<R[]> {
    const results = [];
    for (const item of items) {
      try {
        results.push(await step(item));
      } catch (error) {
        if (total === 1 || error instanceof InterruptedError) throw error;
        failed += 1;
        lastCode = await fail(error);
        if (error instanceof SilentServiceError) throw describeFailures('; stopped because nothing answers');
      }
    }
    return results;
  }
  function finish(): void {
    if (failed > 0) throw describeFailures();
  }
  return {
    each,
    rows: async function* rows(items, step) {
      for (const item of items) yield* await each([item], step);
      finish();
    },
    finish,
  };
}
