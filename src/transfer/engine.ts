import { checkInterrupted } from '../base/errors.ts';
import type { Monitor, Ticket } from '../base/monitor.ts';
import type { StorageClient } from '../client/client.ts';
import { pause } from '../client/retry.ts';
import type { Hashing } from './hashing.ts';
import type { RetryLimits } from './retry.ts';

/** State that is kept between runs: one JSON object per name. */
export interface Memory {
  read(name: string): Record<string, unknown> | undefined;
  write(name: string, value: object): void;
  remove(name: string): void;
}

/** Processes of this machine. The state that a dead process left may be resumed; that of a living process must not be touched. */
export interface Processes {
  /** PID of this process. */
  readonly own: number;
  readonly isAlive: (pid: number) => boolean;
}

/** What transfers work with. */
export interface Engine extends RetryLimits {
  readonly storage: StorageClient;
  /** URL of the service: state remembered for one service does not apply to another. */
  readonly service: string;
  /** Number of concurrent transfers. */
  readonly parallel: number;
  /** Number of concurrent parts or ranges of one file. */
  readonly streams: number;
  /** Bytes in a part or range; chosen by the size of the file when absent. */
  readonly partSize: number | undefined;
  readonly monitor: Monitor;
  readonly memory: Memory;
  /** Waits until so many bytes may be transferred; absent without a rate limit. */
  readonly throttle: ((bytes: number) => Promise<void> | undefined) | undefined;
  /** Called for each interrupted transfer with the number of bytes that a later run can resume from. */
  readonly noteKept?: (bytes: number) => void;
  readonly hashing: Hashing;
  readonly processes: Processes;
}

/** A ticket for the same transfer whose counted bytes can be taken back when they have to be transferred again. */
export function countMoves(ticket: Ticket): Ticket & { takeBack(): void } {
  let moved = 0;
  let kept = 0;
  return {
    ...ticket,
    move: (bytes) => {
      moved += bytes;
      ticket.move(bytes);
    },
    keep: (bytes) => {
      kept += bytes;
      ticket.keep(bytes);
    },
    takeBack: () => {
      ticket.move(-moved);
      ticket.keep(-kept);
      [moved, kept] = [0, 0];
    },
  };
}

/** Does a transfer that the monitor shows. @param size bytes; undefined when unknown */
export async function trackTransfer<T>(
  { monitor }: Pick<Engine, 'monitor'>,
  label: string,
  size: number | undefined,
  work: (ticket: Ticket) => Promise<T>,
): Promise<T> {
  const ticket = monitor.begin(label, size);
  try {
    const result = await work(ticket);
    ticket.end('done');
    return result;
  } catch (error) {
    ticket.end('failed');
    throw error;
  }
}

const silentTicket: Ticket = { expect: () => undefined, move: () => undefined, keep: () => undefined, end: () => undefined };

/** A monitor that shows nothing. */
export const silent: Monitor = { expect: () => undefined, begin: () => silentTicket };

/**
 * Limits the rate of all transfers together. `now` is a monotonic clock, in milliseconds. Waiting ends with an `InterruptedError` when the
 * signal aborts.
 */
export function createThrottle(
  bytesPerSecond: number,
  now: () => number,
  signal: AbortSignal | undefined,
): NonNullable<Engine['throttle']> {
  let free = now();
  return (bytes) => {
    const start = Math.max(now(), free);
    free = start + (bytes / bytesPerSecond) * 1000;
    const wait = free - now();
    return wait < 5 ? undefined : pause(wait, signal).then(() => checkInterrupted(signal));
  };
}
