import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskTools } from './scripts.ts';

/** Where tasks in a sandbox find the tools. */
export const toolsTarget = '/opt/cloud/bin';

/** Writes the tools of tasks into a directory of the service, which every user may read. @returns its path. */
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
