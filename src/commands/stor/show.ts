import { formatSize } from '../../output/units.ts';
import type { Context } from '../../cli/command.ts';
import { records, type Output, type Row, type Records } from '../../output/kinds.ts';
import { monitorTransfers } from './monitor.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import { InterruptedError } from '../../base/errors.ts';
import { createRecorder, recordOne, recordWork } from './recorder.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import type { TransferValues } from './transfer-options.ts';
import type { Engine } from '../../transfer/engine.ts';
import { showRows, wantsRows } from '../../cli/rows.ts';

/** The environment of a command that transfers bytes. */
export interface Transfers {
  readonly engine: Engine;
  readonly tally: Tally;
  /** The journal entry of the work, if there is one from the start. */
  readonly entry: Entry | undefined;
}

interface TransferOptions {
  /** True for a single file: its error is thrown directly. */
  readonly only: boolean;
  readonly bulk: boolean;
  /** Describes the work for the journal; absent: an interrupted run cannot be resumed. */
  readonly declare?: () => Work;
  /** The command that does the work, if the transfers use the context of another profile. */
  readonly command?: Context;
  /** True for one of many runs: prints no summary when there was nothing to do. */
  readonly isRepeated?: boolean;
}

/** The error of an interruption, with the bytes that the next run can resume from, below the hint of `cause`. */
function explainKept({ files, bytes }: { files: number; bytes: number }, cause: unknown): InterruptedError {
  const what = files === 1 ? 'the unfinished file' : `${files} unfinished files`;
  const kept = `${formatSize(bytes)} of ${what} are kept`;
  const known = cause instanceof InterruptedError ? cause.hints : [];
  const hint = known.length === 0 ? `${kept}: to resume, repeat the command` : [...known, kept];
  return new InterruptedError('interrupted', { hint, cause });
}

/** Counts the kept bytes of unfinished files, and mentions them in the error of an interrupted run. */
function createKeeping({ world }: Context): { noteKept: (bytes: number) => void; explain: (error: unknown) => unknown } {
  const kept = { files: 0, bytes: 0 };
  return {
    noteKept: (bytes) => {
      kept.files += 1;
      kept.bytes += bytes;
    },
    explain: (error) => (world.interrupted.aborted && kept.files > 0 ? explainKept(kept, error) : error),
  };
}

/** At most one row, made on demand. */
function one(work: () => Promise<Row | undefined>): AsyncIterable<Row> {
  let isAsked = false;
  const next = async (): Promise<IteratorResult<Row, undefined>> => {
    const isLate = isAsked;
    isAsked = true;
    const value = isLate ? undefined : await work();
    return value === undefined ? { done: true, value } : { done: false, value };
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}

/**
 * Like `runTransfers`, for a single file or object, whose error is thrown directly: for a small one, most of what `runTransfers` sets up
 * costs more than the transfer.
 * @param work returns the row; undefined when there was nothing to do
 */
export async function runTransfer(
  context: Context,
  values: Partial<TransferValues>,
  declare: (() => Work) | undefined,
  shape: Omit<Records, 'kind' | 'rows'>,
  work: (engine: Engine) => Promise<Row | undefined>,
): Promise<Output | undefined> {
  const display = await monitorTransfers(context, values);
  const recorder = createRecorder(context, declare, display.monitor);
  const { noteKept, explain } = createKeeping(context);
  async function transfer(): Promise<Row | undefined> {
    let done = 0;
    try {
      const engine = { ...createEngine(context, values, { bulk: false, monitor: recorder.monitor }), noteKept };
      const row = await recordOne(recorder, () => work(engine), engine.signal);
      if (row) recorder.count();
      done = 1;
      return row;
    } catch (error) {
      throw explain(error);
    } finally {
      display.close(0, done);
    }
  }
  if (wantsRows(context)) return records(one(transfer), shape);
  await transfer();
  return undefined;
}

/**
 * Runs transfers with a progress display. The rows are the output if the user requested any; a summary ends the work. Work that is
 * interrupted, by the user or by the network, stays in the journal.
 */
export async function runTransfers(
  context: Context,
  values: Partial<TransferValues>,
  { only, bulk, declare, command = context, isRepeated = false }: TransferOptions,
  shape: Omit<Records, 'kind' | 'rows'>,
  work: (transfers: Transfers) => AsyncIterable<Row>,
): Promise<Output | undefined> {
  const display = await monitorTransfers(context, values);
  const { noteKept, explain } = createKeeping(context);
  const tally = createTally({ world: context.world, fail: (error, item) => display.pause(() => context.fail(error, item)) }, only);
  const recorder = createRecorder(command, declare, display.monitor);
  let steps = 0;
  function start(): AsyncIterable<Row> {
    const engine = { ...createEngine(context, values, { bulk, monitor: recorder.monitor }), noteKept };
    return work({ engine, tally, entry: recorder.entry });
  }
  async function* rows(): AsyncGenerator<Row> {
    try {
      for await (const row of recordWork(recorder, !only || command.resumed !== undefined, tally, start)) {
        // Not earlier: V8 refuses the compiled code that was kept of modules which are loaded meanwhile.
        if (!only && !isRepeated && steps === 0) await context.world.putOff?.('opt');
        recorder.count();
        steps += 1;
        yield row;
      }
    } catch (error) {
      throw explain(error);
    } finally {
      display.close(tally.failed, tally.done, !isRepeated || steps + tally.failed > 0);
    }
  }
  return await showRows(context, rows(), shape);
}
