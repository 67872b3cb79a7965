import { setTimeout as delay } from 'node:timers/promises';
import { longestTimer } from '../base/clock.ts';
import { InterruptedError, WaitError } from '../base/errors.ts';
import { withSpinner } from '../output/spinner.ts';
import { formatDuration } from '../output/units.ts';
import type { Context } from './command.ts';
import { duration, flag, type Values } from './parameters.ts';

/** Options of commands that write users, roles and policies, whose reads may lag (compute document, section 1, rule 6). */
export const waitOptions = {
  wait: flag('Wait until reads show the change'),
  waitTimeout: duration('Maximum time to wait; default 60s'),
};

/**
 * The result of work within a time limit, even if a service does not respond. Work that takes longer continues, and its result is ignored.
 * @throws {WaitError} after `limit` milliseconds
 */
export async function within<T>(limit: number, work: Promise<T>, explain: () => WaitError): Promise<T> {
  if (limit === Infinity) return await work;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(explain()), Math.min(Math.max(0, limit), longestTimer));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** Shows a spinner on stderr while work runs, unless --quiet is given; `update` changes its text. */
export function spin<T>(
  { world, global }: Pick<Context, 'world' | 'global'>,
  text: string,
  work: (update: (text: string) => void) => Promise<T>,
): Promise<T> {
  return withSpinner(world.stderr, text, work, { quiet: global.quiet, env: world.env });
}

/** Milliseconds between requests; the pause doubles each time. */
const [firstPause, longestPause] = [100, 1000];

/** What to wait for, and what to say if it does not happen in time or the user stops waiting. */
interface Awaited {
  /** Ends "waiting until ...". */
  readonly what: string;
  /** Milliseconds, 60 seconds when undefined. */
  readonly limit: number | undefined;
  /** Hint that says how to go on: whoever repeats a command that creates something creates it twice. */
  readonly hint: string;
}

/** Hint after a change that reads do not show yet. */
export const changeMade = 'the change was made and need not be repeated: reads show it later';

/**
 * Polls until a condition holds. Ctrl-C ends the waiting, but does not undo the change.
 * @throws {WaitError} after the limit
 */
export async function pollUntil(context: Context, { what, limit, hint }: Awaited, holds: () => Promise<boolean>): Promise<void> {
  const { world } = context;
  const { interrupted } = world;
  const longest = limit ?? 60_000;
  const end = world.now() + longest;
  async function poll(): Promise<void> {
    const explain = (): WaitError => new WaitError(`timed out after ${formatDuration(longest)} waiting until ${what}`, { hint });
    for (let pause = firstPause; !(await within(end - world.now(), holds(), explain)); pause = Math.min(pause * 2, longestPause)) {
      if (world.now() >= end) throw explain();
      await delay(pause, undefined, { signal: interrupted }).catch(() => undefined);
      if (interrupted.aborted) throw new InterruptedError('stopped waiting; the operation continues', { hint });
    }
  }
  await spin(context, `Waiting until ${what}`, poll);
}

/** With `--wait`, waits until reads show a change. */
export async function waitForReads(
  context: Context,
  options: Values<typeof waitOptions>,
  what: string,
  holds: () => Promise<boolean>,
): Promise<void> {
  if (options.wait) await pollUntil(context, { what: `reads show ${what}`, limit: options.waitTimeout, hint: changeMade }, holds);
}
