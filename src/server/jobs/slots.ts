import { mkdirSync, readdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { isSystemError } from '../../errors.ts';
import { removeTree } from './remove-tree.ts';

/**
 * The places of a zone that one task after the other uses: `in/SLOT`, `root/work/SLOT`, `out/SLOT`, `err/SLOT`. They are used again
 * because making and removing directories costs more than a short task.
 */
export interface Slots {
  take(): string;
  /** Clears a place for the next task; one that cannot be cleared is not used again. */
  giveBack(slot: string): Promise<void>;
}

/** Mode of the working directory of a task. */
const workMode = 0o700;

function ignoreMissing(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT') throw error;
  }
}

/** Whether a working directory is as good as new. */
function isUntouched(directory: string): boolean {
  try {
    return (statSync(directory).mode & 0o7777) === workMode && readdirSync(directory).length === 0;
  } catch {
    return false;
  }
}

/** The places of a zone. */
export function createSlots(directory: string): Slots {
  const free: string[] = [];
  let made = 0;
  const pathOf = (name: string, slot: string): string => join(directory, name, slot);
  // A task may have removed what they are in.
  const makeWork = (slot: string): void => {
    mkdirSync(pathOf('root/work', slot), { mode: workMode, recursive: true });
  };
  return {
    take: () => {
      const slot = free.pop();
      if (slot !== undefined) return slot;
      const fresh = String(made);
      made += 1;
      mkdirSync(pathOf('in', fresh));
      makeWork(fresh);
      return fresh;
    },
    giveBack: async (slot) => {
      await clear(slot).then(
        () => free.push(slot),
        () => undefined,
      );
    },
  };

  async function clear(slot: string): Promise<void> {
    for (const name of readdirSync(pathOf('in', slot))) rmSync(join(pathOf('in', slot), name));
    for (const name of ['out', 'err']) ignoreMissing(() => unlinkSync(pathOf(name, slot)));
    if (!isUntouched(pathOf('root/work', slot))) {
      await removeTree(pathOf('root/work', slot));
      makeWork(slot);
    }
  }
}
