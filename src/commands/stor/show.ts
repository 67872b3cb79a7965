import type { Context } from '../../cli/command.ts';
import { records, type Output, type Row, type Records } from '../../output/kinds.ts';
import { monitorTransfers } from './monitor.ts';
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
}

/**
 * Runs transfers behind a display of their progress. The rows are the output when the user asked for any; a summary ends the work.
 * @param only true for a single file: its failure is thrown as it is
 */
export async function runTransfers(
  context: Context,
  values: Partial<TransferValues>,
  { only, bulk }: { only: boolean; bulk: boolean },
  shape: Omit<Records, 'kind' | 'rows'>,
  work: (transfers: Transfers) => AsyncIterable<Row>,
): Promise<Output | undefined> {
  const display = await monitorTransfers(context, values);
  const engine = createEngine(context, values, { bulk, monitor: display.monitor });
  const tally = createTally({ world: context.world, fail: (error, item) => display.pause(() => context.fail(error, item)) }, only);
  async function* rows(): AsyncGenerator<Row> {
    try {
      yield* work({ engine, tally });
    } finally {
      display.close(tally.failed);
    }
    tally.finish();
  }
  if (wantsRows(context)) return records(rows(), shape);
  for await (const _ of rows()) void _;
  return undefined;
}
