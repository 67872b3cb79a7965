/** What the control interface of the local service tells. */

/** The clocks of a service. */
export interface ClockState {
  /** The time of the service, ISO 8601. */
  readonly time: string;
  /** Milliseconds by which that is ahead of the clock of the machine. */
  readonly offset: number;
  /** Milliseconds by which the clock that dates of requests are compared with is ahead of the one of the machine. */
  readonly skew: number;
}

/** A failure that a service was told to have, and what came of it. */
export interface FaultState {
  readonly id: number;
  /** Operation in lower case, or `*`. */
  readonly operation: string;
  readonly failure: string;
  /** Pattern of paths, in which `*` stands for any characters. */
  readonly path?: string | undefined;
  /** Login of the account that sends the requests. */
  readonly account?: string | undefined;
  /** Times that it is to happen; always when absent. */
  readonly count?: number | undefined;
  /** Of how many requests, 1 being all; chosen by numbers that follow from `seed`. */
  readonly rate?: number | undefined;
  readonly seed?: number | undefined;
  readonly injected: number;
  /** Of `count`. */
  readonly left?: number | undefined;
}

/** A request that a service got, and what came of it. */
export interface RecordedRequest {
  /** Counts from 1 since the service was started. */
  readonly id: number;
  /** By the clock of the service, ISO 8601. */
  readonly time: string;
  readonly service: string;
  /** In lower case; absent where none was recognised. */
  readonly operation?: string | undefined;
  readonly method: string;
  readonly path: string;
  /** 0 when the connection was closed on command. */
  readonly status: number;
  /** Milliseconds until the response began. */
  readonly duration: number;
  /** Login of the account, or `account/user`; `-` without a valid signature. */
  readonly caller: string;
  readonly address: string;
  readonly requestId: string;
  readonly code?: string;
  readonly message?: string;
  /** What the service does not tell the client: which text was to be signed, which rule or tag was missing. */
  readonly reason?: string;
  /** Failures on command. */
  readonly faults?: readonly string[];
  readonly curl: string;
}

/** How many samples of each kind were put in. */
export interface Seeded {
  readonly images: number;
  readonly packages: number;
  readonly instances: number;
}

/** What the services held at one moment. */
export interface SnapshotInfo {
  readonly name: string;
  /** ISO 8601, by the clock of the machine. */
  readonly created: string;
  readonly objects: number;
  /** Bytes of the objects; links to the same content count each. */
  readonly size: number;
}
