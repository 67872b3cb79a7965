import type { StorageClient } from '../client/client.ts';
import type { Hashing } from './hashing.ts';
import type { RetryLimits } from './retry.ts';

/** One transfer as those see it who watch. */
export interface Ticket {
  /** The size is known now. */
  expect(bytes: number): void;
  /** Bytes that moved; negative when they have to move again. */
  move(bytes: number): void;
  /** Bytes that an earlier run has moved. */
  keep(bytes: number): void;
  end(outcome: 'done' | 'failed' | 'skipped'): void;
}

/** Who watches transfers. */
export interface Monitor {
  /** Files that there are in all, and their bytes; 0 when nobody knows those. */
  expect(files: number, bytes: number): void;
  /** Milliseconds after which somebody may see totals, so that a tree is worth counting by a walk of its own; absent where nobody ever does. */
  readonly countAfterMs?: number | undefined;
  /** A transfer begins; its size may be unknown. */
  begin(label: string, size: number | undefined): Ticket;
}

/** Things that are remembered between runs, one JSON object under each name. */
export interface Memory {
  read(name: string): Record<string, unknown> | undefined;
  write(name: string, value: object): void;
  remove(name: string): void;
}

/** Processes of this machine: what one that is gone has left may be gone on with, what a living one does must not be. */
export interface Processes {
  /** Number of this one. */
  readonly own: number;
  readonly isAlive: (pid: number) => boolean;
}

/** What transfers work with. */
export interface Engine extends RetryLimits {
  readonly storage: StorageClient;
  /** URL of the service: what is remembered of one says nothing of another. */
  readonly service: string;
  /** Files under way at once. */
  readonly parallel: number;
  /** Parts or ranges of one file under way at once. */
  readonly streams: number;
  /** Bytes in a part or range; chosen by the size of the file when absent. */
  readonly partSize: number | undefined;
  readonly monitor: Monitor;
  readonly memory: Memory;
  /** Waits until so many bytes may move; absent: nothing holds them back. */
  readonly throttle: ((bytes: number) => Promise<void> | undefined) | undefined;
  /** Told of each transfer that was interrupted and of which a later run finds so many bytes. */
  readonly noteKept?: (bytes: number) => void;
  readonly hashing: Hashing;
  readonly processes: Processes;
}

/** The same transfer, of which all that moved through this can be taken back when it has to move again. */
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

const silentTicket: Ticket = { expect: () => undefined, move: () => undefined, keep: () => undefined, end: () => undefined };

/** Nobody watches. */
export const silent: Monitor = { expect: () => undefined, begin: () => silentTicket };

/** Lets so many bytes move in a second, over all transfers together. `now` never goes back, as clocks may. */
export function createThrottle(bytesPerSecond: number, now: () => number): NonNullable<Engine['throttle']> {
  let free = now();
  return (bytes) => {
    const start = Math.max(now(), free);
    free = start + (bytes / bytesPerSecond) * 1000;
    const wait = free - now();
    return wait < 5 ? undefined : new Promise((resolve) => void setTimeout(resolve, wait));
  };
}
