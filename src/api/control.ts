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

export const controlOperations = {
  /** `set` is a time in ISO 8601; `advance` and `skew` are milliseconds. Without input nothing changes. */
  clock: operation<ClockState>()('Show or set the clock', { set: 'text', advance: 'number', skew: 'number', reset: 'flag' }),
};

export type ControlOperations = typeof controlOperations;
export type ControlName = keyof ControlOperations;
export type ControlInput<N extends ControlName> = {
  readonly [K in keyof ControlOperations[N]['input']]?: ControlOperations[N]['input'][K] extends InputKind
    ? InputKinds[ControlOperations[N]['input'][K]]
    : never;
};
export type ControlResult<N extends ControlName> = NonNullable<ControlOperations[N]['_result']>;
