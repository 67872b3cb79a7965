import type { Context } from '../../../cli/command.ts';
import { InterruptedError, PartialError } from '../../../base/errors.ts';
import { pause } from '../../../client/retry.ts';
import { drainPool } from '../../../base/parallel.ts';
import { escapeData } from '../../../output/escape.ts';
import { bytes, records, type Output } from '../../../output/kinds.ts';
import { readLine, runLine, shareConnections, type ReadLine, type Receipt } from './line.ts';
import { findTouches, haveToWait, type Touches } from './touches.ts';
import { wantsRows } from '../../../cli/rows.ts';

/** How lines are run. */
export interface LinesOptions {
  readonly parallel: number;
  readonly yes: boolean;
  readonly stopOnError: boolean;
}

/** A line that was read, until its receipt has been handed over. */
interface Job {
  readonly number: number;
  readonly text: string;
  readonly read: () => ReadLine;
  readonly touches: Touches;
  /** Lines before it that have to end first. */
  readonly before: readonly Promise<void>[];
  /** Resolves when it has ended; absent while no line waits for it. */
  ended?: Promise<void>;
  tellEnd?: () => void;
  isOver: boolean;
  /** Of one that is over; absent where it was not begun. */
  receipt?: Receipt;
}

/** Lines that are read before the receipt of the first of them is handed over, for each line under way. */
const window = 64;

/** Receipts in one write, at most. */
const mostTogether = 100;

/** Time between two writes while lines are under way, milliseconds. */
const pauseMs = 10;

/** Reads a line; what is wrong with it is thrown when it is run. */
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

/** Reads lines one by one. Whoever stops does not wait for one that may never come. */
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

/** The first lines of those that were read, as many as have all ended. */
function countReady(queue: readonly Job[], most: number): number {
  const first = queue.findIndex(({ isOver }) => !isOver);
  return Math.min(first < 0 ? queue.length : first, most);
}

/** Lines that run. */
interface Work {
  /** Those whose receipts were not handed over, in their order. */
  readonly queue: Job[];
  readonly state: { isStopped: boolean; failed: number; done: number; lastCode: number };
  /** Waits until a line ends; false where nothing is under way and nothing comes. */
  readonly wait: () => Promise<boolean>;
  /** Goes on reading after receipts were handed over. */
  readonly makeRoom: () => void;
  /** Lets no further one begin. */
  readonly stop: () => void;
  /** Settles when nothing is under way any more. @throws why no more could be read */
  readonly ended: Promise<void>;
}

/** Runs lines, several at once. */
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
  // Whoever hands over the receipts asks for it in the end.
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
 * Runs lines and gives a receipt for each, in the order of the lines.
 * @param most receipts that are given together: while lines are under way, those of some milliseconds
 */
async function* runAll(context: Context, lines: AsyncIterable<string>, options: LinesOptions, most: number): AsyncGenerator<Receipt[]> {
  const { world } = context;
  const { queue, state, ...work } = startLines(context, lines, options);
  let isWhole = false;
  let given = -Infinity;
  try {
    for (;;) {
      const count = countReady(queue, most);
      const rest = given + pauseMs - performance.now();
      if (count === 0) {
        if (!(await work.wait())) break;
      } else if (count < Math.min(queue.length, most) && rest > 0) await pause(rest, world.interrupted);
      else {
        yield queue.slice(0, count).flatMap(({ receipt }) => receipt ?? []);
        queue.splice(0, count);
        given = performance.now();
        work.makeRoom();
      }
    }
    await work.ended;
    isWhole = !state.isStopped;
  } finally {
    // Whoever reads the receipts may have gone: no line begins any more, and what has begun is told on stderr.
    work.stop();
    await work.ended.catch(() => undefined);
    for (const { receipt } of queue) if (receipt) world.stderr.stream.write(printReceipt(receipt));
  }
  if (world.interrupted.aborted) throw new InterruptedError('interrupted: lines without a receipt were not begun');
  assertNoneFailed({ ...state, isWhole });
}

/** @throws {PartialError} when lines failed */
function assertNoneFailed({ failed, done, lastCode, isWhole }: { failed: number; done: number; lastCode: number; isWhole: boolean }): void {
  if (failed === 0) return;
  const rest = isWhole ? '' : '; those without a receipt were not begun';
  throw new PartialError(`${failed} of ${failed + done} lines failed${rest}`, done === 0 ? { allFailed: lastCode } : {});
}

function printReceipt(receipt: Receipt): string {
  return `${escapeData(JSON.stringify(receipt))}\n`;
}

/** Ends when what was written last did not arrive: those receipts count as not handed over. */
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
      // A stream says one turn later that nobody reads it any more.
      await new Promise((resolve) => void setImmediate(resolve));
      if (isLost) return;
    }
  } finally {
    out.off('error', lose);
  }
}

async function* listReceipts(batches: AsyncIterable<readonly Receipt[]>): AsyncGenerator<Receipt> {
  for await (const receipts of batches) yield* receipts;
}

/** Runs command lines; the receipts are JSON lines unless another form is asked for. */
export function runLines(context: Context, lines: AsyncIterable<string>, options: LinesOptions): Output {
  if (!wantsRows(context)) return bytes(printReceipts(context, runAll(context, lines, options, mostTogether)));
  return records(listReceipts(runAll(context, lines, options, 1)), {
    columns: ['line', 'exitCode', 'command'],
    id: 'line',
    fields: ['results', 'notes', 'error', 'failures'],
  });
}
