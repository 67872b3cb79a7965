import { chmodSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { unlessNoEntry } from '../../base/errors.ts';
import { inputDirectory, streamDirectory } from './isolation.ts';

/**
 * The slots of a zone. Each consists of a file or directory of its own at `in/SLOT`, `root/work/SLOT`, `io/out/SLOT` and `io/err/SLOT`,
 * which one task after the other uses: creating and removing directories costs more than a short task. The runner clears the working
 * directory: nothing below a directory that tasks can write to is ever cleared from outside.
 */
export interface Slots {
  take(): string;
  /** Clears a slot for the next task. A slot that cannot be cleared is not used again. */
  giveBack(slot: string, left: Left): void;
}

/** What a task left in its slot. */
export interface Left {
  /** The only input of the task; if absent, there may be many. */
  readonly input?: string | undefined;
  /** True if the files of stdout and stderr may stay for the next task, which begins by truncating them. */
  readonly mayStay: boolean;
}

export function createSlots(directory: string): Slots {
  const free: string[] = [];
  let made = 0;
  const clear = (slot: string, { input, mayStay }: Left): void => {
    const inputs = join(inputDirectory(directory), slot);
    for (const name of input === undefined ? readdirSync(inputs) : [input]) unlessNoEntry(() => unlinkSync(join(inputs, name)));
    if (mayStay) return;
    for (const name of ['out', 'err']) unlessNoEntry(() => unlinkSync(join(streamDirectory(directory), name, slot)));
  };
  return {
    take: () => {
      const slot = free.pop();
      if (slot !== undefined) return slot;
      const fresh = String(made);
      made += 1;
      mkdirSync(join(inputDirectory(directory), fresh));
      // The user of the zone may differ from the user of the service.
      chmodSync(join(inputDirectory(directory), fresh), 0o755);
      return fresh;
    },
    giveBack: (slot, left) => {
      try {
        clear(slot, left);
        free.push(slot);
      } catch {
        // Another slot is created when one is needed.
      }
    },
  };
}
