import { TimeLimit } from './time-limit.ts';

/**
 * Passes through the chunks of a body. `giveUp` is called when no chunk arrives for this many milliseconds, even if other bytes do: endless
 * chunk sizes and trailers count as silence too. Time in which the reader does not request a chunk does not count.
 */
export async function* watchSilence(
  chunks: AsyncIterable<Uint8Array>,
  milliseconds: number,
  giveUp: () => void,
): AsyncGenerator<Uint8Array> {
  let isWaiting = true;
  const limit = new TimeLimit(milliseconds, () => {
    if (isWaiting) giveUp();
  });
  try {
    for await (const chunk of chunks) {
      isWaiting = false;
      yield chunk;
      isWaiting = true;
      limit.restart();
    }
  } finally {
    limit.end();
  }
}
