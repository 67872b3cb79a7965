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

/**
 * Polls until a condition holds. Ctrl-C ends the waiting, but does not undo the change.
 * @throws {WaitError} after `limit` milliseconds, 60 seconds when undefined
 */
export async function pollUntil(context: Context, what: string, limit: number | undefined, holds: () => Promise<boolean>): Promise<void> {
  const { world } = context;
  const { interrupted } = world;
  const longest = limit ?? 60_000;
  const end = world.now() + longest;
  async function poll(): Promise<void> {
    const explain = (): WaitError =>
      new WaitError(`timed out after ${formatDuration(longest)} waiting until ${what}`, { hint: 'wait longer with --wait-timeout' });
    for (let pause = firstPause; !(await within(end - world.now(), holds(), explain)); pause = Math.min(pause * 2, longestPause)) {
      if (world.now() >= end) throw explain();
      await delay(pause, undefined, { signal: interrupted }).catch(() => undefined);
      if (interrupted.aborted) throw new InterruptedError('stopped waiting; the operation continues');
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
  if (options.wait) await pollUntil(context, `reads show ${what}`, options.waitTimeout, holds);
}
