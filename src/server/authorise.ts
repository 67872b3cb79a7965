import type { Headers } from '../api/message.ts';
import type { Operation, ServiceName } from '../api/operation.ts';
import { ApiError } from '../errors.ts';
import { decide, type Decision, type DecisionInput, type DecisionResource } from '../policy/decide.ts';
import { findRoleIds, findRoleNames, listCallerRoles, splitNames } from './caller-roles.ts';
import { findResource, locateResource } from './compute/resources.ts';
import { listTags } from './compute/tags.ts';
import type { Caller, Connection } from './handler.ts';
import { findEntryTags, locateEntry } from './storage/resources.ts';
import type { AccountRow } from './store/schema.ts';
import type { Store } from './store/store.ts';

/** Who wants to do what to which account's resources, and what rules can ask about it. */
export interface Attempt {
  readonly store: Store;
  readonly caller: Caller;
  readonly operation: Operation;
  /** The account that the path names. */
  readonly account: AccountRow;
  /** Path as sent. */
  readonly path: string;
  /** Inputs of the path. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Roles that the request names; undefined when it names none. */
  readonly named: readonly string[] | undefined;
  readonly context: DecisionInput['context'];
}

/** Roles that a request wants to act under: `as-role` of the compute service, the header `Role` of the object storage. */
export function readNamedRoles(service: ServiceName, query: URLSearchParams, headers: Headers): string[] | undefined {
  const text = service === 'compute' ? query.getAll('as-role').join(',') : (headers['role'] ?? '');
  const names = splitNames(text);
  return names.length === 0 ? undefined : names;
}

/** Whether a path below an account is open to everybody for reading. */
export function isPublic(entryPath: string | undefined): boolean {
  return entryPath === 'public' || entryPath?.startsWith('public/') === true;
}

function readsPublic({ operation, inputs }: Attempt): boolean {
  return operation.service === 'storage' && operation.method === 'GET' && isPublic(inputs['path']);
}

/** What kind of caller this is to the account; undefined for those that no role can have as a member. */
function describeCaller({ caller, account }: Attempt): DecisionInput['caller'] | undefined {
  if (caller.kind === 'anonymous') return undefined;
  const isOwn = caller.account.id === account.id;
  if (caller.kind === 'user') return isOwn ? { kind: 'user', login: caller.user.login } : undefined;
  return { kind: isOwn ? 'account' : 'other-account', login: caller.account.login };
}

/** Below a collection that permits the action, it may be known that a member is missing; elsewhere it has no tags. */
async function describeComputeResource({ store, operation, account, inputs }: Attempt): Promise<DecisionResource> {
  const parts = locateResource(operation, inputs);
  const resource = await findResource(store.db, account, parts);
  const path = ['', account.login, ...parts].join('/');
  if (resource === undefined) return { path, kind: 'member', tags: [] };
  const key = resource.key ?? (operation.method === 'GET' ? resource.collection : undefined);
  return { path, kind: resource.kind, tags: key === undefined ? [] : await listTags(store.db, account, key) };
}

async function describeEntry({ store, operation, account, inputs }: Attempt): Promise<DecisionResource> {
  const path = locateEntry(operation, inputs);
  const ids = await findEntryTags(store.db, operation, account, path);
  return { path: `/${account.login}/${path}`, kind: 'member', tags: await findRoleNames(store.db, account, ids) };
}

/** Storage: a role that is named must be one of the account's, whoever names it. */
async function checkNamed({ store, operation, account, named }: Attempt): Promise<void> {
  if (operation.service !== 'storage' || named === undefined) return;
  const { unknown } = await findRoleIds(
    store.db,
    account,
    named.filter((name) => name !== '*'),
  );
  if (unknown !== undefined) throw new ApiError(409, 'InvalidRole', `the account ${account.login} has no role "${unknown}"`);
}

/** The decision, as `policies simulate` makes it from the same function; undefined for callers that it is not about. */
async function judge(attempt: Attempt): Promise<Decision | undefined> {
  const { store, account, caller, operation, named, context } = attempt;
  const { action, service } = operation;
  const described = describeCaller(attempt);
  if (described === undefined) {
    if (caller.kind !== 'anonymous' && service === 'storage') await describeEntry(attempt);
    return undefined;
  }
  if (described.kind === 'account') {
    return decide({ caller: described, roles: [], resource: { path: attempt.path, kind: 'account', tags: [] }, action, context });
  }
  const resource = service === 'compute' ? await describeComputeResource(attempt) : await describeEntry(attempt);
  const roles = await listCallerRoles(store.db, account, caller);
  return decide({ caller: described, roles, named, resource, action, context });
}

function nameCaller(caller: Caller): string {
  if (caller.kind === 'anonymous') return 'an anonymous request';
  return caller.kind === 'account' ? caller.account.login : `${caller.account.login}/${caller.user.login}`;
}

function refuse({ caller, operation, path }: Attempt, decision: Decision | undefined): ApiError {
  if (operation.service === 'compute') {
    return new ApiError(403, 'NotAuthorized', `You do not have permission to access ${path} (${operation.action})`);
  }
  const lacksTag = decision?.allowed === false && decision.reasons.some(({ missing }) => missing === 'no-tag');
  const code = lacksTag ? 'NoMatchingRoleTag' : 'AuthorizationFailed';
  return new ApiError(403, code, `${nameCaller(caller)} is not allowed to access ${path} (${operation.action})`);
}

/**
 * The one place that decides, for both services, whether a caller may do what the request asks; what nothing allows is denied.
 * @throws {ApiError} 403 `NotAuthorized` (compute), `NoMatchingRoleTag` or `AuthorizationFailed` (storage); 404 where nothing is.
 */
export async function authorise(attempt: Attempt): Promise<void> {
  if (attempt.caller.kind !== 'anonymous') await checkNamed(attempt);
  if (readsPublic(attempt)) return;
  const decision = await judge(attempt);
  if (decision?.allowed !== true) throw refuse(attempt, decision);
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
