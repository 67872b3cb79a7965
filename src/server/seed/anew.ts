import { join } from 'node:path';
import { listKeysOf, selectKeys } from '../access/accounts.ts';
import type { AccountRow } from '../store/schema.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { seedAccount } from './account.ts';
import type { LocalAccount } from './local-accounts.ts';
import { seedSamples } from './samples.ts';

/** What is there at the beginning. */
interface Beginning {
  readonly account: LocalAccount;
  readonly accounts: readonly LocalAccount[];
  /** Without samples. */
  readonly empty: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Puts what a first start makes into an empty directory, with the accounts of the store `before`: the same logins and ids, and of each
 * the key that clients sign with.
 */
export async function beginAnew(before: Store, folder: string, { account, accounts, empty, now }: Beginning): Promise<void> {
  const store = await openStore(folder);
  try {
    const seed = async ({ account: login, accountId: id, keyId }: LocalAccount, created: number): Promise<AccountRow> => {
      const [key] = selectKeys(await listKeysOf(before.db, { id }, undefined), keyId);
      const keyFile = join(folder, 'keys', `${login}.pem`);
      return await seedAccount(store, { login, id, publicKey: key?.key, keyFile, now: created });
    };
    const first = await seed(account, now);
    // The first one is the oldest.
    for (const other of accounts) if (other.accountId !== account.accountId) await seed(other, now + 1);
    if (!empty) await seedSamples(store, first, now);
  } finally {
    await store.close();
  }
}
