/**
 * What the control interface of the local service offers, as data: it changes how a service behaves while it runs. It listens on a Unix socket in
 * the data directory, never on the ports of the services. `POST /NAME` takes the input as a JSON object and gives the result as JSON.
 */

/** What an input can be: text, a number, true or false. */
interface InputKinds {
  text: string;
  number: number;
  flag: boolean;
}
export type InputKind = keyof InputKinds;

/** One operation of the control interface. */
export interface ControlOperation<R = unknown> {
  readonly summary: string;
  /** Every input may be left out; the handler says which it needs. */
  readonly input: Readonly<Record<string, InputKind>>;
  readonly _result?: R;
}

function operation<R>() {
  return <const I extends ControlOperation['input']>(summary: string, input: I): ControlOperation<R> & { readonly input: I } => ({
    summary,
    input,
  });
}

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

export const controlOperations = {
  /** `set` is a time in ISO 8601; `advance` and `skew` are milliseconds. Without input nothing changes. */
  clock: operation<ClockState>()('Show or set the clock', { set: 'text', advance: 'number', skew: 'number', reset: 'flag' }),
  faults: operation<{ readonly faults: readonly FaultState[] }>()('The failures that the service was told to have', {}),
  addFault: operation<FaultState>()('Tells the service to have a failure', {
    operation: 'text',
    failure: 'text',
    path: 'text',
    account: 'text',
    count: 'number',
    rate: 'number',
    seed: 'number',
  }),
  /** Without `id` all of them; gives those that are gone. */
  clearFaults: operation<{ readonly faults: readonly FaultState[] }>()('Ends failures, and lets go on what they hold', { id: 'number' }),
  /** Makes a snapshot under a name that none has. */
  snapshot: operation<SnapshotInfo>()('Keeps what the services hold under a name', { name: 'text' }),
  /** Everything is as the snapshot has it; requests wait meanwhile. Clock, faults and addresses stay. */
  restore: operation<Record<never, never>>()('Replaces what the services hold by a snapshot', { name: 'text' }),
  /** Everything is as after the first start, with the accounts and keys of this one. */
  reset: operation<Record<never, never>>()('Begins anew with the same accounts and keys', {}),
  /** `account` is a login; the first account when absent. Gives how many were put in. */
  seed: operation<Seeded>()('Adds missing samples', { account: 'text' }),
  /** `to` is an empty directory of the same user; contents are linked. */
  copyState: operation<Record<never, never>>()('Copies what the services hold into a directory', { to: 'text' }),
  /** Those after the one with the number `after`, at most the latest 1000. */
  requests: operation<{ readonly requests: readonly RecordedRequest[]; readonly latest: number }>()('What programs sent', {
    after: 'number',
    failed: 'flag',
  }),
};

export type ControlOperations = typeof controlOperations;
export type ControlName = keyof ControlOperations;
export type ControlInput<N extends ControlName> = {
  readonly [K in keyof ControlOperations[N]['input']]?: ControlOperations[N]['input'][K] extends InputKind
    ? InputKinds[ControlOperations[N]['input'][K]] | undefined
    : never;
};
export type ControlResult<N extends ControlName> = NonNullable<ControlOperations[N]['_result']>;
