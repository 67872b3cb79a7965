/**
 * The clock of the services: it runs at the speed of the machine's clock, and can be set. Durations are measured by the monotonic clock
 * instead.
 */
export interface ServiceClock {
  /** The time of the services, milliseconds since the epoch: for timestamps, expiry, rules and image creation. */
  now(): number;
  /** The time that dates of requests are compared with: the machine's, plus `skew`. Clients have only the machine's clock. */
  requestTime(): number;
  /** Sets the time of the services, milliseconds since the epoch. */
  set(time: number): void;
  advance(milliseconds: number): void;
  /** Sets `requestTime` alone to this many milliseconds ahead of the machine's clock; negative values are behind. */
  skew(milliseconds: number): void;
  /** Resets both times to the machine's clock. */
  reset(): void;
  /** Milliseconds by which both times are ahead of the machine's clock. */
  readonly offsets: { readonly time: number; readonly request: number };
}

/** @param machine the machine's clock, milliseconds since the epoch */
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
