import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from '../../transfer/engine.ts';

/** A file or object that a walk comes by; other visits count for nothing. */
interface Counted {
  readonly kind: string;
  readonly size?: number | undefined;
  readonly entry?: { readonly size?: number | undefined };
}

/**
 * Counts beforehand what a tree has, beside the transfer itself, so that people see how much is to come. Only where somebody watches, and
 * in a log only of what takes long: a second listing of a tree costs a fifth of fetching small files. What cannot be read is reported by the transfer.
 */
export async function countAhead({ monitor, signal }: Engine, visits: AsyncIterable<Counted>): Promise<void> {
  const { countAfterMs } = monitor;
  if (countAfterMs === undefined) return;
  // A short run is over before anybody sees how much there was.
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
    // Then it is not known.
  }
}
