import { readClock } from '../base/clock.ts';
import { explain } from '../base/errors.ts';
import type { Voice } from '../cli/command.ts';

/** Minimum milliseconds between two notes about retries or waits. */
const noticePause = 10_000;

/** Minimum wait before a retry that is worth a note, milliseconds. */
const longWait = 1000;

/** A request that awaits a response. */
interface Waiting {
  readonly host: string;
  /** When it was sent, milliseconds of the monotonic clock. */
  readonly since: number;
}

/** Notes on stderr, at most every 10 s, that requests are retried or that the service does not respond. */
export function createNotices(voice: Voice, { now, isSilent }: { now: () => number; isSilent: boolean }) {
  let last = -Infinity;
  function say(message: string): void {
    if (isSilent || now() - last < noticePause) return;
    last = now();
    voice.say(message);
  }
  /** Requests that await a response, the oldest first. */
  const waiting = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;
  /** One timer serves all requests: of many small ones, each would start and stop its own. */
  function checkLater(milliseconds: number): void {
    timer = setTimeout(check, milliseconds).unref();
  }
  function check(): void {
    timer = undefined;
    for (const request of waiting) {
      const rest = request.since + noticePause - readClock();
      if (rest > 0) return checkLater(rest);
      waiting.delete(request);
      say(`still waiting for a response from ${request.host}`);
    }
  }
  return {
    retry: (error: unknown, wait: number): void => {
      voice.retried += 1;
      if (wait >= longWait) say(`${explain(error).message}; retrying`);
    },
    /** Watches a request that has been sent completely; the returned function is called when the response starts. */
    watch: (host: string): (() => void) => {
      if (isSilent) return () => undefined;
      const request = { host, since: readClock() };
      waiting.add(request);
      if (timer === undefined) checkLater(noticePause);
      return () => void waiting.delete(request);
    },
  };
}

export type Notices = ReturnType<typeof createNotices>;
