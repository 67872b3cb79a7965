import { setFlagsFromString } from 'node:v8';

/**
 * V8 recompiles functions that are called often with its optimizing compiler, TurboFan. For a few hundred small transfers that takes more
 * processor time than it saves, and takes it from a service on the same machine. Node.js 24 and later have a fast compiler in between
 * (Maglev): there it makes no difference, and code that Maglev compiled without TurboFan is never optimized later.
 */

/** Time after which the work is long enough for optimized code to pay, in milliseconds. */
const longWork = 1000;

/** The first release of Node.js with Maglev. */
const quickRelease = 24;

/** Turns the optimizing compiler off for the first second of the work that starts now. @param release of Node.js, such as `v20.18.0` */
export function optimizeLater(release: string): void {
  if (Number.parseInt(release.slice(1), 10) >= quickRelease) return;
  setFlagsFromString('--no-opt');
  setTimeout(() => setFlagsFromString('--opt'), longWork).unref();
}
