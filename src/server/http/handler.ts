import type { InputOf, Operation, Operations, ResultOf } from '../../api/operation.ts';
import type { Headers } from '../../api/message.ts';
import type { ApiError } from '../../base/errors.ts';
import type { FoundAhead } from '../access/accounts.ts';
import type { AccountRow, UserRow } from '../store/schema.ts';
import type { ServiceSettings } from '../settings.ts';
import type { Store } from '../store/store.ts';

/** Who sent a request, as the signature says; `key` is the fingerprint of the key that signed it. */
export type Caller =
  | { kind: 'anonymous' }
  | { kind: 'account'; account: AccountRow; key?: string }
  | { kind: 'user'; account: AccountRow; user: UserRow; key?: string };

/** Where a request came in. */
export interface Connection {
  remoteAddress: string;
  /** True when TLS protected the request, or when the service was told to do without. */
  secure: boolean;
  /** Why the request cannot be answered, whatever it asks for. */
  refusal?: ApiError | undefined;
  /** Called when the signature of the request is valid. */
  authenticated?: () => void;
  /** Calls the listener when the client is gone or has its response; at once where that has been. */
  onGone?: (listener: () => void) => void;
  /** Bytes of the bodies so far, and whether the client was sent all of the response. */
  transferred?: () => { readonly received: number; readonly sent: number; readonly isWhole: boolean };
}

/** What a handler knows beside its input. */
export interface Call {
  readonly operation: Operation;
  readonly caller: Caller;
  /** Roles that the request names; undefined when it names none, so that the default ones are active. */
  readonly named: readonly string[] | undefined;
  /** The account that the path names. */
  readonly account: AccountRow;
  readonly store: Store;
  readonly requestId: string;
  readonly method: string;
  /** Path as sent, percent-encoded. */
  readonly path: string;
  readonly connection: Connection;
  /** All headers of the request, for the few things that no operation declares as a field (`origin`, the length of a body that may not be there). */
  readonly headers: Headers;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** API version that the request chose: one of `apiVersions`; empty for storage. */
  readonly version: string;
  /** Name of the datacenter. */
  readonly datacenter: string;
  readonly settings: ServiceSettings;
  /** Storage: what was at the path when the request began, where it was looked up together with who sent it. */
  readonly ahead?: FoundAhead | undefined;
  /** True for the account itself, and for a caller whose role `administrator` is active. */
  readonly isAdministrator: () => Promise<boolean>;
  /**
   * Demands that the caller may do another operation too, at another path of the same account: what a multipart upload makes, what a
   * link or a job reads. Throws the refusal that the operation itself would get.
   * @param inputs inputs of the operation's path
   */
  readonly requireAccess: (operation: Operation, inputs: Readonly<Record<string, string>>) => Promise<void>;
}

/** A result with a status or headers of its own. */
export class Answer<R> {
  readonly value: R;
  readonly status: number | undefined;
  readonly headers: Headers;

  constructor(value: R, { status, headers = {} }: { status?: number; headers?: Headers } = {}) {
    this.value = value;
    this.status = status;
    this.headers = headers;
  }
}

/** Does one operation. Refusals are thrown as `ApiError`. */
export type Handler<O> = (input: InputOf<O>, call: Call) => Promise<ResultOf<O> | Answer<ResultOf<O>>>;

/** A handler for every operation of a table; leaving one out does not compile. */
export type Handlers<T extends Operations> = { readonly [K in keyof T]: Handler<T[K]> };
