import { records, type Output, type Records, type Row } from '../output/kinds.ts';
import type { Context } from './command.ts';

/** True if the user requested the results in an output format, not only that the work is done. */
export function wantsRows({ global }: Pick<Context, 'global'>): boolean {
  return global.output !== undefined || global.json;
}

/** Returns the rows if an output format is requested. Else consumes them, which does the work, and prints a message for each. */
export async function showRows<T extends Row>(
  context: Pick<Context, 'global' | 'note'>,
  rows: AsyncIterable<T>,
  shape: Omit<Records, 'kind' | 'rows'>,
  say?: (row: T) => string,
): Promise<Output | undefined> {
  if (wantsRows(context)) return records(rows, shape);
  for await (const row of rows) if (say) context.note(say(row));
  return undefined;
}
