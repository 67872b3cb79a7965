import { setImmediate } from 'node:timers/promises';
import { readClock } from './clock.ts';

/** Milliseconds of uninterrupted work after which other events get their turn. */
const turnMs = 5;

/**
 * Divides long work into short turns of the event loop. @returns a function to be awaited after each step; it pauses if the last
 * pause was more than 5 ms ago
 */
export function createPauses(): () => Promise<void> | undefined {
  let begun = readClock();
  return () => {
    if (readClock() - begun < turnMs) return undefined;
    return setImmediate().then(() => {
      begun = readClock();
    });
  };
}
