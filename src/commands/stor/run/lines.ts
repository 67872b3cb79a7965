import { readClock } from '../../../base/clock.ts';
import type { Context } from '../../../cli/command.ts';
import { InterruptedError, PartialError } from '../../../base/errors.ts';
import { flatMapEach } from '../../../base/iterate.ts';
import { pause } from '../../../client/retry.ts';
import { drainPool } from '../../../base/parallel.ts';
import { escapeData } from '../../../output/escape.ts';
import { bytes, records, type Output } from '../../../output/kinds.ts';
import { readLine, runLine, shareConnections, type ReadLine, type Receipt } from './line.ts';
import { findTouches, haveToWait, type Touches } from './touches.ts';
import { wantsRows } from '../../../cli/rows.ts';

export interface LinesOptions {
  readonly parallel: number;
  readonly yes: boolean;
  readonly stopOnError: boolean;
}

/** A line that was read and whose receipt has not been delivered yet. */
interface Job {
  readonly number: number;
  readonly text: string;
  readonly read: () => ReadLine;
  readonly touches: Touches;
  /** Earlier lines that have to end first. */
  readonly before: readonly Promise<void>[];
  /** Resolves when the line has ended; absent while no other line waits for it. */
  ended?: Promise<void>;
  tellEnd?: () => void;
  isOver: boolean;
  /** Receipt of a line that is over; absent if it was not started. */
  receipt?: Receipt;
}

/** Lines read ahead of the first undelivered receipt, per concurrent line. */
const window = 64;

/** Maximum number of receipts in one write. */
const mostTogether = 100;

/** Time between two writes while lines are running, milliseconds. */
const pauseMs = 10;

/** Parses a line; an error is thrown when the line is run. */
async function prepare(context: Context, text: string): Promise<{ read: () => ReadLine; touches: Touches } | undefined> {
  try {
    const line = await readLine(text);
    return line && { read: () => line, touches: findTouches(context, line.path, line.parsed.args, line.parsed.options) };
  } catch (error) {
    const read = (): never => {
      throw error;
    };
    return { read, touches: { reads: [], changes: [] } };
  }
}

/** Reads lines one by one. `stop` ends the wait for a line that may never arrive. */
function openReader(lines: AsyncIterable<string>): { next: () => Promise<string | undefined>; stop: () => void } {
  const source = lines[Symbol.asyncIterator]();
  let stop = (): void => undefined;
  return {
    next: () =>
      new Promise((resolve, reject) => {
        stop = () => resolve(undefined);
        source.next().then(({ done, value }) => resolve(done === true ? undefined : value), reject);
      }),
    stop: () => stop(),
  };
}

/** Resolves when a line has ended. */
function waitFor(job: Job): Promise<void> {
  return (job.ended ??= new Promise((resolve) => {
    job.tellEnd = resolve;
  }));
}

/** The number of leading lines that have all ended, at most `most`. */
function countReady(queue: readonly Job[], most: number): number {
  const first = queue.findIndex(({ isOver }) => !isOver);
  return Math.min(first < 0 ? queue.length : first, most);
}

/** The lines that are running. */
interface Work {
  /** Lines whose receipts were not delivered yet, in order. */
  readonly queue: Job[];
  readonly state: { isStopped: boolean; failed: number; done: number; lastCode: number };
  /** Waits until a line ends; false when nothing is running and no more lines follow. */
  readonly wait: () => Promise<boolean>;
  /** Continues to read after receipts were delivered. */
  readonly makeRoom: () => void;
  /** Prevents further lines from starting. */
  readonly stop: () => void;
  /** Settles when no line is running any more. @throws the error of reading the lines */
  readonly ended: Promise<void>;
}

/** Runs lines concurrently. */
function startLines(context: Context, lines: AsyncIterable<string>, { parallel, yes, stopOnError }: LinesOptions): Work {
  const { world } = context;
  const shared = shareConnections(context, parallel + 2);
  const running = new Set<Job>();
  const queue: Job[] = [];
  const state = { isStopped: false, failed: 0, done: 0, lastCode: 0 };
  let isOver = false;
  let wake = (): void => undefined;
  let makeRoom = (): void => undefined;

  const reader = openReader(lines);
  const stop = (): void => {
    state.isStopped = true;
    reader.stop();
    makeRoom();
  };

  async function* readJobs(): AsyncGenerator<Job> {
    for (let number = 1; ; number += 1) {
      while (queue.length >= parallel * window && !state.isStopped) await new Promise<void>((resolve) => (makeRoom = resolve));
      const text = state.isStopped ? undefined : await reader.next();
      if (text === undefined || state.isStopped || world.interrupted.aborted) return;
      const line = await prepare(shared, text);
      if (!line) continue;
      const before = [];
      for (const other of running) if (haveToWait(other.touches, line.touches)) before.push(waitFor(other));
      const job: Job = { number, text, ...line, before, isOver: false };
      running.add(job);
      queue.push(job);
      yield job;
    }
  }

  async function runJob(job: Job): Promise<void> {
    try {
      if (job.before.length > 0) await Promise.all(job.before);
      if (state.isStopped || world.interrupted.aborted) return;
      const { exitCode } = (job.receipt = await runLine({ context: shared, yes }, job.number, job.text, job.read));
      state[exitCode === 0 ? 'done' : 'failed'] += 1;
      if (exitCode !== 0) state.lastCode = exitCode;
      if (exitCode !== 0 && stopOnError) stop();
    } finally {
      job.isOver = true;
      running.delete(job);
      job.tellEnd?.();
      wake();
    }
  }

  const ended = drainPool(readJobs(), runJob, { limit: parallel }).finally(() => {
    isOver = true;
    wake();
  });
  // The error is thrown where the receipts are delivered.
  ended.catch(() => undefined);
  return {
    queue,
    state,
    wait: async () => {
      if (isOver) return false;
      await new Promise<void>((resolve) => (wake = resolve));
      return true;
    },
    makeRoom: () => makeRoom(),
    stop,
    ended,
  };
}

/**
 * Runs lines and yields a receipt for each, in the order of the lines.
 * @param most maximum number of receipts yielded together; while lines are running, receipts are collected for some milliseconds
 */
async function* runAll(context: Context, lines: AsyncIterable<string>, options: LinesOptions, most: number): AsyncGenerator<Receipt[]> {
  const { world } = context;
  const { queue, state, ...work } = startLines(context, lines, options);
  let isWhole = false;
  let given = -Infinity;
  try {
    for (;;) {
      const count = countReady(queue, most);
      const rest = given + pauseMs - readClock();
      if (count === 0) {
        if (!(await work.wait())) break;
      } else if (count < Math.min(queue.length, most) && rest > 0) await pause(rest, world.interrupted);
      else {
        yield queue.slice(0, count).flatMap(({ receipt }) => receipt ?? []);
        queue.splice(0, count);
        given = readClock();
        work.makeRoom();
      }
    }
    await work.ended;
    isWhole = !state.isStopped;
  } finally {
    // The reader of the receipts may be gone: no further line starts, and the receipts of started lines go to stderr.
    work.stop();
    await work.ended.catch(() => undefined);
    for (const { receipt } of queue) if (receipt) world.stderr.stream.write(printReceipt(receipt));
  }
  if (world.interrupted.aborted) throw new InterruptedError('interrupted: lines without a receipt were not started');
  assertNoneFailed({ ...state, isWhole });
}

/** @throws {PartialError} when lines failed */
function assertNoneFailed({ failed, done, lastCode, isWhole }: { failed: number; done: number; lastCode: number; isWhole: boolean }): void {
  if (failed === 0) return;
  const rest = isWhole ? '' : '; lines without a receipt were not started';
  throw new PartialError(`${failed} of ${failed + done} lines failed${rest}`, done === 0 ? { allFailed: lastCode } : {});
}

function printReceipt(receipt: Receipt): string {
  return `${escapeData(JSON.stringify(receipt))}\n`;
}

/** Ends when the last write did not reach its reader: those receipts count as not delivered. */
async function* printReceipts({ world }: Context, batches: AsyncIterable<readonly Receipt[]>): AsyncGenerator<Uint8Array> {
  const out = world.stdout.stream;
  let isLost = false;
  const lose = (): void => {
    isLost = true;
  };
  out.once('error', lose);
  try {
    for await (const receipts of batches) {
      if (receipts.length === 0) continue;
      yield Buffer.from(receipts.map(printReceipt).join(''));
      // A stream reports one turn of the event loop later that its reader is gone.
      await new Promise((resolve) => void setImmediate(resolve));
      if (isLost) return;
    }
  } finally {
    out.off('error', lose);
  }
}

/** Runs command lines; the receipts are JSON lines unless another format is requested. */
export function runLines(context: Context, lines: AsyncIterable<string>, options: LinesOptions): Output {
  if (!wantsRows(context)) return bytes(printReceipts(context, runAll(context, lines, options, mostTogether)));
  const receipts = flatMapEach(runAll(context, lines, options, 1), (batch) => batch);
  return records(receipts, {
    columns: ['line', 'exitCode', 'command'],
    id: 'line',
    fields: ['results', 'notes', 'error', 'failures'],
  });
}
