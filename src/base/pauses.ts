import { setImmediate } from 'node:timers/promises';

/** Milliseconds of uninterrupted work after which other events get their turn. */
const turnMs = 5;

/**
 * Divides long work into short turns of the event loop. @returns a function to be awaited after each step; it pauses if the current turn
 * has lasted for longer than 5 ms
 */
export function createPauses(): () => Promise<void> | undefined {
  let begun = performance.now();
  return () => {
    if (performance.now() - begun < turnMs) return undefined;
    return setImmediate().then(() => {
      begun = performance.now();
    });
  };
}
