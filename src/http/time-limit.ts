import { readClock } from '../base/clock.ts';

/** Milliseconds between two looks at the clock. */
const beat = 250;

/** When the clock was looked at last, milliseconds. */
let lastLook = 0;
let lost = 0;
let isWatching = false;

/** Begins to watch the clock, for all time limits of this process. */
export function watchClock(): void {
  if (isWatching) return;
  isWatching = true;
  lastLook = readClock();
  setInterval(readLostTime, beat).unref();
}

/** Milliseconds for which this process did not run since the clock is watched: it was stopped (Ctrl-Z), or the computer slept. */
export function readLostTime(): number {
  if (!isWatching) return 0;
  const now = readClock();
  lost += Math.max(0, now - lastLook - 2 * beat);
  lastLook = now;
  return lost;
}

/** Milliseconds on the monotonic clock without those for which this process did not run: only differences have a meaning. */
export function readRunningClock(): number {
  return readClock() - readLostTime();
}

/**
 * A time limit for another host. If this process did not run for a part of the time, the limit starts again: what has arrived meanwhile has
 * yet to be read.
 */
export class TimeLimit {
  readonly milliseconds: number;
  readonly #timer: NodeJS.Timeout;
  /** `lost` at the start. */
  #lostBefore = lost;

  /** @param expire called when the time is up, unless the limit is restarted or ended before */
  constructor(milliseconds: number, expire: () => void) {
    this.milliseconds = milliseconds;
    this.#timer = setTimeout(() => {
      if (readLostTime() === this.#lostBefore) expire();
      else this.restart();
    }, milliseconds);
  }

  restart(): void {
    this.#lostBefore = lost;
    this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** Lets the process end before the time is up. */
  unref(): this {
    this.#timer.unref();
    return this;
  }
}
