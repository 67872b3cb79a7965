import { explain } from '../base/errors.ts';
import type { Voice } from '../cli/command.ts';

/** Milliseconds between two lines about retries or waits. */
const noticePause = 10_000;

/** A wait before the next try that is worth a line, milliseconds. */
const longWait = 1000;

/** Says on stderr, at most every 10 s, that requests are repeated or that the service does not respond. */
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
      if (wait >= longWait) say(`${explain(error).message}; trying again`);
    },
    /** Watches a request that has been sent whole; the returned function is called when the response begins. */
    watch: (host: string): (() => void) => {
      const timer = setTimeout(() => say(`still waiting for a response of ${host}`), noticePause);
      timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

export type Notices = ReturnType<typeof createNotices>;
