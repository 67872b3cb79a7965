/** Results of the control interface of the local service. */

/** The clocks of a service. */
export interface ClockState {
  /** The time of the service, ISO 8601. */
  readonly time: string;
  /** Milliseconds by which `time` is ahead of the machine's clock. */
  readonly offset: number;
  /** Milliseconds by which the clock that checks request dates is ahead of the machine's clock. */
  readonly skew: number;
}

/** An injected failure and how often it has happened. */
export interface FaultState {
  readonly id: number;
  /** Operation in lower case, or `*`. */
  readonly operation: string;
  readonly failure: string;
  /** Pattern of paths, in which `*` matches any characters. */
  readonly path?: string | undefined;
  /** Login of the account that sends the requests. */
  readonly account?: string | undefined;
  /** Number of times that the failure is injected; unlimited when absent. */
  readonly count?: number | undefined;
  /** Share of requests that fail, 1 being all; the choice is pseudo-random and determined by `seed`. */
  readonly rate?: number | undefined;
  readonly seed?: number | undefined;
  readonly injected: number;
  /** Remaining part of `count`. */
  readonly left?: number | undefined;
}

/** A request that a service received, with its result. */
export interface RecordedRequest {
  /** Counts from 1 since the start of the service. */
  readonly id: number;
  /** By the service's clock, ISO 8601. */
  readonly time: string;
  readonly service: string;
  /** In lower case; absent when no operation was recognized. */
  readonly operation?: string | undefined;
  readonly method: string;
  readonly path: string;
  /** 0 when an injected failure closed the connection. */
  readonly status: number;
  /** Milliseconds until the response started. */
  readonly duration: number;
  /** Login of the account, or `account/user`; `-` without a valid signature. */
  readonly caller: string;
  readonly address: string;
  readonly requestId: string;
  readonly code?: string;
  readonly message?: string;
  /** Details that the client is not told: the text that should have been signed, or the missing rule or tag. */
  readonly reason?: string;
  /** Injected failures. */
  readonly faults?: readonly string[];
  readonly curl: string;
}

/** Number of samples that were added, by kind. */
export interface Seeded {
  readonly images: number;
  readonly packages: number;
  readonly instances: number;
}

/** The contents of the services at one moment. */
export interface SnapshotInfo {
  readonly name: string;
  /** ISO 8601, by the machine's clock. */
  readonly created: string;
  /** Null if the description of the snapshot is damaged. */
  readonly objects: number | null;
  /** Bytes of the objects; each link counts, even if several have the same content. Null as `objects`. */
  readonly size: number | null;
}
