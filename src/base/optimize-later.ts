import { setFlagsFromString } from 'node:v8';

/**
 * V8 recompiles functions that are called often with its optimizing compiler, TurboFan. For a few hundred small transfers that takes more
 * processor time than it saves, and takes it from a service on the same machine. Releases after Node.js 20 gain nothing.
 */

/** Time after which the work is long enough for optimized code to pay, in milliseconds. */
const longWork = 1000;

/**
 * Turns the optimizing compiler off for the first second of the work that starts now.
 * @param beforeExit calls its argument before all other work at the end of the program
 */
export function optimizeLater(beforeExit: (undo: () => void) => void): void {
  setFlagsFromString('--no-opt');
  const undo = (): void => setFlagsFromString('--opt');
  setTimeout(undo, longWork).unref();
  // V8 refuses compiled code that was kept under other flags: they are the usual ones again before `src/start/` keeps it.
  beforeExit(undo);
}
