import type { Kysely } from 'kysely';
import type { InputOf, Operation, Operations, ResultOf } from '../../api/operation.ts';
import type { Headers } from '../../api/message.ts';
import type { ApiError } from '../../base/errors.ts';
import type { FoundAhead } from '../access/accounts.ts';
import type { AccountRow, ImageRow, Schema, UserRow } from '../store/schema.ts';
import type { ServiceSettings } from '../settings.ts';
import type { Store } from '../store/store.ts';

/** The sender of a request, by its signature; `key` is the fingerprint of the key that signed. */
export type Caller =
  | { kind: 'anonymous' }
  | { kind: 'account'; account: AccountRow; key?: string }
  | { kind: 'user'; account: AccountRow; user: UserRow; key?: string };

/** The connection of a request. */
export interface Connection {
  remoteAddress: string;
  /** True if TLS protected the request, or if the service was configured to trust plain HTTP. */
  secure: boolean;
  /** The error that the request gets, whatever it asks for. */
  refusal?: ApiError | undefined;
  /** Called when the signature of the request is valid. */
  authenticated?: () => void;
  /** Calls the listener when the client has disconnected or has its response; immediately if that has already happened. */
  onGone?: (listener: () => void) => void;
  /** Bytes of the bodies so far, and whether the client was sent the whole response. */
  transferred?: () => { readonly received: number; readonly sent: number; readonly isWhole: boolean };
}

/** Finds an image of a datacenter by id; undefined if there is none that the account may see. */
export type FindImage = (db: Kysely<Schema>, account: AccountRow, id: string) => Promise<ImageRow | undefined>;

/** The context of a handler, in addition to its input. */
export interface Call {
  readonly operation: Operation;
  readonly caller: Caller;
  /** Roles that the request names; undefined if it names none, so that the default ones are active. */
  readonly named: readonly string[] | undefined;
  /** The account that the path names. */
  readonly account: AccountRow;
  readonly store: Store;
  readonly requestId: string;
  readonly method: string;
  /** The path as sent, percent-encoded. */
  readonly path: string;
  readonly connection: Connection;
  /** All headers of the request, for the few that no operation declares as a field (`origin`, the length of an optional body). */
  readonly headers: Headers;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** API version that the request chose: one of `apiVersions`; empty for storage. */
  readonly version: string;
  /** Name of the datacenter. */
  readonly datacenter: string;
  /** Compute: finds an image of this datacenter. */
  readonly findImage: FindImage;
  readonly settings: ServiceSettings;
  /** Storage: the entry at the path when the request began, if it was looked up together with the caller. */
  readonly ahead?: FoundAhead | undefined;
  /** True for the account itself, and for a caller whose role `administrator` is active. */
  readonly isAdministrator: () => Promise<boolean>;
  /**
   * Requires that the caller is also allowed to perform another operation, at another path of the same account: the object that a multipart
   * upload creates, or what a link or a job reads. Throws the error that the other operation itself would throw.
   * @param inputs inputs of the other operation's path
   */
  readonly requireAccess: (operation: Operation, inputs: Readonly<Record<string, string>>) => Promise<void>;
}

/** A result with its own status or headers. */
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

/** Performs one operation. Errors for the client are thrown as `ApiError`. */
export type Handler<O> = (input: InputOf<O>, call: Call) => Promise<ResultOf<O> | Answer<ResultOf<O>>>;

/** A handler for every operation of a table; a missing one is a compile error. */
export type Handlers<T extends Operations> = { readonly [K in keyof T]: Handler<T[K]> };
