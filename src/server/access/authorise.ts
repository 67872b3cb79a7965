import type { Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { splitList } from '../../base/split-list.ts';
import { explainDecision } from '../../policy/explain.ts';
import { isExhausted } from '../../policy/budget.ts';
import { activateRoles, administratorRole, decide, type Decision, type DecisionInput, type DecisionResource } from '../../policy/decide.ts';
import { showCaller } from '../http/request-log.ts';
import { assertEnabled } from './account-status.ts';
import { isPresigned } from './authenticate.ts';
import { findRoleIds, findRoleNames, listMemberships, loadPolicies } from './caller-roles.ts';
import { findImage } from '../compute/image-shape.ts';
import { findResource, locateResource } from '../compute/resources.ts';
import { listTags } from '../compute/tags.ts';
import type { Call, Caller, Connection } from '../http/handler.ts';
import { fillPath } from '../http/match.ts';
import { findEntryTags } from '../storage/resources.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';

/** A caller's attempt to perform an operation on resources of an account, with the context that rules can test. */
export interface Attempt extends Pick<Call, 'store' | 'caller' | 'operation' | 'account' | 'path' | 'named'> {
  /** Inputs taken from the path. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly context: DecisionInput['context'];
  /** Compute: finds an image of the datacenter that serves the request; in the database if omitted. */
  readonly findImage?: Call['findImage'] | undefined;
  /** Limits on decisions; the defaults if omitted. */
  readonly settings?: ServiceSettings | undefined;
}

/**
 * The roles that a request wants to act under: `as-role` for the compute service; for the object storage the header `Role`, or `role` in
 * the query of a pre-signed URL, whose signature covers no header.
 */
export function readNamedRoles(service: ServiceName, query: URLSearchParams, request: Request): string[] | undefined {
  const inQuery = service === 'compute' ? query.getAll('as-role') : query.getAll('role');
  const text = service === 'compute' || isPresigned(request) ? inQuery.join(',') : (request.headers['role'] ?? '');
  const names = splitList(text);
  return names.length === 0 ? undefined : names;
}

/** True if everybody may read this path below an account. */
function isPublic(entryPath: string | undefined): boolean {
  return entryPath === 'public' || entryPath?.startsWith('public/') === true;
}

/** True if the operation reads something that everybody may read. */
export function readsPublic({ operation, inputs }: Pick<Attempt, 'operation' | 'inputs'>): boolean {
  return operation.service === 'storage' && operation.method === 'GET' && isPublic(inputs['path']);
}

/** The kind of the caller in relation to the account; undefined for callers that cannot be members of a role. */
function describeCaller({ caller, account }: Pick<Attempt, 'caller' | 'account'>): DecisionInput['caller'] | undefined {
  if (caller.kind === 'anonymous') return undefined;
  const isOwn = caller.account.id === account.id;
  if (caller.kind === 'user') return isOwn ? { kind: 'user', login: caller.user.login } : undefined;
  return { kind: isOwn ? 'account' : 'other-account', login: caller.account.login };
}

/** A GET of a missing member is decided by the tags of its collection; otherwise a missing member has no tags. */
async function describeComputeResource({
  store,
  operation,
  account,
  inputs,
  path: requested,
  findImage: find = findImage,
}: Attempt): Promise<DecisionResource> {
  if (operation.resource === 'none') return { path: requested, kind: 'none', tags: [] };
  const parts = locateResource(operation, inputs);
  const resource = await findResource(store.db, { account, findImage: find }, parts);
  const path = ['', account.login, ...parts].join('/');
  if (resource === undefined) return { path, kind: 'member', tags: [] };
  if (resource.key !== undefined) {
    const paths = parts.length < 2 ? [path] : (await resource.listPaths()).map((each) => `/${account.login}/${each}`);
    return { path, paths, kind: resource.kind, tags: await listTags(store.db, account, resource.key) };
  }
  if (operation.method !== 'GET') return { path, kind: 'member', tags: [] };
  return { path, kind: 'missing', tags: await listTags(store.db, account, resource.collection) };
}

async function describeEntry({ store, operation, account, inputs }: Attempt): Promise<DecisionResource> {
  const path = fillPath(operation, inputs).join('/');
  const ids = await findEntryTags(store.db, operation, account, path);
  return { path: `/${account.login}/${path}`, kind: 'member', tags: await findRoleNames(store.db, account, ids) };
}

/**
 * Storage: a sub-user or another account may only name its own roles; the account itself may name any role that exists. All other names get
 * the same response, so that nobody learns which roles exist.
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
    : `${showCaller(caller)} is not a member of a role of ${account.login} named`;
  throw new ApiError(409, 'InvalidRole', `${problem} "${wrong}"`);
}

interface Judgement {
  readonly decision: Decision;
  /** True if an active role is among the tags of the resource. */
  readonly isTagged: boolean;
}

/** Decides by the same function as `policies simulate`; undefined for callers that the policy language does not cover. */
async function judge(attempt: Attempt): Promise<Judgement | undefined> {
  const { store, account, caller, operation, named, context, settings = {} } = attempt;
  const { action, service } = operation;
  const described = describeCaller(attempt);
  if (described === undefined || caller.kind === 'anonymous') {
    // Only for its error: a missing entry is a 404 even for callers without permission.
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
  // Tags are irrelevant to another account that has no role here.
  const isStranger = described.kind === 'other-account' && memberships.length === 0;
  return { decision, isTagged: isStranger || active.some(({ name }) => resource.tags.includes(name)) };
}

/** True if a caller may do everything in the account: the account itself, or a caller whose administrator role is active. */
export async function isAdministrator(attempt: Attempt): Promise<boolean> {
  const { store, account, caller, named } = attempt;
  const described = describeCaller(attempt);
  if (described === undefined || described.kind === 'account') return described !== undefined;
  const { active } = activateRoles(await listMemberships(store.db, account, caller), named);
  return active.some(({ name }) => name === administratorRole);
}

/** The error for a request whose rules take too much work to evaluate: the result is unknown, so the request is denied. */
function createDecisionError(
  { operation, settings = {} }: Attempt,
  caller: Signer,
  limit: 'decisionSteps' | 'decisionBytes',
): LimitReached {
  const most = `${limitOf(settings, limit)} ${limit === 'decisionSteps' ? 'steps' : 'bytes of rules'}`;
  const message = `${showCaller(caller)} is not allowed to ${operation.action}: evaluating the rules of its roles takes more than ${most}`;
  return new LimitReached(403, operation.service === 'compute' ? 'NotAuthorized' : 'AuthorizationFailed', message, limit);
}

/** A caller authenticated by a signature. */
type Signer = Exclude<Caller, { kind: 'anonymous' }>;

/** The error for a request without a signature: the same whether the resource exists or not, and whether the account exists or not. */
export function createAnonymousError(path: string): ApiError {
  return new ApiError(
    403,
    'AuthorizationFailed',
    `an anonymous request is not allowed to access ${path}: without a signature, only public objects can be read`,
  );
}

/** A missing role tag takes precedence over a missing rule, as in deployed services. */
function createAuthorizationError({ caller, operation, path }: Attempt, judgement: Judgement | undefined): ApiError {
  const hint = judgement && explainDecision(judgement.decision).slice(1).join(' ');
  if (caller.kind === 'anonymous') return createAnonymousError(path);
  if (operation.service === 'compute') {
    return new ApiError(403, 'NotAuthorized', `You do not have permission to access ${path} (${operation.action})`, { hint });
  }
  const code = (judgement?.isTagged ?? true) ? 'AuthorizationFailed' : 'NoMatchingRoleTag';
  return new ApiError(403, code, `${showCaller(caller)} is not allowed to access ${path} (${operation.action})`, { hint });
}

/**
 * The only place that decides, for both services, whether a caller may do what a request asks for. What nothing allows is denied.
 * @throws {ApiError} 403 `NotAuthorized` (compute), `NoMatchingRoleTag` or `AuthorizationFailed` (storage); 404 if the resource does not
 * exist; 403 `NotAuthorized` (both) if either account is disabled.
 */
export async function authorise(attempt: Attempt): Promise<void> {
  if (attempt.caller.kind !== 'anonymous') assertEnabled(attempt.caller.account);
  assertEnabled(attempt.account);
  await assertRolesNamed(attempt);
  if (readsPublic(attempt)) return;
  const judgement = await judge(attempt);
  if (judgement?.decision.allowed !== true) throw createAuthorizationError(attempt, judgement);
}

/**
 * Rejects storage requests without TLS. The one exception is GET by signed URL (specification, sections 1 and 5).
 * @throws {ApiError} 403 `SecureTransportRequired`.
 */
export function requireSecure(connection: Connection, method: string, presigned: boolean): void {
  if (connection.secure || (method === 'GET' && presigned)) return;
  throw new ApiError(403, 'SecureTransportRequired', 'this request needs HTTPS; plain HTTP serves GET by signed URL only');
}
