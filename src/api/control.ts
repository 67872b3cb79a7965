/**
 * What the control interface of the local service offers, as data: it changes how a service behaves while it runs. It listens on a Unix socket in
 * the data directory, never on the ports of the services. `POST /NAME` takes the input as a JSON object and gives the result as JSON.
 */

import type { ClockState, FaultState, RecordedRequest, Seeded, SnapshotInfo } from './control-values.ts';

export type { ClockState, FaultState, RecordedRequest, Seeded, SnapshotInfo } from './control-values.ts';

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
