import type { ActivePhase } from './active-job.ts';

// Short tasks are handed to a zone before it asks, so that it never waits for this process.

/** Milliseconds of work that a zone is given at once, and most tasks. */
const aheadTime = 100;
const mostAhead = 32;

/** Whether the tasks of a phase are so short that more of them will be over within moments. */
export function isQuick({ pace }: ActivePhase): boolean {
  return pace < aheadTime;
}

/** Tasks that a zone of a phase is given at once: no more than its share of what there is. */
export function chooseDepth({ pace, queue, zones }: ActivePhase, slots: number): number {
  const begun = [...zones].reduce((sum, { load }) => sum + load, 0);
  const share = Math.ceil((queue.length + begun) / slots);
  return Math.max(1, Math.min(mostAhead, share, Math.floor(aheadTime / pace)));
}
