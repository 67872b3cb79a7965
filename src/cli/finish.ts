import type { Context } from './command.ts';

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
