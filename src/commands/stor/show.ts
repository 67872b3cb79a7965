import { formatSize } from '../../output/units.ts';
import type { Context } from '../../cli/command.ts';
import { records, type Output, type Row, type Records } from '../../output/kinds.ts';
import { monitorTransfers } from './monitor.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';
import { InterruptedError } from '../../base/errors.ts';
import { createRecorder, recordOne, recordWork } from './recorder.ts';
import { createEngine, createTally, type Tally, type TransferValues } from './engine.ts';
import type { Engine } from '../../transfer/engine.ts';
import { showRows, wantsRows } from '../../cli/rows.ts';

/** A command that moves bytes: rows come as files are done. */
export interface Transfers {
  readonly engine: Engine;
  readonly tally: Tally;
  /** What the journal has of the work, where it has an entry from the beginning. */
  readonly entry: Entry | undefined;
}

/** How transfers are done. */
interface TransferOptions {
  /** A single file: its failure is thrown as it is. */
  readonly only: boolean;
  readonly bulk: boolean;
  /** How the journal keeps the work; absent: an interruption leaves nothing to go on with. */
  readonly declare?: () => Work;
  /** The command whose work it is, where the transfers are made in the context of another profile. */
  readonly command?: Context;
  /** One of many runs: nothing is said of one that had nothing to do. */
  readonly isRepeated?: boolean;
}

/** What an interruption has left that the next run goes on with, below what is known of it already. */
function explainKept({ files, bytes }: { files: number; bytes: number }, cause: unknown): InterruptedError {
  const what = files === 1 ? 'the unfinished file' : `${files} unfinished files`;
  const kept = `${formatSize(bytes)} of ${what} are kept`;
  const known = cause instanceof InterruptedError ? cause.hint : undefined;
  const hint = known === undefined ? `${kept}: the same command goes on from there` : `${known}\n${kept}`;
  return new InterruptedError('interrupted', { hint, cause });
}

/** Counts what of unfinished files is kept, and tells the user of it where a run was interrupted. */
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

/** One row at most, made when it is asked for. */
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
 * The same as `runTransfers` for a single file or object, whose failure is thrown as it is: most of what several need costs more than moving one that
 * is small. @param work gives its row; undefined where nothing was to be done
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
 * Runs transfers behind a display of their progress. The rows are the output when the user asked for any; a summary ends the work. What is
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
  async function* transfer(): AsyncGenerator<Row> {
    const engine = { ...createEngine(context, values, { bulk, monitor: recorder.monitor }), noteKept };
    for await (const row of work({ engine, tally, entry: recorder.entry })) {
      recorder.count();
      steps += 1;
      yield row;
    }
    tally.finish();
  }
  async function* rows(): AsyncGenerator<Row> {
    try {
      yield* recordWork(recorder, !only || command.resumed !== undefined, tally, transfer);
    } catch (error) {
      throw explain(error);
    } finally {
      display.close(tally.failed, tally.done, !isRepeated || steps + tally.failed > 0);
    }
  }
  return await showRows(context, rows(), shape);
}
