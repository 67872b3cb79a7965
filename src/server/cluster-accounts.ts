import { UsageError } from '../base/errors.ts';
import { findAccount } from './access/accounts.ts';
import { seedAccount } from './seed/account.ts';
import { noteOperator } from './cluster/note-operator.ts';
import type { LocalStore } from './store/open.ts';
import type { AccountRow } from './store/schema.ts';
import { assertMigrated, migratePostgres } from './store/postgres/migrate.ts';
import { openPostgres } from './store/postgres/open.ts';
import { createWrites } from './store/postgres/write.ts';
import type { Store } from './store/store.ts';
import { listUsage } from './store/usage.ts';

/** Work of operators on the database of gateways, beside gateways that run. */

/** Nothing here is done by many at once. */
const connections = 1;

/** An account as operators see it. */
export interface ListedAccount {
  readonly id: string;
  readonly login: string;
  readonly email: string;
  /** `deleting` is one whose removal was begun. */
  readonly state: AccountRow['status'];
  /** Keys of the account itself. */
  readonly keys: number;
  /** ISO 8601. */
  readonly created: string;
  /** In the object storage. */
  readonly bytes: number;
  readonly objects: number;
  /** Its limits; those of the gateways where they are absent. */
  readonly mostBytes?: number;
  readonly mostObjects?: number;
  /** A second. */
  readonly mostRequests?: number;
}

/** Does work on a database that was migrated. */
export async function withDatabase<T>(database: string, work: (store: Pick<LocalStore, 'db' | 'write'>) => Promise<T>): Promise<T> {
  const db = await openPostgres(database, connections);
  try {
    await assertMigrated(db);
    // One row that a gateway knows nothing of: there is no lease to have.
    return await work({ db, write: createWrites(db, undefined).write });
  } finally {
    await db.destroy();
  }
}

/** Makes the tables of a database, or those that are missing. @returns the versions before and after */
export async function migrateCluster(database: string, now: number): Promise<{ from: number; to: number }> {
  const db = await openPostgres(database, connections);
  try {
    return await migratePostgres(db, now);
  } finally {
    await db.destroy();
  }
}

/** Accounts by login; that of one login when it is given. */
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

/** The account with a login, which is there. */
export async function requireListed(store: Pick<Store, 'db'>, login: string): Promise<ListedAccount> {
  const [account] = await describeAccounts(store, login);
  if (account === undefined) throw new Error(`account ${login} was removed meanwhile`);
  return account;
}

/** All accounts, by login. */
export function listAccounts(database: string): Promise<ListedAccount[]> {
  return withDatabase(database, (store) => describeAccounts(store));
}

/**
 * Makes an account with its first key and its directories.
 * @throws {UsageError} when the login is taken, or login or key cannot be used.
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
