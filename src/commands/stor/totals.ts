import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../transfer/engine.ts';

/** A visit of a walk; only files and objects are counted. */
interface Counted {
  readonly kind: string;
  readonly size?: number | undefined;
  readonly entry?: { readonly size?: number | undefined };
}

/**
 * Counts the files of a tree in advance, concurrently with the transfer, so that the progress display has a total. Done only where somebody
 * watches, and in a log only for long runs: listing a tree twice costs a fifth of fetching small files. Errors are reported by the transfer
 * itself.
 */
export async function countAhead({ monitor, signal }: Engine, visits: AsyncIterable<Counted>): Promise<void> {
  const { countAfterMs } = monitor;
  if (countAfterMs === undefined) return;
  // A short run is over before the total is shown.
  if (countAfterMs > 0) await sleep(countAfterMs, undefined, { ref: false });
  let files = 0;
  let bytes = 0;
  try {
    for await (const { kind, size, entry } of visits) {
      if (signal?.aborted === true) return;
      if (kind !== 'file' && kind !== 'object') continue;
      files += 1;
      bytes += size ?? entry?.size ?? 0;
    }
    monitor.expect(files, bytes);
  } catch {
    // The total stays unknown.
  }
}
