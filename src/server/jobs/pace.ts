import type { ActivePhase } from './active-job.ts';

// Short tasks are handed to a zone before it has finished the previous ones, so that it never waits for this process.

/** Milliseconds of work handed to a zone in one turn, and the maximum number of tasks. */
const aheadTime = 100;
const mostAhead = 32;

/** True if the tasks of a phase are so short that more of them will end within moments. */
export function isQuick({ pace }: ActivePhase): boolean {
  return pace < aheadTime;
}

/** Number of tasks that a zone of a phase holds at a time: at most its share of all tasks. */
export function chooseDepth({ pace, queue, zones }: ActivePhase, slots: number): number {
  const begun = [...zones].reduce((sum, { load }) => sum + load, 0);
  const share = Math.ceil((queue.length + begun) / slots);
  return Math.max(1, Math.min(mostAhead, share, Math.floor(aheadTime / pace)));
}

/** Maximum number of tasks per claim; half as many where other engines run tasks too. */
export const claimSize = 512;
const sharedClaimSize = 256;

/**
 * Number of queued tasks of all jobs; with so many, a job only gets its next task: those of ten thousand jobs would fill the memory. A claim
 * takes this part of what is left.
 */
const mostQueued = 4096;
const claimedPart = 1 / 8;

/** Milliseconds of work claimed ahead where other engines run tasks too, so that none is idle while another has more than it can do. */
const sharedTime = 300;

/**
 * Number of tasks of a phase to claim now; 0 while enough are queued. Tasks in the queue for which zones are being opened
 * are not waiting: their init may take long, and slots that become free meanwhile are for further tasks.
 * @param free slots without work
 * @param queued number of queued tasks of all jobs, or of those that are being claimed
 */
export function chooseClaim(
  { pace, queue, opening, surplus }: ActivePhase,
  { slots, free, isShared, queued }: { slots: number; free: number; isShared: boolean; queued: number },
): number {
  if (!isShared) {
    const size = Math.max(1, Math.min(claimSize, Math.floor((mostQueued - queued) * claimedPart)));
    return queue.length < size / 2 ? size : 0;
  }
  const ahead = Math.min(sharedClaimSize, Math.floor((slots * sharedTime) / pace));
  if (ahead < slots) return queue.length <= opening ? Math.min(sharedClaimSize, Math.max(0, free) * surplus) : 0;
  return queue.length < ahead / 2 ? ahead : 0;
}
