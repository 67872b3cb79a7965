import { readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type World } from '../../base/world.ts';
import { quietly } from '../../base/errors.ts';

/** File with the id of the process that last opened the database beside it. */
const pidFile = 'cloud.pid';

function readPidFile(dataDir: string): number {
  return quietly(() => Number(readFileSync(join(dataDir, pidFile), 'utf8')), 0);
}

/** True when a process has a file open. */
function holds(pid: number, file: string): boolean {
  const descriptors = `/proc/${pid}/fd`;
  try {
    return readdirSync(descriptors).some((descriptor) => {
      try {
        return readlinkSync(join(descriptors, descriptor)) === file;
      } catch {
        // The descriptor was closed meanwhile.
        return false;
      }
    });
  } catch {
    return false;
  }
}

/**
 * Finds the process that has the database of a data directory open: the service, even if it does not respond. A process id that another
 * program has now is ignored. Undefined when there is none, or when the system does not show open files (Linux does).
 * @param pid the process id in the run file
 */
export function findHolder(dataDir: string, pid = 0): number | undefined {
  try {
    const database = join(realpathSync(dataDir), 'cloud.db');
    return [pid, readPidFile(dataDir)].find((each) => each > 0 && holds(each, database));
  } catch {
    return undefined;
  }
}

/** True if the process that last opened the database is alive; it removes its id when it closes the database. */
export function isHeld(world: Pick<World, 'kill'>, dataDir: string): boolean {
  const pid = readPidFile(dataDir);
  return pid > 0 && isAlive(world, pid);
}

/** True if a process has ended, or is a zombie that its parent has not reaped. */
export function hasEnded(world: Pick<World, 'kill'>, pid: number): boolean {
  if (!isAlive(world, pid)) return true;
  return quietly(() => /\) Z /u.test(readFileSync(`/proc/${pid}/stat`, 'latin1')), false);
}
