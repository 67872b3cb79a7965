import { chmod, opendir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isSystemError } from '../../errors.ts';

async function openTree(directory: string): Promise<void> {
  await chmod(directory, 0o700);
  for await (const entry of await opendir(directory)) if (entry.isDirectory()) await openTree(join(directory, entry.name));
}

/** Removes a directory with all that is in it, also what a task made unreadable to its owner. */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, { recursive: true, force: true });
  } catch (error) {
    if (!isSystemError(error) || (error.code !== 'EACCES' && error.code !== 'ENOTEMPTY')) throw error;
    await openTree(directory);
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
  }
}
