import type { Context } from '../../cli/command.ts';
import { records, type Output, type Row, type Records } from '../../output/kinds.ts';
import { monitorTransfers } from './monitor.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';
import { InterruptedError } from '../../base/errors.ts';
import { mayPass } from '../../transfer/retry.ts';
import { createRecorder } from './recorder.ts';
import { createEngine, createTally, type Tally, type TransferValues } from './engine.ts';
import type { Engine } from '../../transfer/engine.ts';

/** Whether the user asked for the results themselves, not only for the work to be done. */
export function wantsRows({ global }: Pick<Context, 'global'>): boolean {
  return global.output !== undefined || global.json;
}

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
}

/**
 * Runs transfers behind a display of their progress. The rows are the output when the user asked for any; a summary ends the work. What is
 * interrupted, by the user or by the network, stays in the journal.
 */
export async function runTransfers(
  context: Context,
  values: Partial<TransferValues>,
  { only, bulk, declare }: TransferOptions,
  shape: Omit<Records, 'kind' | 'rows'>,
  work: (transfers: Transfers) => AsyncIterable<Row>,
): Promise<Output | undefined> {
  const display = await monitorTransfers(context, values);
  const tally = createTally({ world: context.world, fail: (error, item) => display.pause(() => context.fail(error, item)) }, only);
  async function* rows(): AsyncGenerator<Row> {
    const recorder = createRecorder(context, declare, display.monitor);
    // Whoever reads the rows may stop: then the rest is not done.
    let isOver = false;
    try {
      const engine = createEngine(context, values, { bulk, monitor: recorder.monitor });
      if (!only || context.resumed) await recorder.begin();
      for await (const row of work({ engine, tally, entry: recorder.entry })) {
        recorder.count();
        yield row;
      }
      tally.finish();
      isOver = true;
    } catch (error) {
      isOver = !(error instanceof InterruptedError || mayPass(error) || tally.isOpen);
      throw isOver ? error : recorder.explain(error);
    } finally {
      await recorder.close(isOver);
      display.close(tally.failed);
    }
  }
  if (wantsRows(context)) return records(rows(), shape);
  for await (const _ of rows()) void _;
  return undefined;
}
