import { existsSync } from 'node:fs';

/** The end-to-end tests run the built program: without one they would test nothing. */
export function setup(): void {
  if (!existsSync('dist/main.js')) throw new Error('dist/main.js is missing: run npm run build');
}
