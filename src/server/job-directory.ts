import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../base/world.ts';
import { removeTree } from './jobs/remove-tree.ts';

/**
 * Creates the directory for the tasks of this process below `workDir`, which other gateways may share. Directories of processes of this
 * machine that no longer run are removed.
 */
export async function makeJobDirectory(workDir: string, pid: number): Promise<string> {
  const folder = join(workDir, 'jobs');
  // Short names: the directory contains sockets, whose paths may have at most 107 bytes.
  const machine = `${createHash('md5').update(hostname()).digest('hex').slice(0, 8)}-`;
  const own = join(folder, `${machine}${pid}`);
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const [, owner] = name.split('-');
    if (name.startsWith(machine) && !isAlive(process, Number(owner))) await removeTree(join(folder, name));
  }
  return own;
}
