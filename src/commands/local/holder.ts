import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type World } from '../../base/world.ts';

/** The process that wrote this file last opened the database beside it. */
const pidFile = 'cloud.pid';

function readPidFile(dataDir: string): number {
  try {
    return Number(readFileSync(join(dataDir, pidFile), 'utf8'));
  } catch {
    return 0;
  }
}

/** True when a process has a file open. */
function holds(pid: number, file: string): boolean {
  const descriptors = `/proc/${pid}/fd`;
  try {
    return readdirSync(descriptors).some((descriptor) => {
      try {
        return readlinkSync(join(descriptors, descriptor)) === file;
      } catch {
        // Closed meanwhile.
        return false;
      }
    });
  } catch {
    return false;
  }
}

/**
 * The process that has the database of a data directory open: the service, whether it answers or not. A process id that another program
 * has now is not taken for it. Undefined when there is none, and where the system does not tell (it does on Linux).
 * @param pid the process that said last that it is the service
 */
export function findHolder(dataDir: string, pid = 0): number | undefined {
  try {
    const database = join(realpathSync(dataDir), 'cloud.db');
    return [pid, readPidFile(dataDir)].find((each) => each > 0 && holds(each, database));
  } catch {
    return undefined;
  }
}

/** True when a process is gone, or only its parent has not noticed. */
export function hasEnded(world: Pick<World, 'kill'>, pid: number): boolean {
  if (!isAlive(world, pid)) return true;
  try {
    return /\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
