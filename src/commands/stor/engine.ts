import { join } from 'node:path';
import type { Context } from '../../cli/command.ts';
import { negatable, number, size } from '../../cli/parameters.ts';
import { readJsonFile, writeFileAtomically } from '../../config/files.ts';
import { readCount } from '../../config/settings.ts';
import { ClosedPipe, isSystemError, PartialError, UsageError } from '../../errors.ts';
import { createThrottle, silent, type Engine, type Memory, type Monitor } from '../../transfer/engine.ts';
import { createHashing } from '../../transfer/hashing.ts';
import { checkPartSize } from '../../transfer/multipart.ts';
import { isAlive } from '../../world.ts';
import { rmSync } from 'node:fs';

/** Options of every command that moves bytes. */
export const transferOptions = {
  parallel: number('Files under way at once; 16 when absent', { short: 'P', range: [1, 256] }),
  bwlimit: size('Most bytes in a second, over all files together', { placeholder: 'RATE' }),
  partSize: size('Bytes in a part or range of a large file, at least 5 MiB'),
  progress: negatable('Show progress, or none; shown on a terminal when absent'),
};

/** Values of `transferOptions`. */
export interface TransferValues {
  readonly parallel: number | undefined;
  readonly bwlimit: number | undefined;
  readonly partSize: number | undefined;
  readonly progress: boolean | undefined;
}

const usualParallel = 16;

/** Connections beside those of the files, for the listings of trees. */
const listingConnections = 2;

/** Parts or ranges of one file under way at once. */
const usualStreams = 4;

/** Things remembered in the state folder. A file that cannot be read is as good as none. */
export function createMemory(folder: string): Memory {
  const locate = (name: string): string => join(folder, `${name}.json`);
  return {
    read: (name) => {
      try {
        return readJsonFile(locate(name));
      } catch (error) {
        if (error instanceof UsageError || isSystemError(error)) return undefined;
        throw error;
      }
    },
    write: (name, value) => writeFileAtomically(locate(name), `${JSON.stringify(value)}\n`),
    remove: (name) => {
      try {
        rmSync(locate(name), { force: true });
      } catch (error) {
        // What cannot be forgotten is found to be done by the next run.
        if (!isSystemError(error)) throw error;
      }
    },
  };
}

/**
 * Makes what transfers work with. `bulk`: for many or large files. `inOrder`: objects go to stdout, where ranges that come
 * early wait in memory; several come at once only when the user asks for it.
 */
export function createEngine(
  context: Context,
  values: Partial<TransferValues>,
  { bulk, inOrder = false, monitor }: { bulk: boolean; inOrder?: boolean; monitor?: Monitor },
): Engine {
  const { world, paths, settings } = context;
  if (values.partSize !== undefined) checkPartSize(values.partSize);
  if (values.bwlimit === 0) throw new UsageError('--bwlimit: nothing would move at 0 bytes in a second');
  const { retries } = settings();
  const parallel = values.parallel ?? usualParallel;
  return {
    storage: bulk ? context.bulk(parallel + listingConnections) : context.storage,
    parallel,
    streams: Math.min(values.parallel ?? (inOrder ? 1 : usualStreams), usualStreams),
    partSize: values.partSize,
    monitor: monitor ?? silent,
    memory: createMemory(paths.state),
    hashing: createHashing(),
    processes: { own: world.pid, isAlive: (pid) => isAlive(world, pid) },
    throttle: values.bwlimit === undefined ? undefined : createThrottle(values.bwlimit, () => performance.now()),
    retries: retries === undefined ? 0 : readCount(retries),
    signal: world.interrupted,
  };
}

/** Counts what went well and what did not, of items that are done at the same time. */
export interface Tally {
  /** Does work for an item; a failure is reported, and undefined returned. */
  attempt<T>(item: string, work: () => Promise<T>): Promise<T | undefined>;
  /** The same for what has to be known before: only a failure counts. */
  prepare<T>(item: string, work: () => Promise<T>): Promise<T | undefined>;
  /** Reports a failure of an item. */
  fail(error: unknown, item?: string): Promise<void>;
  /** Counts a failure whose cause was reported already. */
  skip(): void;
  readonly failed: number;
  readonly done: number;
  /** @throws {PartialError} when something failed */
  finish(): void;
}

/** @param only true when there is a single item, whose failure is thrown as it is */
export function createTally({ fail, world }: Pick<Context, 'fail' | 'world'>, only = false): Tally {
  let failed = 0;
  let done = 0;
  let lastCode = 0;
  async function report(error: unknown, item?: string): Promise<void> {
    // When the reader of the output is gone, there is nobody to go on for.
    if (only || world.interrupted.aborted || error instanceof ClosedPipe) throw error;
    failed += 1;
    const message = error instanceof Error ? error.message : '';
    lastCode = await fail(error, item === undefined || message.includes(item) ? undefined : item);
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
    skip: () => {
      failed += 1;
    },
    get failed() {
      return failed;
    },
    get done() {
      return done;
    },
    finish: () => {
      if (failed > 0)
        throw new PartialError(`${failed} of ${failed + done} failed`, done === 0 && lastCode > 0 ? { allFailed: lastCode } : {});
    },
  };
}
