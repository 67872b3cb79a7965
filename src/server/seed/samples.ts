import type { Seeded } from '../../api/control.ts';
import { UsageError } from '../../base/errors.ts';
import { findAccount } from '../access/accounts.ts';
import { seedCloud, seedDirectories } from './cloud.ts';
import { seedMachines } from './machines.ts';
import { countRows } from '../store/count-rows.ts';
import type { AccountRow } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Adds missing samples to a store; existing data stays unchanged. */
export async function seedSamples(store: Store, account: AccountRow, now: number): Promise<void> {
  await store.write(async (transaction) => {
    await seedCloud(transaction);
    await seedDirectories(transaction, account.login, now);
    await seedMachines(transaction, account, now);
  });
}

async function countSamples({ db }: Store): Promise<Seeded> {
  return {
    images: await countRows(db.selectFrom('images')),
    packages: await countRows(db.selectFrom('packages')),
    instances: await countRows(db.selectFrom('machines')),
  };
}

/**
 * Adds missing samples to a store.
 * @param login account that gets instances, limits and directories; the oldest account if absent
 * @throws {UsageError} when there is no such account
 */
export async function seedStore(store: Store, login: string | undefined, now: number): Promise<Seeded> {
  const oldest = await store.db.selectFrom('accounts').selectAll().orderBy('created').orderBy('login').executeTakeFirst();
  const account = login === undefined ? oldest : await findAccount(store.db, 'storage', login);
  if (!account) throw new UsageError(`there is no account ${login ?? ''} in this data`, { hint: 'cloud local start' });
  const before = await countSamples(store);
  await seedSamples(store, account, now);
  const after = await countSamples(store);
  return {
    images: after.images - before.images,
    packages: after.packages - before.packages,
    instances: after.instances - before.instances,
  };
}
