import type { Transaction } from 'kysely';
import type { Call } from '../http/handler.ts';
import { assertRoom } from '../limit.ts';
import type { ImageRow, Schema } from '../store/schema.ts';
import { assertListFits } from './list-limit.ts';

/** Adds an image of the account. @throws {LimitReached} if the account cannot own it beside its other images */
export async function insertImage(
  transaction: Transaction<Schema>,
  call: Pick<Call, 'account' | 'settings'>,
  row: ImageRow,
): Promise<void> {
  const own = transaction.selectFrom('images').select('id').where('owner', '=', call.account.id);
  await assertRoom(call.settings, 'images', own, { has: 'an account owns', counted: 'images' });
  await transaction.insertInto('images').values(row).execute();
  await assertListFits(transaction, call, 'images', row);
}
