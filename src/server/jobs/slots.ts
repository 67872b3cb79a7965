import { mkdirSync, readdirSync, statSync, unlinkSync } from 'node:fs';
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
  giveBack(slot: string, left: Left): Promise<void>;
}

/** What a task left in its place. */
export interface Left {
  /** Its only input; there may be many when absent. */
  readonly input?: string | undefined;
  /** Whether the files of its output and standard error may stay for the next task, which begins by emptying them. */
  readonly mayStay: boolean;
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
    giveBack: async (slot, left) => {
      await clear(slot, left).then(
        () => free.push(slot),
        () => undefined,
      );
    },
  };

  async function clear(slot: string, { input, mayStay }: Left): Promise<void> {
    const inputs = pathOf('in', slot);
    for (const name of input === undefined ? readdirSync(inputs) : [input]) ignoreMissing(() => unlinkSync(join(inputs, name)));
    if (!mayStay) for (const name of ['out', 'err']) ignoreMissing(() => unlinkSync(pathOf(name, slot)));
    if (!isUntouched(pathOf('root/work', slot))) {
      await removeTree(pathOf('root/work', slot));
      makeWork(slot);
    }
  }
}
