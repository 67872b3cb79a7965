import { setFlagsFromString } from 'node:v8';

/**
 * V8 prepares for long work: it recompiles functions that are called often with its optimizing compiler, TurboFan, and marks garbage in many
 * small steps. In a run of less than a second, this takes more processor time than it saves, and takes it from a service on the same
 * machine. Releases after Node.js 20 gain nothing, or would no longer use the compiled code that was kept.
 */

/** Time after which the work is long enough for these preparations to pay, in milliseconds. */
const longWork = 1000;

/** What is put off, by the flag of V8 for it. */
export type Preparation = 'opt' | 'incremental-marking';

/**
 * Turns a preparation off for the first second of the work that starts now. Called when all modules are loaded: V8 refuses compiled code that
 * was kept under other flags.
 * @param beforeExit calls its argument before all other work at the end of the program
 * @returns what turns it on again earlier
 */
export function putOff(preparation: Preparation, beforeExit: (undo: () => void) => void): () => void {
  setFlagsFromString(`--no-${preparation}`);
  const undo = (): void => setFlagsFromString(`--${preparation}`);
  setTimeout(undo, longWork).unref();
  // The flags are the usual ones again before `src/start/` keeps compiled code.
  beforeExit(undo);
  return undo;
}
