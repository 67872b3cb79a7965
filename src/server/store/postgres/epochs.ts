/**
 * When the oldest of what runs here began, in the time of the database, which nobody can be asked for at each request. The process's own
 * clock, which never goes back, is compared with the database's at each renewal of the lease; what begins between two renewals counts as
 * begun at the first of them. So what is told is never later than the truth, however long an answer of the database took.
 */

/** Something that runs, and may read or write contents. */
export interface Running {
  /** The life of the lease under which it began. */
  readonly term: Term;
  /** It is over; again does nothing. */
  end(): void;
}

/** One life of a lease: from the time when its row is made until the row is gone. */
export interface Term {
  readonly id: string;
  /** Whether others may have removed what is read under it. */
  isLost: boolean;
}

/** What began between two renewals. */
interface Epoch {
  readonly start: number;
  running: number;
  /** What is added to times of this process for those of the database, at most; milliseconds. */
  offset: number;
}

/** A moment of the database between two of this process; milliseconds each. */
export interface Reading {
  readonly database: number;
  readonly received: number;
}

/** What runs in a process. */
export interface Epochs {
  begin(term: Term): Running;
  /** Compares the clocks. Whatever begins from here on belongs to a new epoch. */
  compare(reading: Reading): void;
  /** Lets nothing count any more that began before. */
  forget(): void;
  /** A time of the database, milliseconds since 1970, before which nothing began that still runs. */
  findOldest(): number;
}

/** @param clock milliseconds of a clock that never goes back */
export function createEpochs(first: Reading, clock: () => number): Epochs {
  const offsetOf = ({ database, received }: Reading): number => database - received;
  let current: Epoch = { start: first.received, running: 0, offset: offsetOf(first) };
  /** With the current one last. */
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
      // The database's clock may have gone back, as after its server was replaced by another.
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
