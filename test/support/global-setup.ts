import { existsSync } from 'node:fs';

/** The end-to-end tests run the built program: without one they would test nothing. */
export function setup(): void {
  if (!existsSync('dist/start.js')) throw new Error('dist/start.js is missing: run npm run build');
}
