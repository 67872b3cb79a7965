import type { Context } from '../../cli/command.ts';
import { ClosedPipe, isOfAccess, PartialError, SilentServiceError } from '../../base/errors.ts';
import { mayPass } from '../../transfer/retry.ts';
import type { SyncReport } from '../../transfer/sync/run.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';

/** Counts successes and failures of concurrent items. */
export interface Tally extends SyncReport {
  /** Like `attempt`, for preparations: only failures are counted. */
  prepare<T>(item: string, work: () => Promise<T>): Promise<T | undefined>;
  readonly failed: number;
  readonly done: number;
  /** True if a later run may succeed where some item failed. */
  readonly isOpen: boolean;
  /** True if some item failed because of the settings, keys or rights of the user. */
  readonly isDenied: boolean;
  /** @throws {PartialError} if anything failed */
  finish(): void;
}

/** @param only true for a single item, whose error is thrown directly */
export function createTally({ fail, world }: Pick<Context, 'fail' | 'world'>, only = false): Tally {
  let failed = 0;
  let done = 0;
  let lastCode = 0;
  let [isOpen, isDenied] = [false, false];
  async function report(error: unknown, failing?: string | RemotePath): Promise<void> {
    // Without a reader of the output, the work need not continue.
    if (only || world.interrupted.aborted || error instanceof ClosedPipe) throw error;
    failed += 1;
    isOpen ||= mayPass(error);
    isDenied ||= isOfAccess(error);
    const item = typeof failing === 'object' ? printRemotePath(failing) : failing;
    const message = error instanceof Error ? error.message : '';
    lastCode = await fail(error, item === undefined || message.includes(item) ? undefined : item);
    if (error instanceof SilentServiceError) throw describeFailures('; stopped because the service does not respond');
  }
  function describeFailures(ending = ''): PartialError {
    return new PartialError(`${failed} of ${failed + done} failed${ending}`, done === 0 && lastCode > 0 ? { allFailed: lastCode } : {});
  }
  async function prepare<T>(item: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      await report(error, item);
      return undefined;
    }
  }
  return {
    prepare,
    attempt: (item, work) =>
      prepare(item, async () => {
        const result = await work();
        done += 1;
        return result;
      }),
    fail: report,
    pass: () => {
      done += 1;
    },
    skip: () => {
      failed += 1;
    },
    get failed() {
      return failed;
    },
    get done() {
      return done;
    },
    get isOpen() {
      return isOpen;
    },
    get isDenied() {
      return isDenied;
    },
    finish: () => {
      if (failed > 0) throw describeFailures();
    },
  };
}
