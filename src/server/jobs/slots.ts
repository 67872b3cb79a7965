import { chmodSync, mkdirSync, readdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import { inputDirectory, streamDirectory } from './isolation.ts';

/**
 * The places of a zone that one task after the other uses: `in/SLOT`, `root/work/SLOT`, `io/out/SLOT`, `io/err/SLOT`. They are used
 * again because making and removing directories costs more than a short task. The working directory is the runner's: what is below a
 * directory that tasks can write to is never cleared from outside.
 */
export interface Slots {
  take(): string;
  /** Clears a place for the next task; one that cannot be cleared is not used again. */
  giveBack(slot: string, left: Left): void;
}

/** What a task left in its place. */
export interface Left {
  /** Its only input; there may be many when absent. */
  readonly input?: string | undefined;
  /** Whether the files of its output and standard error may stay for the next task, which begins by emptying them. */
  readonly mayStay: boolean;
}

function ignoreMissing(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
  }
}

/** The places of a zone. */
export function createSlots(directory: string): Slots {
  const free: string[] = [];
  let made = 0;
  const clear = (slot: string, { input, mayStay }: Left): void => {
    const inputs = join(inputDirectory(directory), slot);
    for (const name of input === undefined ? readdirSync(inputs) : [input]) ignoreMissing(() => unlinkSync(join(inputs, name)));
    if (mayStay) return;
    for (const name of ['out', 'err']) ignoreMissing(() => unlinkSync(join(streamDirectory(directory), name, slot)));
  };
  return {
    take: () => {
      const slot = free.pop();
      if (slot !== undefined) return slot;
      const fresh = String(made);
      made += 1;
      mkdirSync(join(inputDirectory(directory), fresh));
      // The user of the zone may be another than the one of the service.
      chmodSync(join(inputDirectory(directory), fresh), 0o755);
      return fresh;
    },
    giveBack: (slot, left) => {
      try {
        clear(slot, left);
        free.push(slot);
      } catch {
        // Another place is made when one is needed.
      }
    },
  };
}
