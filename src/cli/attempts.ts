import { InterruptedError, PartialError, SilentServiceError } from '../base/errors.ts';
import type { Context } from './command.ts';

/** Work on several items of which each may fail by itself. */
export interface Attempts {
  /** Does a step for each item; an item that fails is reported and left out of the result. */
  each<T, R>(items: readonly T[], step: (item: T) => Promise<R>): Promise<R[]>;
  /** The same, giving each result when it is there. @throws {PartialError} at the end when something failed */
  rows<T, R>(items: readonly T[], step: (item: T) => Promise<R>): AsyncGenerator<R>;
  /** @throws {PartialError} when something failed */
  finish(): void;
}

/** Tries work on `total` items: failures are reported one by one, that of an only item is simply thrown. */
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
