import type { Context } from '../../cli/command.ts';
import { createContradiction } from '../../base/errors.ts';
import { canDraw } from '../../output/bottom-lines.ts';
import { saysJson } from '../../output/notes.ts';
import type { ProgressMode } from '../../output/progress.ts';
import { silent, type Monitor } from '../../transfer/engine.ts';
import type { TransferValues } from './engine.ts';

/** The display of a command's transfers. */
export interface Display {
  readonly monitor: Monitor;
  /** Takes the display away while something else is written. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Takes it away for good and sums up, unless nobody is to be told. @param others items that were done without a transfer */
  close(failed: number, others?: number, isTold?: boolean): void;
}

/** What the user asked for of the display. */
export type ProgressValues = Partial<Pick<TransferValues, 'progress' | 'noProgress' | 'progressInterval'>>;

/** Where nothing is to be seen. */
const undisplayed: Display = { monitor: silent, pause: (work) => work(), close: () => undefined };

function chooseMode({ world, global }: Context, { progress, noProgress }: ProgressValues): ProgressMode {
  if (noProgress === true && progress !== undefined && progress !== 'none') throw createContradiction('--progress', '--no-progress');
  if (noProgress === true || (progress === undefined && (global.quiet || global.verbose > 0))) return 'none';
  const draws = canDraw(world.stderr, world.env);
  // Codes that move the cursor mean nothing in a log.
  if (progress !== undefined) return progress === 'bar' && !draws ? 'plain' : progress;
  return draws ? 'bar' : 'plain';
}

/** Shows transfers: drawn on a terminal, by a line every 10 s elsewhere. */
export async function monitorTransfers(context: Context, values: ProgressValues): Promise<Display> {
  const { world, global, voice } = context;
  const mode = chooseMode(context, values);
  if (mode === 'none' && global.quiet) return undisplayed;
  const { createProgress } = await import('../../output/progress.ts');
  const display = createProgress(world.stderr, {
    now: world.now,
    mode,
    ...(values.progressInterval !== undefined && { interval: values.progressInterval }),
    isJson: saysJson({ ...global }),
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
