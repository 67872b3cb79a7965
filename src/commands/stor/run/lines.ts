import type { Context } from '../../../cli/command.ts';
import { InterruptedError, PartialError } from '../../../base/errors.ts';
import { runOrdered } from '../../../base/parallel.ts';
import { escapeData } from '../../../output/escape.ts';
import { bytes, records, type Output } from '../../../output/kinds.ts';
import { wantsRows } from '../show.ts';
import { readLine, runLine, shareConnections, type ReadLine, type Receipt } from './line.ts';
import { findTouches, haveToWait, type Touches } from './touches.ts';

/** How lines are run. */
export interface LinesOptions {
  readonly parallel: number;
  readonly yes: boolean;
  readonly stopOnError: boolean;
}

/** A line and what it has to wait for. */
interface Job {
  readonly number: number;
  readonly text: string;
  readonly read: () => ReadLine;
  readonly before: readonly Promise<unknown>[];
  readonly end: () => void;
}

/** A line that has been read and not ended. */
interface Running {
  readonly touches: Touches;
  readonly ended: Promise<void>;
}

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

/** Runs lines, several at once, and gives a receipt for each, in the order of the lines. */
async function* runAll(context: Context, lines: AsyncIterable<string>, options: LinesOptions): AsyncGenerator<Receipt> {
  const { world } = context;
  const shared = shareConnections(context, options.parallel + 2);
  const running = new Set<Running>();
  /** Receipts that were not handed over yet: of lines that have ended, one before them not. */
  const open = new Map<number, Receipt>();
  const state = { isStopped: false, isWhole: false, failed: 0, done: 0, lastCode: 0 };

  const reader = openReader(lines);
  const stop = (): void => {
    state.isStopped = true;
    reader.stop();
  };

  async function* readJobs(): AsyncGenerator<Job> {
    for (let number = 1; ; number += 1) {
      const text = await reader.next();
      if (text === undefined || state.isStopped || world.interrupted.aborted) return;
      const line = await prepare(shared, text);
      if (!line) continue;
      const before = [...running].filter(({ touches }) => haveToWait(touches, line.touches)).map(({ ended }) => ended);
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const entry = { touches: line.touches, ended };
      running.add(entry);
      void ended.then(() => running.delete(entry));
      yield { number, text, read: line.read, before, end };
    }
  }

  /** Lines that have begun; one that was read and never began has no end. */
  const begun = new Set<Promise<unknown>>();

  function work(job: Job): Promise<Receipt | undefined> {
    const working = runJob(job).finally(() => begun.delete(working));
    begun.add(working);
    return working;
  }

  async function runJob({ number, text, read, before, end }: Job): Promise<Receipt | undefined> {
    try {
      await Promise.all(before);
      if (state.isStopped || world.interrupted.aborted) return undefined;
      const receipt = await runLine({ context: shared, yes: options.yes }, number, text, read);
      open.set(number, receipt);
      state[receipt.exitCode === 0 ? 'done' : 'failed'] += 1;
      if (receipt.exitCode !== 0) state.lastCode = receipt.exitCode;
      if (receipt.exitCode !== 0 && options.stopOnError) stop();
      return receipt;
    } finally {
      end();
    }
  }

  try {
    for await (const receipt of runOrdered(readJobs(), work, { limit: options.parallel })) {
      if (!receipt) continue;
      let isTaken = false;
      try {
        yield receipt;
        isTaken = true;
      } finally {
        if (!isTaken) stop();
      }
      open.delete(receipt.line);
    }
  } finally {
    state.isWhole = !state.isStopped;
    // Whoever reads the receipts may have gone: no line begins any more, and what has begun is told on stderr.
    stop();
    await Promise.all(begun);
    for (const receipt of open.values()) world.stderr.stream.write(printReceipt(receipt));
  }
  if (world.interrupted.aborted) throw new InterruptedError('interrupted: lines without a receipt were not begun');
  assertNoneFailed(state);
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

async function* printReceipts(receipts: AsyncIterable<Receipt>): AsyncGenerator<Uint8Array> {
  for await (const receipt of receipts) yield Buffer.from(printReceipt(receipt));
}

/** Runs command lines; the receipts are JSON lines unless another form is asked for. */
export function runLines(context: Context, lines: AsyncIterable<string>, options: LinesOptions): Output {
  const receipts = runAll(context, lines, options);
  if (!wantsRows(context)) return bytes(printReceipts(receipts));
  return records(receipts, { columns: ['line', 'exitCode', 'command'], id: 'line', fields: ['results', 'notes', 'error', 'failures'] });
}
