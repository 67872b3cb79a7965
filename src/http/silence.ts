/**
 * The pieces of a body as they come. `giveUp` is called when none comes for this many milliseconds, although other bytes may: chunk
 * sizes and trailers without end are silence too. Time in which nobody asks for a piece does not count.
 */
export async function* watchSilence(
  pieces: AsyncIterable<Uint8Array>,
  milliseconds: number,
  giveUp: () => void,
): AsyncGenerator<Uint8Array> {
  let isWaiting = true;
  const timer = setTimeout(() => {
    if (isWaiting) giveUp();
  }, milliseconds);
  try {
    for await (const piece of pieces) {
      isWaiting = false;
      yield piece;
      isWaiting = true;
      timer.refresh();
    }
  } finally {
    clearTimeout(timer);
  }
}
