import type { Request } from '../../api/message.ts';
import type { Operation, ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { explainDecision } from '../../policy/explain.ts';
import { isExhausted } from '../../policy/budget.ts';
import { activateRoles, administratorRole, decide, type Decision, type DecisionInput, type DecisionResource } from '../../policy/decide.ts';
import { showCaller } from '../http/request-log.ts';
import { assertEnabled } from './account-status.ts';
import { isPresigned } from './authenticate.ts';
import { findRoleIds, findRoleNames, listMemberships, loadPolicies, splitNames } from './caller-roles.ts';
import { findResource, locateResource } from '../compute/resources.ts';
import { listTags } from '../compute/tags.ts';
import type { Caller, Connection } from '../http/handler.ts';
import { findEntryTags, locateEntry } from '../storage/resources.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import type { AccountRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

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
  /** Limits of decisions; the defaults when left out. */
  readonly settings?: ServiceSettings | undefined;
}

/**
 * Roles that a request wants to act under: `as-role` of the compute service; of the object storage the header `Role`, or `role` in the query
 * of a pre-signed URL, whose signature covers no header.
 */
export function readNamedRoles(service: ServiceName, query: URLSearchParams, request: Request): string[] | undefined {
  const inQuery = service === 'compute' ? query.getAll('as-role') : query.getAll('role');
  const text = service === 'compute' || isPresigned(request) ? inQuery.join(',') : (request.headers['role'] ?? '');
  const names = splitNames(text);
  return names.length === 0 ? undefined : names;
}

/** Whether a path below an account is open to everybody for reading. */
export function isPublic(entryPath: string | undefined): boolean {
  return entryPath === 'public' || entryPath?.startsWith('public/') === true;
}

/** Whether an operation reads what is open to everybody. */
export function readsPublic({ operation, inputs }: Pick<Attempt, 'operation' | 'inputs'>): boolean {
  return operation.service === 'storage' && operation.method === 'GET' && isPublic(inputs['path']);
}

/** What kind of caller this is to the account; undefined for those that no role can have as a member. */
function describeCaller({ caller, account }: Pick<Attempt, 'caller' | 'account'>): DecisionInput['caller'] | undefined {
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

/**
 * Storage: a role that is named must be the caller's own; the account itself may name any that exists. One answer for others, so that nobody
 * learns which roles there are.
 * @throws {ApiError} 409 `InvalidRole`.
 */
async function assertRolesNamed({ store, operation, account, caller, named }: Attempt): Promise<void> {
  if (operation.service !== 'storage' || named === undefined || caller.kind === 'anonymous') return;
  const names = named.filter((name) => name !== '*');
  const isAccount = caller.kind === 'account' && caller.account.id === account.id;
  const own = isAccount ? [] : (await listMemberships(store.db, account, caller)).map(({ name }) => name);
  const wrong = isAccount ? (await findRoleIds(store.db, account, names)).unknown : names.find((name) => !own.includes(name));
  if (wrong === undefined) return;
  const problem = isAccount
    ? `the account ${account.login} has no role`
    : `${showCaller(caller)} is no member of a role of ${account.login} named`;
  throw new ApiError(409, 'InvalidRole', `${problem} "${wrong}"`);
}

interface Judgement {
  readonly decision: Decision;
  /** Whether an active role is among the tags of the resource. */
  readonly isTagged: boolean;
}

/** The decision, as `policies simulate` makes it from the same function; undefined for callers that it is not about. */
async function judge(attempt: Attempt): Promise<Judgement | undefined> {
  const { store, account, caller, operation, named, context, settings = {} } = attempt;
  const { action, service } = operation;
  const described = describeCaller(attempt);
  if (described === undefined || caller.kind === 'anonymous') {
    if (caller.kind !== 'anonymous' && service === 'storage') await describeEntry(attempt);
    return undefined;
  }
  if (described.kind === 'account') {
    const whole: DecisionResource = { path: attempt.path, kind: 'account', tags: [] };
    return { decision: decide({ caller: described, roles: [], resource: whole, action, context }), isTagged: true };
  }
  const resource = service === 'compute' ? await describeComputeResource(attempt) : await describeEntry(attempt);
  const memberships = await listMemberships(store.db, account, caller);
  const { active } = activateRoles(memberships, named);
  const roles = await loadPolicies(store.db, active, limitOf(settings, 'decisionBytes'));
  if (roles === undefined) throw createDecisionError(attempt, caller, 'decisionBytes');
  const budget = { left: limitOf(settings, 'decisionSteps') };
  const decision = decide({ caller: described, roles, named, resource, action, context, budget });
  if (isExhausted(budget)) throw createDecisionError(attempt, caller, 'decisionSteps');
  // Another account without any role here has nothing to do with tags.
  const isStranger = described.kind === 'other-account' && memberships.length === 0;
  return { decision, isTagged: isStranger || active.some(({ name }) => resource.tags.includes(name)) };
}

/** Whether a caller may do everything in the account: as the account itself, or by the role for that, where it is active. */
export async function isAdministrator(attempt: Omit<Attempt, 'operation' | 'inputs'>): Promise<boolean> {
  const { store, account, caller, named } = attempt;
  const described = describeCaller(attempt);
  if (described === undefined || described.kind === 'account') return described !== undefined;
  const { active } = activateRoles(await listMemberships(store.db, account, caller), named);
  return active.some(({ name }) => name === administratorRole);
}

/** The refusal of a request whose rules take too much work: what they would say is not known, so it is not allowed. */
function createDecisionError(
  { operation, settings = {} }: Attempt,
  caller: Signer,
  limit: 'decisionSteps' | 'decisionBytes',
): LimitReached {
  const most = `${limitOf(settings, limit)} ${limit === 'decisionSteps' ? 'steps' : 'bytes of rules'}`;
  const message = `${showCaller(caller)} is not allowed to ${operation.action}: deciding by the rules of its roles takes more than ${most}`;
  return new LimitReached(403, operation.service === 'compute' ? 'NotAuthorized' : 'AuthorizationFailed', message, limit);
}

/** Whoever a signature proves. */
type Signer = Exclude<Caller, { kind: 'anonymous' }>;

/** The refusal of a request without a signature: the same for what is there, what is not, and accounts that are none. */
export function createAnonymousError(path: string): ApiError {
  return new ApiError(
    403,
    'AuthorizationFailed',
    `an anonymous request is not allowed to access ${path}: only what is public is read without a signature`,
  );
}

/** Tags are named before rules, as deployed services do. */
function refuse({ caller, operation, path }: Attempt, judgement: Judgement | undefined): ApiError {
  const hint = judgement && explainDecision(judgement.decision).slice(1).join(' ');
  if (caller.kind === 'anonymous') return createAnonymousError(path);
  if (operation.service === 'compute') {
    return new ApiError(403, 'NotAuthorized', `You do not have permission to access ${path} (${operation.action})`, { hint });
  }
  const code = (judgement?.isTagged ?? true) ? 'AuthorizationFailed' : 'NoMatchingRoleTag';
  return new ApiError(403, code, `${showCaller(caller)} is not allowed to access ${path} (${operation.action})`, { hint });
}

/**
 * The one place that decides, for both services, whether a caller may do what the request asks; what nothing allows is denied.
 * @throws {ApiError} 403 `NotAuthorized` (compute), `NoMatchingRoleTag` or `AuthorizationFailed` (storage); 404 where nothing is; 403
 * `NotAuthorized` (both) when either account is disabled.
 */
export async function authorise(attempt: Attempt): Promise<void> {
  if (attempt.caller.kind !== 'anonymous') assertEnabled(attempt.caller.account);
  assertEnabled(attempt.account);
  await assertRolesNamed(attempt);
  if (readsPublic(attempt)) return;
  const judgement = await judge(attempt);
  if (judgement?.decision.allowed !== true) throw refuse(attempt, judgement);
}

/**
 * Refuses storage requests that TLS does not protect: the one exception is GET by signed URL (specification, sections 1 and 5).
 * @throws {ApiError} 403 `SecureTransportRequired`.
 */
export function requireSecure(connection: Connection, method: string, presigned: boolean): void {
  if (connection.secure || (method === 'GET' && presigned)) return;
  throw new ApiError(403, 'SecureTransportRequired', 'this request needs HTTPS; plain HTTP serves GET by signed URL only');
}
