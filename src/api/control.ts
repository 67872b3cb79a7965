/**
 * The control interface of the local service, as data: it changes the behaviour of a running service. It listens on a Unix socket in the
 * data directory, never on the ports of the services. `POST /NAME` takes the input as a JSON object and returns the result as JSON.
 */

import type { ClockState, FaultState, RecordedRequest, Seeded, SnapshotInfo } from './control-values.ts';

export type { ClockState, FaultState, RecordedRequest, Seeded, SnapshotInfo } from './control-values.ts';

/** Types of inputs. */
interface InputKinds {
  text: string;
  number: number;
  flag: boolean;
}
export type InputKind = keyof InputKinds;

/** One operation of the control interface. */
export interface ControlOperation<R = unknown> {
  readonly summary: string;
  /** All inputs are optional here; the handler checks which ones it needs. */
  readonly input: Readonly<Record<string, InputKind>>;
  readonly _result?: R;
}

function operation<R>() {
  return <const I extends ControlOperation['input']>(summary: string, input: I): ControlOperation<R> & { readonly input: I } => ({
    summary,
    input,
  });
}

export const controlOperations = {
  /** `set` is an ISO 8601 time; `advance` and `skew` are milliseconds. Without input nothing changes. */
  clock: operation<ClockState>()('Shows or sets the clock', { set: 'text', advance: 'number', skew: 'number', reset: 'flag' }),
  faults: operation<{ readonly faults: readonly FaultState[] }>()('The injected faults', {}),
  addFault: operation<FaultState>()('Injects a fault', {
    operation: 'text',
    failure: 'text',
    path: 'text',
    account: 'text',
    count: 'number',
    rate: 'number',
    seed: 'number',
  }),
  /** Without `id`, clears all of them. Returns the cleared faults. */
  clearFaults: operation<{ readonly faults: readonly FaultState[] }>()('Removes faults and releases the requests that they hold', {
    id: 'number',
  }),
  /** Creates a snapshot under a new name. */
  snapshot: operation<SnapshotInfo>()('Saves the state of the services as a named snapshot', { name: 'text' }),
  /** Restores the state of a snapshot, while requests wait. Clock, faults and addresses stay. */
  restore: operation<Record<never, never>>()('Restores the state of the services from a snapshot', { name: 'text' }),
  /** Restores the state after the first start, with the accounts and keys of this start. */
  reset: operation<Record<never, never>>()('Resets the state of the services; accounts and keys stay', {}),
  /** `account` is a login; the first account when absent. Returns the numbers of added samples. */
  seed: operation<Seeded>()('Adds missing sample data', { account: 'text' }),
  /** `to` is an empty directory of the same user; contents are hard links. */
  copyState: operation<Record<never, never>>()('Copies the state of the services into a directory', { to: 'text' }),
  /** Requests with an `id` above `after`, at most the latest 1000. */
  requests: operation<{ readonly requests: readonly RecordedRequest[]; readonly latest: number }>()('The requests that programs sent', {
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
