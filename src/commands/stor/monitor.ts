import type { Context } from '../../cli/command.ts';
import { createContradiction } from '../../base/errors.ts';
import { canDraw } from '../../output/bottom-lines.ts';
import type { ProgressMode } from '../../output/progress.ts';
import { silent } from '../../transfer/engine.ts';
import type { Monitor } from '../../base/monitor.ts';
import type { TransferValues } from './transfer-options.ts';

/** The progress display of a command's transfers. */
export interface Display {
  readonly monitor: Monitor;
  /** Hides the display while something else is written. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Removes the display and prints the summary, unless `isTold` is false. @param others items that were done without a transfer */
  close(failed: number, others?: number, isTold?: boolean): void;
}

/** Options of the progress display. */
export type ProgressValues = Partial<Pick<TransferValues, 'progress' | 'noProgress' | 'progressInterval'>>;

/** A display that shows nothing. */
const undisplayed: Display = { monitor: silent, pause: (work) => work(), close: () => undefined };

function chooseMode({ world, global }: Context, { progress, noProgress }: ProgressValues): ProgressMode {
  if (noProgress === true && progress !== undefined && progress !== 'none') throw createContradiction('--progress', '--no-progress');
  if (noProgress === true || (progress === undefined && (global.quiet || global.verbose > 0))) return 'none';
  const draws = canDraw(world.stderr, world.env);
  // Cursor control sequences mean nothing in a log.
  if (progress !== undefined) return progress === 'bar' && !draws ? 'plain' : progress;
  return draws ? 'bar' : 'plain';
}

/** Shows transfers: as bars on a terminal, elsewhere as a line every 10 s. */
export async function monitorTransfers(context: Context, values: ProgressValues): Promise<Display> {
  const { world, global, voice } = context;
  const mode = chooseMode(context, values);
  if (mode === 'none' && global.quiet) return undisplayed;
  const { createProgress } = await import('../../output/progress.ts');
  const display = createProgress(world.stderr, {
    now: world.now,
    mode,
    ...(values.progressInterval !== undefined && { interval: values.progressInterval }),
    isJson: voice.isJson,
    isQuiet: global.quiet,
    countRetries: () => voice.retried,
  });
  const { say } = voice;
  voice.say = (message, kind) => void display.pause(async () => say(message, kind));
  return {
    ...display,
    close: (failed, others, isTold) => {
      voice.say = say;
      display.close(failed, others, isTold);
    },
  };
}
