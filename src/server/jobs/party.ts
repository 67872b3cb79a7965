import type { Kysely } from 'kysely';
import type { Operation } from '../../api/operation.ts';
import { activateRoles } from '../../policy/decide.ts';
import { assertEnabled } from '../access/account-status.ts';
import { authorise } from '../access/authorise.ts';
import { listMemberships } from '../access/caller-roles.ts';
import type { Call, Caller } from '../http/handler.ts';
import { showAddress } from '../http/request-log.ts';
import type { Place } from '../storage/paths.ts';
import type { JobAdderRow } from '../store/job-schema.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** The circumstances of a request that affect rights, apart from the identity of the caller. */
export interface Access {
  /** Roles that the request named. Jobs created by earlier releases have only these. */
  readonly named?: readonly string[] | undefined;
  /** Names of the roles of the job's account that were active for the request. */
  readonly roles?: readonly string[] | undefined;
  readonly sourceip: string;
  readonly userAgent?: string | undefined;
}

/** Somebody on whose behalf a job reads objects: its creator, or a caller who added an input. */
export interface Party {
  readonly caller: Caller;
  readonly access: Access;
}

/** A party as it is stored in the database. */
export type StoredParty = Omit<JobAdderRow, 'job' | 'number'>;

function isOwner(caller: Caller, account: AccountRow): boolean {
  return caller.kind === 'account' && caller.account.id === account.id;
}

/** The sender of a request about a job, with the roles that are active for the request. */
export async function readParty(call: Call): Promise<StoredParty> {
  const { store, account, caller, named, headers, connection } = call;
  if (caller.kind === 'anonymous') throw new Error('an anonymous request has no permissions that a job could use');
  const roles = isOwner(caller, account) ? [] : activateRoles(await listMemberships(store.db, account, caller), named).active;
  const access: Access = {
    named,
    roles: roles.map(({ name }) => name),
    sourceip: showAddress(connection),
    userAgent: headers['user-agent'],
  };
  return { account: caller.account.id, user: caller.kind === 'user' ? caller.user.id : null, access: JSON.stringify(access) };
}

/** Loads a stored party. If its account or user no longer exists, it becomes anonymous and has no rights. */
export async function loadParty(db: Kysely<Schema>, { account: accountId, user: userId, access }: StoredParty): Promise<Party> {
  const account = await db.selectFrom('accounts').selectAll().where('id', '=', accountId).executeTakeFirst();
  const user = userId === null ? undefined : await db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst();
  const caller = ((): Caller => {
    if (!account || (userId !== null && !user)) return { kind: 'anonymous' };
    return user ? { kind: 'user', account, user } : { kind: 'account', account };
  })();
  return { caller, access: JSON.parse(access) as Access };
}

/** @throws {ApiError} 403 `NotAuthorized` if the party's account was disabled after it was loaded: jobs run for a long time */
async function assertStillEnabled({ db }: Store, caller: Caller): Promise<void> {
  if (caller.kind === 'anonymous') return;
  const now = await db.selectFrom('accounts').select(['login', 'status']).where('id', '=', caller.account.id).executeTakeFirst();
  if (now) assertEnabled(now);
}

/** Those roles active for the request that the party still has; undefined if its default roles count. */
async function listRoles(store: Store, { caller, access }: Party, account: AccountRow): Promise<readonly string[] | undefined> {
  if (access.roles === undefined) return access.named;
  if (isOwner(caller, account)) return undefined;
  const held = new Set((await listMemberships(store.db, account, caller)).map(({ name }) => name));
  return access.roles.filter((name) => held.has(name));
}

/** Authorises one operation of a job, for one party. @throws {ApiError} the error of the operation itself */
export type Judge = (operation: Operation, account: AccountRow, place: Place) => Promise<void>;

/** @param job `account` owns the job: the roles of the request apply to no other account */
export function createJudge(store: Store, party: Party, job: { readonly account: AccountRow; readonly now: () => number }): Judge {
  const { account: owner, now } = job;
  const { caller, access } = party;
  const { sourceip, userAgent } = access;
  let ownRoles: Promise<readonly string[] | undefined> | undefined;
  let enabled: Promise<void> | undefined;
  return async (operation, account, place) => {
    await (enabled ??= assertStillEnabled(store, caller));
    ownRoles ??= listRoles(store, party, owner);
    const named = account.id === owner.id || access.roles === undefined ? await ownRoles : undefined;
    const context = { now: now(), method: operation.method, sourceip, userAgent, conditions: { fromjob: true } };
    const inputs = { account: place.login, path: place.parts.join('/') };
    await authorise({ store, caller, account, operation, path: place.path, inputs, named, context });
  };
}
