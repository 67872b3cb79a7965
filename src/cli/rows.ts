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

/**
 * Passes on the results of changes. A reader that stops early, such as `head` on the other end of a pipe, does not stop the changes: the
 * others are made without showing their results, and an error that ends them is reported here, because nobody else would see it.
 */
export function finishChanges<T>({ fail }: Pick<Context, 'fail'>, changes: AsyncIterable<T>): AsyncIterable<T> {
  async function readRest(source: AsyncIterator<T>): Promise<void> {
    try {
      while ((await source.next()).done !== true);
    } catch (error) {
      await fail(error);
    }
  }
  return {
    [Symbol.asyncIterator]: () => {
      const source = changes[Symbol.asyncIterator]();
      return {
        next: () => source.next(),
        return: async (value?: unknown) => {
          await readRest(source);
          return { done: true, value: value as T };
        },
      };
    },
  };
}
