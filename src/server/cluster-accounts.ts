import { UsageError } from '../base/errors.ts';
import { findAccount } from './access/accounts.ts';
import { seedAccount } from './seed/account.ts';
import { noteOperator } from './cluster/note-operator.ts';
import type { AccountRow } from './store/schema.ts';
import { assertMigrated, migratePostgres } from './store/postgres/migrate.ts';
import { usePostgres } from './store/postgres/open.ts';
import { createWrites } from './store/postgres/write.ts';
import type { Store } from './store/store.ts';
import { listUsage } from './store/usage.ts';

/** Operator commands on the database of gateways, which may be running. */

/** An account as shown to operators. */
export interface ListedAccount {
  readonly id: string;
  readonly login: string;
  readonly email: string;
  /** `deleting` if its removal has begun. */
  readonly state: AccountRow['status'];
  /** Number of keys of the account itself, without those of sub-users. */
  readonly keys: number;
  /** ISO 8601. */
  readonly created: string;
  /** Usage of the object storage. */
  readonly bytes: number;
  readonly objects: number;
  /** Limits of the account; those of the gateways if absent. */
  readonly mostBytes?: number;
  readonly mostObjects?: number;
  /** Requests per second. */
  readonly mostRequests?: number;
}

/** Runs work on a migrated database. */
export function withDatabase<T>(database: string, work: (store: Pick<Store, 'db' | 'write'>) => Promise<T>): Promise<T> {
  return usePostgres(database, async (db) => {
    await assertMigrated(db);
    // No lease is needed: gateways know nothing of the row that is written.
    return work({ db, write: createWrites(db, undefined).write });
  });
}

/** Creates the tables of a database, or the missing ones. @returns the schema versions before and after */
export function migrateCluster(database: string, now: number): Promise<{ from: number; to: number }> {
  return usePostgres(database, (db) => migratePostgres(db, now));
}

/** Accounts by login; only one if a login is given. */
async function describeAccounts({ db }: Pick<Store, 'db'>, login?: string): Promise<ListedAccount[]> {
  let query = db
    .selectFrom('accounts')
    .select((of) => [
      'id',
      'login',
      'email',
      'status as state',
      'created',
      'most_bytes',
      'most_objects',
      'most_requests',
      of
        .selectFrom('keys')
        .select((keys) => keys.fn.countAll<number>().as('keys'))
        .whereRef('keys.account', '=', 'accounts.id')
        .where('keys.user', 'is', null)
        .as('keys'),
    ])
    .orderBy('login');
  if (login !== undefined) query = query.where('login', '=', login);
  const rows = await query.execute();
  const usage = await listUsage(db);
  return rows.map(({ most_bytes: mostBytes, most_objects: mostObjects, most_requests: mostRequests, ...row }) => ({
    ...row,
    keys: row.keys ?? 0,
    created: new Date(row.created).toISOString(),
    ...(usage.get(row.login) ?? { bytes: 0, objects: 0 }),
    ...(mostBytes != null && { mostBytes }),
    ...(mostObjects != null && { mostObjects }),
    ...(mostRequests != null && { mostRequests }),
  }));
}

/** An account that must exist, by login. */
export async function requireListed(store: Pick<Store, 'db'>, login: string): Promise<ListedAccount> {
  const [account] = await describeAccounts(store, login);
  if (account === undefined) throw new Error(`account ${login} was removed meanwhile`);
  return account;
}

/** All accounts, sorted by login. */
export function listAccounts(database: string): Promise<ListedAccount[]> {
  return withDatabase(database, (store) => describeAccounts(store));
}

/**
 * Creates an account with its first key and its directories.
 * @throws {UsageError} if the login is taken, or if the login or key is invalid
 */
export function createAccount(
  database: string,
  account: { readonly login: string; readonly email: string; readonly publicKey: string; readonly now: number },
): Promise<ListedAccount> {
  const { login } = account;
  return withDatabase(database, async (store) => {
    if (await findAccount(store.db, 'storage', login)) throw new UsageError(`there is an account ${login} already`);
    const seed = { ...account, keyFile: '' };
    await seedAccount(store, seed, (transaction, { fingerprint }) => noteOperator(transaction, login, 'createAccount', { fingerprint }));
    return requireListed(store, login);
  });
}
