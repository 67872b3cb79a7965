import type { Kysely } from 'kysely';
import { NotFoundError, UsageError } from '../../base/errors.ts';
import { type ListedAccount, requireListed, withDatabase } from '../cluster-accounts.ts';
import { cancelOfDisabled } from '../jobs/disabled-accounts.ts';
import type { AccountRow, Schema } from '../store/schema.ts';
import { noteOperator } from './note-operator.ts';

/** The result of enabling or disabling an account. */
export interface StateChange {
  readonly account: ListedAccount;
  /** False if the account already had this state. */
  readonly isChanged: boolean;
  /** Jobs that were cancelled. */
  readonly cancelled: number;
}

/** The account with a login. @throws {NotFoundError} */
export async function requireLogin(db: Kysely<Schema>, login: string): Promise<AccountRow> {
  const account = await db.selectFrom('accounts').selectAll().where('login', '=', login).executeTakeFirst();
  if (account) return account;
  throw new NotFoundError(`there is no account ${login}`, { hint: 'cloud server accounts list' });
}

/**
 * Disables or enables an account, which takes effect on every gateway with the next request. Disabling cancels its jobs and keeps its data.
 * @throws {NotFoundError} {UsageError} when its removal has begun.
 */
export function setAccountState(database: string, login: string, status: 'enabled' | 'disabled'): Promise<StateChange> {
  return withDatabase(database, async (store) => {
    const change = await store.write(async (transaction) => {
      const account = await requireLogin(transaction, login);
      if (account.status === 'deleting') {
        throw new UsageError(`the deletion of account ${login} has begun and cannot be undone`, {
          hint: `to complete it: cloud server accounts delete ${login}`,
        });
      }
      if (account.status === 'importing') {
        throw new UsageError(`account ${login} is not complete: its import has not finished`, {
          hint: `to complete it: repeat cloud server import; to remove it: cloud server accounts delete ${login}`,
        });
      }
      if (account.status === status) return { isChanged: false, cancelled: 0 };
      await transaction.updateTable('accounts').set({ status }).where('id', '=', account.id).execute();
      await noteOperator(transaction, login, status === 'enabled' ? 'enableAccount' : 'disableAccount');
      return { isChanged: true, cancelled: status === 'disabled' ? await cancelOfDisabled(transaction) : 0 };
    });
    return { account: await requireListed(store, login), ...change };
  });
}

/** Limits of an account: null removes a limit, an absent field leaves it unchanged. */
export type AccountLimits = Readonly<Partial<Record<'most_bytes' | 'most_objects' | 'most_requests', number | null>>>;

/** Sets limits of an account, which take effect on every gateway with the next request. @throws {NotFoundError} */
export function setAccountLimits(database: string, login: string, limits: AccountLimits): Promise<ListedAccount> {
  return withDatabase(database, async (store) => {
    await store.write(async (transaction) => {
      const { id } = await requireLogin(transaction, login);
      if (Object.keys(limits).length === 0) return;
      await transaction.updateTable('accounts').set(limits).where('id', '=', id).execute();
      await noteOperator(transaction, login, 'limitAccount', limits);
    });
    return requireListed(store, login);
  });
}
