import { setTimeout as sleep } from 'node:timers/promises';
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { InterruptedError, UsageError } from '../../base/errors.ts';
import { withDatabase } from '../cluster-accounts.ts';
import { removeRowsOf } from '../jobs/old-jobs.ts';
import { releaseContents } from '../storage/garbage.ts';
import { countInParents } from '../storage/entries.ts';
import { countRows } from '../store/count-rows.ts';
import { dropCounts } from '../store/counts.ts';
import type { AccountRow, EntryRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { requireLogin } from './account-state.ts';
import { noteOperator } from './note-operator.ts';

/**
 * Removes an account with everything that belongs to it, a few rows at a time: no transaction makes others wait for long, and after a kill
 * the next run resumes. Contents are left to the collector: only gateways know which of them are being read.
 */

/** Rows per transaction. */
const batchSize = 500;

/** Milliseconds to wait for the jobs of the account to end, and between two checks. */
const timeoutMs = 30_000;
const pause = 200;

type Db = Pick<Store, 'db' | 'write'>;
type Account = Pick<AccountRow, 'id' | 'login'>;
/** Removes some rows. @returns how many; 0 if all are gone */
type Remove = (transaction: Transaction<Schema>, account: Account) => Promise<number>;

/** What this run removed. */
export interface Removal {
  readonly login: string;
  readonly entries: number;
  readonly jobs: number;
}

const removeJobRows: Remove = async (transaction, { id }) => {
  const job = await transaction.selectFrom('jobs').select('id').where('account', '=', id).limit(1).executeTakeFirst();
  return job ? removeRowsOf(transaction, [job.id]) : 0;
};

/** Removes entries, deepest first: the remaining entries always form a tree. */
async function removeSome(transaction: Transaction<Schema>, where: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<Pick<EntryRow, 'parent' | 'name' | 'type' | 'content'>>`
    delete from entries where (parent, name) in
    (select parent, name from entries where ${where} order by parent desc, name desc limit ${batchSize})
    returning parent, name, type, content`.execute(transaction);
  await countInParents(transaction, rows, -1);
  const directories = rows.filter(({ type }) => type === 'directory');
  await dropCounts(transaction, directories);
  await releaseContents(transaction, rows);
  return rows.length;
}

// Each is a range of the primary key.
const removeDeepEntries: Remove = (transaction, { login }) =>
  removeSome(transaction, sql`parent >= ${`/${login}/`} and parent < ${`/${login}0`}`);
const removeTopEntries: Remove = (transaction, { login }) => removeSome(transaction, sql`parent = ${`/${login}`}`);
const removeRootEntry: Remove = (transaction, { login }) => removeSome(transaction, sql`parent = '' and name = ${`/${login}`}`);

/** Removes rows of a table, with which nothing else has to be removed. @param key primary key of the table */
function removeFrom(table: 'uploads' | 'roles' | 'policies' | 'changes', key: 'id' | 'sequence' = 'id'): Remove {
  return async (transaction, { id }) => {
    const { numAffectedRows = 0n } = await sql`
      delete from ${sql.table(table)} where ${sql.ref(key)} in
      (select ${sql.ref(key)} from ${sql.table(table)} where account = ${id} limit ${batchSize})`.execute(transaction);
    return Number(numAffectedRows);
  };
}

const removeImages: Remove = async (transaction, { id }) => {
  const some = transaction.selectFrom('images').select('id').where('owner', '=', id).limit(batchSize);
  const rows = await transaction.deleteFrom('images').where('id', 'in', some).returning('content').execute();
  await releaseContents(transaction, rows);
  return rows.length;
};

/** Removes users with their keys and their memberships in roles of any account. */
const removeUsers: Remove = async (transaction, { id }) => {
  const some = await transaction.selectFrom('users').select('id').where('account', '=', id).limit(batchSize).execute();
  if (some.length === 0) return 0;
  const ids = some.map((user) => user.id);
  await transaction.deleteFrom('role_members').where('member', 'in', ids).execute();
  return countDeleted(transaction.deleteFrom('users').where('id', 'in', ids));
};

/** Removes memberships in roles of other accounts, then the account itself: keys, limits and instances are deleted by cascade. */
const removeRow: Remove = async (transaction, { id }) => {
  await transaction.deleteFrom('role_members').where('member', '=', id).execute();
  return countDeleted(transaction.deleteFrom('accounts').where('id', '=', id));
};

async function countDeleted(query: { executeTakeFirst(): Promise<{ numDeletedRows: bigint }> }): Promise<number> {
  return Number((await query.executeTakeFirst()).numDeletedRows);
}

async function requireDisabled(db: Kysely<Schema>, login: string): Promise<AccountRow> {
  const account = await requireLogin(db, login);
  if (account.status !== 'enabled') return account;
  throw new UsageError(`account ${login} is enabled: only a disabled account can be deleted`, {
    hint: `cloud server accounts disable ${login}`,
  });
}

/** The state of an account that can be removed. @throws {NotFoundError} {UsageError} when it is enabled */
export function checkRemoval(database: string, login: string): Promise<{ state: AccountRow['status'] }> {
  return withDatabase(database, async ({ db }) => ({ state: (await requireDisabled(db, login)).status }));
}

/** Marks an account for deletion, which cannot be undone. */
function begin(store: Db, login: string): Promise<AccountRow> {
  return store.write(async (transaction) => {
    const account = await requireDisabled(transaction, login);
    if (account.status === 'deleting') return account;
    await transaction.updateTable('accounts').set({ status: 'deleting' }).where('id', '=', account.id).execute();
    await noteOperator(transaction, login, 'deleteAccount');
    return account;
  });
}

/** Waits until gateways have ended the account's jobs, which store files while they end. Returns if no gateway runs. */
async function awaitJobs({ db }: Db, { id }: Account, signal: AbortSignal): Promise<void> {
  const query = db.selectFrom('jobs').select('id').where('account', '=', id).where('state', '=', 'running').limit(1);
  const isServed = db
    .selectFrom('gateways' as never)
    .select(sql<number>`1`.as('one'))
    .where(sql<boolean>`until > clock_timestamp()`);
  const end = performance.now() + timeoutMs;
  while (performance.now() < end && (await query.execute()).length > 0 && (await isServed.execute()).length > 0) {
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    checkStopped(signal);
  }
}

function checkStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new InterruptedError('interrupted: to continue, repeat the command');
}

/**
 * Removes a disabled account and everything that belongs to it; resumes where an earlier run was interrupted.
 * @param signal stops the removal between two transactions
 * @throws {NotFoundError} {UsageError} when the account is enabled; {InterruptedError}
 */
export function removeAccount(database: string, login: string, signal: AbortSignal): Promise<Removal> {
  return withDatabase(database, async (store) => {
    const account = await begin(store, login);
    await awaitJobs(store, account, signal);
    const removeAll = async (remove: Remove): Promise<number> => {
      for (let total = 0; ;) {
        checkStopped(signal);
        const removed = await store.write((transaction) => remove(transaction, account));
        if (removed === 0) return total;
        total += removed;
      }
    };
    const jobs = await countRows(store.db.selectFrom('jobs').where('account', '=', account.id));
    await removeAll(removeJobRows);
    let entries = 0;
    for (const remove of [removeDeepEntries, removeTopEntries, removeRootEntry]) entries += await removeAll(remove);
    for (const remove of [
      removeFrom('uploads'),
      removeImages,
      removeUsers,
      removeFrom('roles'),
      removeFrom('policies'),
      removeFrom('changes', 'sequence'),
      removeRow,
    ])
      await removeAll(remove);
    return { login, entries, jobs };
  });
}
