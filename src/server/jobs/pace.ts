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

/** Tasks in one claim, and how few may be left before the next one, where nobody else does tasks. */
export const claimSize = 512;
const claimMark = 256;

/** Where others do tasks too, milliseconds of work that are claimed ahead, so that nobody waits while another has more than it can do. */
const sharedTime = 300;

/** How many tasks of a phase are to be claimed now; 0 while there are enough. @param free slots without work */
export function chooseClaim(
  { pace, queue, surplus }: ActivePhase,
  { slots, free, isShared }: { slots: number; free: number; isShared: boolean },
): number {
  if (!isShared) return queue.length < claimMark ? claimSize : 0;
  const ahead = Math.min(claimMark, Math.floor((slots * sharedTime) / pace));
  if (ahead < slots) return queue.length === 0 ? Math.min(claimMark, Math.max(0, free) * surplus) : 0;
  return queue.length < ahead / 2 ? ahead : 0;
}
