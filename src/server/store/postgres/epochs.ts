/**
 * Finds the start of the oldest activity in this process, in the time of the database, which is too expensive to query for each request. At
 * each renewal of the lease, the monotonic clock of the process is compared with the database's. Everything that begins between two
 * renewals counts as begun at the first of them. The reported time is therefore never too late, however slow the response of the database
 * was.
 */

/** An activity in progress, which may read or write contents. */
export interface Running {
  /** The term of the lease under which it began. */
  readonly term: Term;
  /** Ends the activity; calling it again has no effect. */
  end(): void;
}

/** One term of a lease: from the creation of its row until the row is removed. */
export interface Term {
  readonly id: string;
  /** True if others may have removed contents that are being read under it. */
  isLost: boolean;
}

/** The activities that began between two renewals. */
interface Epoch {
  readonly start: number;
  running: number;
  /** Upper bound, in milliseconds, of what is added to times of this process to get times of the database. */
  offset: number;
}

/** The time of the database, and when this process received it; milliseconds each. */
export interface Reading {
  readonly database: number;
  readonly received: number;
}

/** The activities of a process. */
export interface Epochs {
  begin(term: Term): Running;
  /** Compares the clocks. Whatever begins afterwards belongs to a new epoch. */
  compare(reading: Reading): void;
  /** Discards all activities that began before. */
  forget(): void;
  /** A time of the database, in milliseconds since 1970, before which no activity in progress began. */
  findOldest(): number;
}

/** @param clock milliseconds of a monotonic clock */
export function createEpochs(first: Reading, clock: () => number): Epochs {
  const offsetOf = ({ database, received }: Reading): number => database - received;
  let current: Epoch = { start: first.received, running: 0, offset: offsetOf(first) };
  /** The current one is last. */
  let epochs = [current];
  return {
    begin(term) {
      const epoch = current;
      epoch.running += 1;
      let isOver = false;
      return {
        term,
        end() {
          if (isOver) return;
          isOver = true;
          epoch.running -= 1;
        },
      };
    },
    compare(reading) {
      const offset = offsetOf(reading);
      // The database's clock may have gone back, for example because another server replaced it.
      for (const epoch of epochs) epoch.offset = Math.min(epoch.offset, offset);
      current = { start: clock(), running: 0, offset };
      epochs = [...epochs.filter(({ running }) => running > 0), current];
    },
    forget() {
      current = { start: clock(), running: 0, offset: current.offset };
      epochs = [current];
    },
    findOldest() {
      const now = { start: clock(), offset: current.offset };
      return Math.min(...[now, ...epochs.filter(({ running }) => running > 0)].map(({ start, offset }) => start + offset));
    },
  };
}
