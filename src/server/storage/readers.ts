import type { Store } from '../store/store.ts';
import { mapForEachStore } from './for-each-store.ts';

/**
 * The contents that this process is reading. A content is removed only when nobody reads it: a content of many pieces is opened piece by
 * piece, long after the object may have been deleted. Losing this state does no harm: after a crash there are no readers, and the
 * collection at the start removes what was waiting. If several processes share the contents, each reports to the others since when it has
 * been reading, and nothing waits here.
 */
interface Reading {
  readers: number;
  waiting: (() => Promise<void>)[];
}

const findReadings = mapForEachStore<Reading>();

/** Protects a content from removal until the returned function is called; calling it again has no effect. */
export function hold(store: Store, content: string): () => void {
  if (store.beginReading) return store.beginReading();
  const readings = findReadings(store);
  const reading = readings.get(content) ?? { readers: 0, waiting: [] };
  readings.set(content, reading);
  reading.readers += 1;
  let released = false;
  return () => {
    if (released) return;
    released = true;
    reading.readers -= 1;
    if (reading.readers > 0) return;
    readings.delete(content);
    for (const work of reading.waiting) void work();
  };
}

/** Calls `work`, which must not fail, now or when the last reader of these contents has finished. */
export async function whenReleased(store: Store, contents: readonly string[], work: () => Promise<void>): Promise<void> {
  const readings = findReadings(store);
  const reading = contents.map((content) => readings.get(content)).find((found) => found !== undefined);
  if (reading) reading.waiting.push(() => whenReleased(store, contents, work));
  else await work();
}
