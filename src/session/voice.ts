import { explain } from '../base/errors.ts';
import type { Voice } from '../cli/command.ts';

/** Minimum milliseconds between two notes about retries or waits. */
const noticePause = 10_000;

/** Minimum wait before a retry that is worth a note, milliseconds. */
const longWait = 1000;

/** Notes on stderr, at most every 10 s, that requests are retried or that the service does not respond. */
export function createNotices(voice: Voice, { now, isSilent }: { now: () => number; isSilent: boolean }) {
  let last = -Infinity;
  function say(message: string): void {
    if (isSilent || now() - last < noticePause) return;
    last = now();
    voice.say(message);
  }
  return {
    retry: (error: unknown, wait: number): void => {
      voice.retried += 1;
      if (wait >= longWait) say(`${explain(error).message}; retrying`);
    },
    /** Watches a request that has been sent completely; the returned function is called when the response starts. */
    watch: (host: string): (() => void) => {
      const timer = setTimeout(() => say(`still waiting for a response from ${host}`), noticePause);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

export type Notices = ReturnType<typeof createNotices>;
