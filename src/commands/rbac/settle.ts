import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '../../cli/command.ts';
import { duration, flag } from '../../cli/parameters.ts';
import { InterruptedError, LocalError, WaitError } from '../../errors.ts';
import { formatDuration } from '../../output/units.ts';
import { withSpinner } from '../../output/spinner.ts';

/** Options of commands that write users, roles and policies, whose reads may lag behind (compute document, section 1, rule 6). */
export const waitOptions = {
  wait: flag('Wait until reads show the change'),
  waitTimeout: duration('Longest time to wait; 60s when absent'),
};

interface WaitValues {
  wait: boolean;
  waitTimeout: number | undefined;
}

/** Milliseconds before the service is asked again; grows with each time. */
const [firstPause, longestPause] = [100, 1000];

/**
 * Asks again and again until something holds. Ctrl-C ends the waiting, not what was done.
 * @throws {WaitError} after `limit` milliseconds, 60 seconds unless said
 */
export async function pollUntil(context: Context, what: string, limit: number | undefined, holds: () => Promise<boolean>): Promise<void> {
  const { world, global } = context;
  const longest = limit ?? 60_000;
  const end = world.now() + longest;
  async function poll(): Promise<void> {
    for (let pause = firstPause; !(await holds()); pause = Math.min(pause * 2, longestPause)) {
      if (world.now() >= end)
        throw new WaitError(`${what}: not after ${formatDuration(longest)}`, { hint: 'wait longer with --wait-timeout' });
      await delay(pause, undefined, { signal: world.interrupted }).catch(() => undefined);
      if (world.interrupted.aborted) throw new InterruptedError('stopped waiting; what was asked for goes on');
    }
  }
  await withSpinner(world.stderr, `Waiting: ${what}`, poll, { quiet: global.quiet, env: world.env });
}

/** With `--wait`, waits until reads show a change. */
export async function waitForReads(context: Context, options: WaitValues, what: string, holds: () => Promise<boolean>): Promise<void> {
  if (options.wait) await pollUntil(context, `reads show ${what}`, options.waitTimeout, holds);
}

/** A value with its object keys and its lists in an order of their own, so that two can be compared. */
function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name, each]) => name !== 'updated' && each !== undefined && each !== '');
  return Object.fromEntries(entries.map(([name, each]) => [name, toCanonical(each)]));
}

/** Whether two readings of a resource say the same; the order of lists and the time of the last change do not count. */
export function isSame(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(toCanonical(a), toCanonical(b));
}

/**
 * Compares what a change was worked out from with what is there now: the API replaces lists as a whole, and nobody's change may be lost.
 * @throws {LocalError} when they differ
 */
export function requireUnchanged(label: string, before: unknown, now: unknown): void {
  if (isSame(before, now)) return;
  throw new LocalError(`${label} was changed by somebody else in the meantime: nothing was done`, { hint: 'run the command again' });
}
