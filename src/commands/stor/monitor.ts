import type { Context } from '../../cli/command.ts';
import { silent, type Monitor } from '../../transfer/engine.ts';

/** The display of a command's transfers. */
export interface Display {
  readonly monitor: Monitor;
  /** Takes the display away while something else is written. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Takes it away for good and sums up. */
  close(failed: number): void;
}

const hidden: Display = { monitor: silent, pause: (work) => work(), close: () => undefined };

/** Shows transfers on a terminal; elsewhere, and where nobody wants it, nothing. */
export async function monitorTransfers({ world, global }: Context, wanted: boolean | undefined): Promise<Display> {
  const isShown = wanted ?? (world.stderr.isTerminal && !global.quiet && global.verbose === 0 && world.env['TERM'] !== 'dumb');
  if (!isShown) return hidden;
  const { createProgress } = await import('../../output/progress.ts');
  return createProgress(world.stderr, world.now);
}
