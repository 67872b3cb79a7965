import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** True if a process runs for the user of this home; a process that ended and was not waited for has no environment any more. */
export function runsFor(home: string, pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`HOME=${home}`);
  } catch {
    return false;
  }
}

/** The process of the local service on a data directory; empty if there is none. */
export function readServicePid(dataDir: string): string {
  const file = join(dataDir, 'cloud.pid');
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : '';
}

/** Ends the local service of a home, whose data nobody needs any more. A service with tasks of jobs stops by itself, and ends them. */
export async function endLocal(home: string, dataDir: string): Promise<void> {
  const pid = readServicePid(dataDir);
  const zones = join(dataDir, 'zones');
  const hasTasks = existsSync(zones) && readdirSync(zones).length > 0;
  if (runsFor(home, pid)) process.kill(Number(pid), hasTasks ? 'SIGTERM' : 'SIGKILL');
  while (runsFor(home, pid)) await sleep(10);
}

/**
 * Removes a home. What ran in it may still create files, which is an error, or remove them, at which rmSync ends half-way without one
 * (Node.js 24 and 26).
 */
export function removeHome(home: string): void {
  for (let left = 200; ; left -= 1) {
    try {
      rmSync(home, { recursive: true, force: true });
      if (!existsSync(home)) return;
    } catch (error) {
      if (left === 0) throw error;
    }
    if (left === 0) throw new Error(`${home} cannot be removed`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }
}
