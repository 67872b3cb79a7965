import { records, type Output, type Records, type Row } from '../output/kinds.ts';
import type { Context } from './command.ts';

/** Whether the user asked for the results themselves, not only for the work to be done. */
export function wantsRows({ global }: Pick<Context, 'global'>): boolean {
  return global.output !== undefined || global.json;
}

/** Gives the rows where a form of output is asked for. Without one the work is done that they come from, and each is said when it is there. */
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
