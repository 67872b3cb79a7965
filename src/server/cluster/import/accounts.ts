import { sql, type Kysely, type Transaction } from 'kysely';
import { sliceList } from '../../../base/batches.ts';
import { ApiError, LocalError, UsageError } from '../../../base/errors.ts';
import { countRows } from '../../store/count-rows.ts';
import type { AccountRow, Schema } from '../../store/schema.ts';
import { skip } from '../../store/skip.ts';
import type { Store } from '../../store/store.ts';
import { noteOperator } from '../note-operator.ts';

/** Imports accounts with everything that belongs to them except images and the object storage. */

/** Rows per statement. */
const batchSize = 500;

/** Tables that are copied unchanged, each after the tables it refers to, with the column that orders their rows. */
const tables = [
  ['networks', 'id'],
  ['packages', 'id'],
  ['users', 'id'],
  ['keys', 'sequence'],
  ['policies', 'id'],
  ['roles', 'id'],
  ['role_policies', 'role'],
  ['role_members', 'role'],
  ['role_tags', 'resource'],
  ['limits', 'account'],
  ['machines', 'id'],
] as const satisfies readonly (readonly [keyof Schema, string])[];

/** Tables whose rows may already exist: they belong to the cloud, and have the same ids everywhere. */
const shared = new Set<string>(['networks', 'packages']);

type Row = Readonly<Record<string, unknown>>;

async function readRows(db: Kysely<Schema>, table: keyof Schema, order: string): Promise<Row[]> {
  return (await sql<Row>`select * from ${sql.table(table)} order by ${sql.ref(order)}`.execute(db)).rows;
}

async function copyTable(from: Kysely<Schema>, to: Transaction<Schema>, table: (typeof tables)[number][0], order: string): Promise<void> {
  const rows = (await readRows(from, table, order)).map(({ sequence: _sequence, ...row }) => row);
  for (const batch of sliceList(rows, batchSize)) {
    const insert = to.insertInto(table as 'networks').values(batch as never[]);
    await (shared.has(table) ? insert.onConflict(skip) : insert).execute();
  }
}

/** The accounts of a data directory. @throws {UsageError} when there are none */
export async function listAccounts(db: Kysely<Schema>): Promise<AccountRow[]> {
  const accounts = await db.selectFrom('accounts').selectAll().orderBy('login').execute();
  if (accounts.length === 0) throw new UsageError('the data directory has no account');
  return accounts;
}

/** @throws {UsageError} when accounts have the same logins or ids, unless an earlier import of the same data created them */
function assertOwn(accounts: readonly AccountRow[], there: readonly AccountRow[]): void {
  const isOwn = ({ id, login, status }: AccountRow): boolean =>
    status === 'importing' && accounts.some((account) => account.id === id && account.login === login);
  const others = there.filter((account) => !isOwn(account)).map(({ login }) => login);
  if (others.length > 0) {
    throw new UsageError(`there ${others.length === 1 ? 'is an account' : 'are accounts'} ${others.join(', ')} already`, {
      hint: 'accounts of the same login or id cannot be imported: another database, or cloud server accounts delete',
    });
  }
  if (there.length === 0 || there.length === accounts.length) return;
  const begun = there.map(({ login }) => login).join(', ');
  throw new UsageError(`the import of ${begun} was begun when the data directory had no other accounts`, {
    hint: `cloud server accounts delete ${there[0]?.login ?? ''}, and import again`,
  });
}

function explain(error: unknown): unknown {
  if (!(error instanceof ApiError) || !error.message.includes('NUL')) return error;
  return new LocalError('a text of an account has a NUL character, which PostgreSQL cannot store', {
    hint: 'change it in the local service first: cloud account get, cloud users list, cloud policies list',
    cause: error,
  });
}

/**
 * Creates the accounts of a data directory, which nobody can use until the import is complete, or finds those that an earlier run created.
 * @returns true if an earlier run created them
 * @throws {UsageError} when other accounts have the same login or id
 */
export async function beginAccounts(from: Store, to: Store, accounts: readonly AccountRow[]): Promise<boolean> {
  const [ids, logins] = [accounts.map(({ id }) => id), accounts.map(({ login }) => login)];
  try {
    return await to.write(async (transaction) => {
      const there = await transaction
        .selectFrom('accounts')
        .selectAll()
        .where((where) => where.or([where('id', 'in', ids), where('login', 'in', logins)]))
        .orderBy('login')
        .execute();
      assertOwn(accounts, there);
      if (there.length > 0) return true;
      for (const account of accounts)
        await transaction
          .insertInto('accounts')
          .values({ ...account, status: 'importing' })
          .execute();
      for (const [table, order] of tables) await copyTable(from.db, transaction, table, order);
      return false;
    });
  } catch (error) {
    throw explain(error);
  }
}

/** Makes imported accounts usable. */
export async function enableAccounts(to: Store, accounts: readonly AccountRow[]): Promise<void> {
  await to.write(async (transaction) => {
    for (const { id, login, status } of accounts) {
      await transaction.updateTable('accounts').set({ status }).where('id', '=', id).where('status', '=', 'importing').execute();
      await noteOperator(transaction, login, 'importAccount');
    }
  });
}

/** Tables of accounts that are verified by their number of rows. */
const counted = ['users', 'keys', 'policies', 'roles', 'role_tags'] as const;

/** Number of rows of accounts in each table. */
export type AccountCounts = Readonly<Record<(typeof counted)[number], number>>;

export async function countParts(db: Kysely<Schema>, accounts: readonly AccountRow[]): Promise<AccountCounts> {
  const ids = accounts.map(({ id }) => id);
  const counts: Partial<Record<keyof AccountCounts, number>> = {};
  for (const table of counted) counts[table] = await countRows(db.selectFrom(table).where('account', 'in', ids));
  return counts as AccountCounts;
}
