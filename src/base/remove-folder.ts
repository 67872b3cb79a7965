import { rm } from 'node:fs/promises';

/**
 * Removes a folder with everything in it; a missing one counts as removed. Other processes may be adding and removing files meanwhile:
 * `rmSync` then ends half-way without an error on Node.js 24 and 26.
 */
export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
