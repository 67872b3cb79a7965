import { readClock } from '../../base/clock.ts';
import type { Context } from '../../cli/command.ts';
import { choice, duration, flag, number, size, type Values, withTopic } from '../../cli/parameters.ts';
import { ClosedPipe, isOfAccess, PartialError, SilentServiceError, UsageError } from '../../base/errors.ts';
import { createThrottle, silent, type Engine, type Monitor } from '../../transfer/engine.ts';
import { createHashing } from '../../transfer/hashing.ts';
import { mayPass } from '../../transfer/retry.ts';
import type { SyncReport } from '../../transfer/sync/run.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { checkPartSize } from '../../transfer/upload/multipart.ts';
import { readCount } from '../../config/settings.ts';
import { isAlive } from '../../base/world.ts';

/** Maximum number of concurrent transfers. */
const mostParallel = 256;

/** Options of every command that transfers files. */
export const transferOptions = withTopic('transfer', {
  parallel: number('Number of concurrent transfers; default 16, fewer with a low --bwlimit', { short: 'P', range: [1, mostParallel] }),
  bwlimit: size('Maximum bytes per second, over all files together', { placeholder: 'RATE' }),
  partSize: size('Size of the parts or ranges of a large file, at least 5 MiB'),
  progress: choice(
    'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals',
    ['bar', 'plain', 'none'],
    {
      placeholder: 'FORM',
    },
  ),
  progressInterval: duration('Interval of plain lines; default 10s'),
  noProgress: flag('Same as --progress none'),
});

/** An option of commands that write files. */
export const sparseOption = flag('Write files sparse: zeros become holes');

export type TransferValues = Values<typeof transferOptions>;

const usualParallel = 16;

/** Minimum bytes per second for each concurrent transfer: with slower ones, an interruption would leave no file complete. */
const leastRate = 1024 * 1024;

/** The number of concurrent transfers: fewer with a low rate limit, so that some files are completed before others start. */
export function chooseParallel({ parallel, bwlimit }: Partial<Pick<TransferValues, 'parallel' | 'bwlimit'>>): number {
  if (parallel !== undefined || bwlimit === undefined) return parallel ?? usualParallel;
  return Math.min(usualParallel, Math.max(1, Math.floor(bwlimit / leastRate)));
}

/** Connections for the listings of trees, in addition to those of the files. */
const listingConnections = 2;

/** Number of concurrent parts or ranges of one file. */
const usualStreams = 4;

/**
 * Creates the engine of transfers. `bulk`: for many or large files. `inOrder`: objects go to stdout, where ranges that arrive early wait in
 * memory; they are only fetched concurrently if the user requests it.
 */
export function createEngine(
  context: Context,
  values: Partial<TransferValues>,
  { bulk, inOrder = false, monitor }: { bulk: boolean; inOrder?: boolean; monitor?: Monitor },
): Engine {
  const { world, state, settings } = context;
  if (values.partSize !== undefined) checkPartSize(values.partSize);
  if (values.bwlimit === 0)
    throw new UsageError('--bwlimit: nothing can be sent at 0 bytes per second', { hint: 'for no limit, omit --bwlimit' });
  const usual = settings().defaultParallel;
  const limit = usual && Math.min(Math.max(readCount(usual), 1), mostParallel);
  const parallel = chooseParallel({ ...values, parallel: values.parallel ?? limit });
  const storage = bulk ? context.bulk(parallel + listingConnections) : context.storage;
  return {
    service: settings().storUrl?.value ?? '',
    storage,
    parallel,
    streams: Math.min(values.parallel ?? (inOrder ? 1 : (limit ?? usualStreams)), usualStreams),
    partSize: values.partSize,
    monitor: monitor ?? silent,
    memory: state,
    hashing: createHashing(),
    processes: { own: world.pid, isAlive: (pid) => isAlive(world, pid) },
    throttle: values.bwlimit === undefined ? undefined : createThrottle(values.bwlimit, readClock, world.interrupted),
    // The client already retries each request.
    retries: storage.retries,
    signal: world.interrupted,
  };
}

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
