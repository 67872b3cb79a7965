import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The variable that says where the sandboxes of a run share compiled code. */
export const sharedCode = 'CLOUD_TEST_CODE';

/** The end-to-end tests run the built program: without one they would test nothing. */
export function setup(): () => void {
  if (!existsSync('dist/start.js')) throw new Error('dist/start.js is missing: run npm run build');
  // Two thousand starts in homes that are all new would compile the program again and again.
  const folder = mkdtempSync(join(tmpdir(), 'cloud-code-'));
  process.env[sharedCode] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
