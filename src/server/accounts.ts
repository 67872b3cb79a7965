import type { Kysely, Selectable } from 'kysely';
import type { ServiceName } from '../api/operation.ts';
import { isUuid } from './match.ts';
import type { AccountRow, KeyRow, Schema, UserRow } from './store/schema.ts';

/** A registered key as the database has it. */
export type Key = Selectable<KeyRow>;

/** The account with this login; for the compute service also with this UUID. */
export async function findAccount(db: Kysely<Schema>, service: ServiceName, name: string): Promise<AccountRow | undefined> {
  const query = db.selectFrom('accounts').selectAll();
  const byLogin = await query.where('login', '=', name).executeTakeFirst();
  if (byLogin !== undefined || service === 'storage' || !isUuid(name)) return byLogin;
  return query.where('id', '=', name.toLowerCase()).executeTakeFirst();
}

/** The sub-user of an account with this login, in any case, or with this UUID. */
export function findUser(db: Kysely<Schema>, account: AccountRow, name: string): Promise<UserRow | undefined> {
  return db
    .selectFrom('users')
    .selectAll()
    .where('account', '=', account.id)
    .where((where) => where.or([where('login_key', '=', name.toLowerCase()), where('id', '=', name)]))
    .executeTakeFirst();
}

/** The keys of an account, or of one of its sub-users, in the order in which they were registered. */
export function listKeysOf(db: Kysely<Schema>, account: AccountRow, user: UserRow | undefined): Promise<Key[]> {
  return db
    .selectFrom('keys')
    .selectAll()
    .where('account', '=', account.id)
    .where('user', user === undefined ? 'is' : '=', user === undefined ? null : user.id)
    .orderBy('sequence')
    .execute();
}

/** Those of these keys that have this fingerprint, or this name where that is allowed; names may repeat. */
export function selectKeys(keys: readonly Key[], name: string): Key[] {
  const byFingerprint = keys.filter((key) => key.fingerprint === name.toLowerCase());
  return byFingerprint.length > 0 ? byFingerprint : keys.filter((key) => key.name === name);
}
