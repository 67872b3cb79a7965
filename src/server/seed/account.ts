import { randomUUID } from 'node:crypto';
import type { Selectable, Transaction } from 'kysely';
import { makePlainKey } from '../../auth/make-key.ts';
import { InvalidKeyError, readPublicKey } from '../../auth/public-key.ts';
import { UsageError } from '../../base/errors.ts';
import { writePrivate } from '../../base/private-files.ts';
import { listKeysOf, selectKeys } from '../access/accounts.ts';
import { findWeakness } from '../access/key-strength.ts';
import { emptyContact } from '../compute/contact.ts';
import { createRoots } from '../storage/entries.ts';
import type { AccountRow, KeyRow, Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';

/** Describes the account that the first start creates. */
export interface AccountSeed {
  readonly login: string;
  /** In OpenSSH format; if absent, a key is generated. */
  readonly publicKey: string | undefined;
  /** PEM file for the private half of a generated key. */
  readonly keyFile: string;
  readonly now: number;
  /** UUID; a new one if absent. */
  readonly id?: string;
  /** `LOGIN@example.com` if absent. */
  readonly email?: string | undefined;
}

/** Generates a key, and writes its private half to a file. @returns the public half in OpenSSH format */
export async function makeKey(login: string, keyFile: string): Promise<string> {
  const { privateKey, publicKey } = await makePlainKey(`${login}@local`);
  // Written under a random name and then renamed over an existing file: no link is followed.
  writePrivate(keyFile, privateKey);
  return publicKey;
}

function describeAccount({ login, now, email, id = randomUUID() }: AccountSeed): AccountRow {
  return {
    id,
    login,
    email: email ?? `${login}@example.com`,
    ...emptyContact,
    cns_enabled: 0,
    default_network: null,
    status: 'enabled',
    created: now,
    updated: now,
  };
}

function describeKey(account: AccountRow, line: string, now: number): Omit<Selectable<KeyRow>, 'sequence'> {
  try {
    const { comment, fingerprints, keyObject } = readPublicKey(line);
    const weakness = findWeakness(keyObject);
    if (weakness !== undefined) throw new InvalidKeyError(weakness);
    const name = comment === '' ? fingerprints.md5 : comment.replaceAll('/', '_').slice(0, 128);
    const values = { name, fingerprint: fingerprints.md5, key: line.trim(), attestation: null, multifactor: null, created: now };
    return { account: account.id, user: null, ...values };
  } catch (error) {
    if (error instanceof InvalidKeyError) throw new UsageError(`the public key is invalid: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Creates an account with one key and its directories in the object storage.
 * @param also further work in the same transaction
 * @throws {UsageError} when the key or login cannot be used.
 */
export async function seedAccount(
  store: Pick<Store, 'write'>,
  seed: AccountSeed,
  also?: (transaction: Transaction<Schema>, key: { readonly fingerprint: string }) => Promise<void>,
): Promise<AccountRow> {
  if (!/^[a-z][a-z0-9_.@-]{2,31}$/iu.test(seed.login)) {
    throw new UsageError(`account ${seed.login}: a login is a letter, then letters, digits, _ . @ -, 3 to 32 characters`);
  }
  const account = describeAccount(seed);
  const key = describeKey(account, seed.publicKey ?? (await makeKey(seed.login, seed.keyFile)), seed.now);
  await store.write(async (transaction) => {
    await transaction.insertInto('accounts').values(account).execute();
    await transaction.insertInto('keys').values(key).execute();
    await createRoots(transaction, seed.login, seed.now);
    await also?.(transaction, key);
  });
  return account;
}

/** Registers a key of an account unless it is already registered. @throws {UsageError} when the key cannot be used. */
export async function registerKey(store: Store, account: AccountRow, line: string, now: number): Promise<void> {
  const key = describeKey(account, line, now);
  await store.write(async (transaction) => {
    const known = selectKeys(await listKeysOf(transaction, account, undefined), key.fingerprint);
    if (known.length === 0) await transaction.insertInto('keys').values(key).execute();
  });
}
