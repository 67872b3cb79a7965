import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../base/private-files.ts';
import { removeTree } from './jobs/remove-tree.ts';

/**
 * Makes the directory of the tasks of a gateway's jobs in one where those of other gateways may stand too. What processes of this machine
 * left there that are gone is removed.
 */
export async function makeJobDirectory(workDir: string, pid: number): Promise<string> {
  const folder = join(workDir, 'jobs');
  // Short: sockets stand in it, whose paths may have 107 bytes.
  const machine = `${createHash('md5').update(hostname()).digest('hex').slice(0, 8)}-`;
  const own = join(folder, `${machine}${pid}`);
  await mkdir(own, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const [, owner] = name.split('-');
    if (name.startsWith(machine) && !isRunning(Number(owner))) await removeTree(join(folder, name));
  }
  return own;
}
