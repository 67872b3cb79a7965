import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskTools } from './scripts.ts';

/** Path of the tools inside a sandbox. */
export const toolsTarget = '/opt/cloud/bin';

/** Installs the tools of tasks in a directory of the service that every user may read. @returns the path of the directory */
export function installTools(dataDir: string): string {
  const directory = join(dataDir, 'tools');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(taskTools)) {
    const file = join(directory, name);
    writeFileSync(file, text);
    chmodSync(file, 0o755);
  }
  chmodSync(directory, 0o755);
  return directory;
}
