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
  /** Without `id`, clears all of them. Returns the cleared failures. */
  clearFaults: operation<{ readonly faults: readonly FaultState[] }>()('Ends failures, and lets go on what they hold', { id: 'number' }),
  /** Creates a snapshot under a new name. */
  snapshot: operation<SnapshotInfo>()('Keeps what the services hold under a name', { name: 'text' }),
  /** Restores the state of a snapshot, while requests wait. Clock, faults and addresses stay. */
  restore: operation<Record<never, never>>()('Replaces what the services hold by a snapshot', { name: 'text' }),
  /** Restores the state after the first start, with the accounts and keys of this start. */
  reset: operation<Record<never, never>>()('Begins anew with the same accounts and keys', {}),
  /** `account` is a login; the first account when absent. Returns the numbers of added samples. */
  seed: operation<Seeded>()('Adds missing samples', { account: 'text' }),
  /** `to` is an empty directory of the same user; contents are hard links. */
  copyState: operation<Record<never, never>>()('Copies what the services hold into a directory', { to: 'text' }),
  /** Requests with an `id` above `after`, at most the latest 1000. */
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
