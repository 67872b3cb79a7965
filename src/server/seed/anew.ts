import { join } from 'node:path';
import { listKeysOf, selectKeys } from '../access/accounts.ts';
import type { AccountRow } from '../store/schema.ts';
import { useStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { seedAccount } from './account.ts';
import type { LocalAccount } from './local-accounts.ts';
import { seedSamples } from './samples.ts';

/** The initial contents of a store. */
interface Beginning {
  readonly account: LocalAccount;
  readonly accounts: readonly LocalAccount[];
  /** True for a store without samples. */
  readonly empty: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Creates the state of a first start in an empty directory, with the accounts of the store `before`: the same logins and ids, and for each
 * account the key with which clients sign.
 */
export async function beginAnew(before: Store, folder: string, { account, accounts, empty, now }: Beginning): Promise<void> {
  await useStore(folder, async (store) => {
    const seed = async ({ account: login, accountId: id, keyId }: LocalAccount, created: number): Promise<AccountRow> => {
      const [key] = selectKeys(await listKeysOf(before.db, { id }, undefined), keyId);
      const keyFile = join(folder, 'keys', `${login}.pem`);
      return await seedAccount(store, { login, id, publicKey: key?.key, keyFile, now: created });
    };
    const first = await seed(account, now);
    // The oldest account is the default one.
    for (const other of accounts) if (other.accountId !== account.accountId) await seed(other, now + 1);
    if (!empty) await seedSamples(store, first, now);
  });
}
