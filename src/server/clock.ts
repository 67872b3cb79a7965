/** The clock of the services: it goes as fast as that of the machine, and may be set. Durations are measured by the monotonic clock, not by it. */
export interface ServiceClock {
  /** The time of the services, milliseconds since the epoch: timestamps, expiry, and what rules and images look at. */
  now(): number;
  /** The time that dates of requests are compared with: that of the machine, and `skew`. Clients have no other. */
  requestTime(): number;
  /** Sets the time, milliseconds since the epoch. */
  set(time: number): void;
  advance(milliseconds: number): void;
  /** Moves `requestTime` alone, by so many milliseconds from the clock of the machine; below 0 it is behind. */
  skew(milliseconds: number): void;
  /** Back to the clock of the machine, in both. */
  reset(): void;
  /** By how many milliseconds the services are ahead of the machine. */
  readonly offsets: { readonly time: number; readonly request: number };
}

/** @param machine the clock of the machine, milliseconds since the epoch */
export function createClock(machine: () => number): ServiceClock {
  let [time, request] = [0, 0];
  return {
    now: () => machine() + time,
    requestTime: () => machine() + request,
    set: (to) => {
      time = to - machine();
    },
    advance: (milliseconds) => {
      time += milliseconds;
    },
    skew: (milliseconds) => {
      request = milliseconds;
    },
    reset: () => {
      [time, request] = [0, 0];
    },
    get offsets() {
      return { time, request };
    },
  };
}
