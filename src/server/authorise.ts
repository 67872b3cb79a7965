import type { Operation } from '../api/operation.ts';
import { ApiError } from '../errors.ts';
import type { Caller, Connection } from './handler.ts';
import type { AccountRow } from './store/schema.ts';

/** Who wants to do what to which account's resources. */
export interface Attempt {
  readonly caller: Caller;
  readonly operation: Operation;
  /** The account that the path names. */
  readonly account: AccountRow;
  /** Path as sent. */
  readonly path: string;
  /** Storage: the path below the account. */
  readonly entryPath: string | undefined;
  /** Storage: false when the service looked and found nothing there. */
  readonly exists: boolean;
}

/** Whether a path below an account is open to everybody for reading. */
export function isPublic(entryPath: string | undefined): boolean {
  return entryPath === 'public' || entryPath?.startsWith('public/') === true;
}

function readsPublic({ operation, entryPath }: Attempt): boolean {
  return operation.service === 'storage' && operation.method === 'GET' && isPublic(entryPath);
}

function isAllowed(attempt: Attempt): boolean {
  const { caller, account } = attempt;
  if (readsPublic(attempt)) return true;
  // A sub-user is denied until roles and policies exist: the decision of src/policy comes here.
  return caller.kind === 'account' && caller.account.id === account.id;
}

function nameCaller(caller: Caller): string {
  if (caller.kind === 'anonymous') return 'an anonymous request';
  return caller.kind === 'account' ? caller.account.login : `${caller.account.login}/${caller.user.login}`;
}

function refuse({ caller, operation, path, exists }: Attempt): ApiError {
  if (operation.service === 'compute') {
    return new ApiError(403, 'NotAuthorized', `You do not have permission to access ${path} (${operation.action})`);
  }
  if (!exists && caller.kind !== 'anonymous') return new ApiError(404, 'ResourceNotFound', `${path} does not exist`);
  return new ApiError(403, 'AuthorizationFailed', `${nameCaller(caller)} is not allowed to access ${path} (${operation.action})`);
}

/**
 * The one place that decides, for both services, whether a caller may do what the request asks.
 * @throws {ApiError} 403 `NotAuthorized` (compute), `AuthorizationFailed` (storage; 404 where nothing is).
 */
export function authorise(attempt: Attempt): void {
  if (!isAllowed(attempt)) throw refuse(attempt);
}

/**
 * Refuses storage requests that TLS does not protect: without it only reading by signed URL or under `public` is allowed.
 * @throws {ApiError} 403 `SecureTransportRequired`.
 */
export function requireSecure(connection: Connection, method: string, presigned: boolean, entryPath: string | undefined): void {
  const reads = method === 'GET' || method === 'HEAD';
  if (connection.secure || (reads && (presigned || isPublic(entryPath)))) return;
  throw new ApiError(
    403,
    'SecureTransportRequired',
    'this request needs HTTPS; plain HTTP serves reading by signed URL and under /:login/public only',
  );
}
