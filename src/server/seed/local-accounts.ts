import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ignoreNoEntry, LocalError } from '../../base/errors.ts';
import { findAccount, listKeysOf, type Key } from '../access/accounts.ts';
import { makeKey, registerKey, seedAccount } from './account.ts';
import { readPublicKey } from '../../auth/public-key.ts';
import { seedSamples } from './samples.ts';
import type { Store } from '../store/store.ts';
import type { AccountRow } from '../store/schema.ts';

/** Options that determine the accounts of the local service. */
export interface AccountOptions {
  readonly dataDir: string;
  /** Login of the account that the first start creates. */
  readonly account?: string | undefined;
  /** Logins of further accounts, each created with its own key unless it exists. */
  readonly addAccounts?: readonly string[] | undefined;
  /** A key to register for the first account, in OpenSSH format; without one, the first start generates a key. */
  readonly publicKey?: string | undefined;
  /** True to omit sample images, packages, networks and directories. */
  readonly empty?: boolean;
}

/** An account of the local service, and what a client needs to sign as this account. */
export interface LocalAccount {
  readonly account: string;
  readonly accountId: string;
  /** MD5 fingerprint of a key of the account. */
  readonly keyId: string;
  /** File with the private half of that key, if the service generated it. */
  readonly keyFile: string | undefined;
}

const defaultAccount = 'demo';

function keyFileOf({ dataDir }: AccountOptions, login: string): string {
  return join(dataDir, 'keys', `${login}.pem`);
}

/** The public half of the generated key, as Base64 of its SubjectPublicKeyInfo; undefined if there is no such key. */
async function readOwnKey(file: string): Promise<string | undefined> {
  const pem = await readFile(file).catch(ignoreNoEntry);
  return pem && createPublicKey(pem).export({ type: 'spki', format: 'der' }).toString('base64');
}

function isKey({ key }: Key, own: string): boolean {
  return readPublicKey(key).keyObject.export({ type: 'spki', format: 'der' }).toString('base64') === own;
}

/**
 * Chooses the key to sign with: the given one, otherwise the one whose private half is in the data directory, otherwise the first one. A
 * deleted key is never restored: if the account no longer has the key of the data directory, a new key replaces it.
 */
async function describeAccount(
  store: Store,
  options: AccountOptions,
  account: AccountRow,
  given: string | undefined,
  now: number,
): Promise<LocalAccount> {
  const keys = await listKeysOf(store.db, account, undefined);
  const [blob] = given?.match(/AAAA\S+/u) ?? [];
  const described = { account: account.login, accountId: account.id };
  const chosen = keys.find((each) => blob !== undefined && each.key.includes(blob));
  if (chosen !== undefined) return { ...described, keyId: chosen.fingerprint, keyFile: undefined };
  const keyFile = keyFileOf(options, account.login);
  const own = await readOwnKey(keyFile);
  if (own === undefined) {
    const [first] = keys;
    if (first === undefined) throw new LocalError(`account ${account.login} has no key left; register one with --public-key FILE`);
    return { ...described, keyId: first.fingerprint, keyFile: undefined };
  }
  const registered = keys.find((each) => isKey(each, own));
  if (registered !== undefined) return { ...described, keyId: registered.fingerprint, keyFile };
  const made = await makeKey(account.login, keyFile);
  await registerKey(store, account, made, now);
  return { ...described, keyId: readPublicKey(made).fingerprints.md5, keyFile };
}

/** Finds or creates the account with the requested login; without one, the oldest account. */
export async function ensureAccount(store: Store, options: AccountOptions, now: number): Promise<LocalAccount> {
  const oldest = await store.db.selectFrom('accounts').selectAll().orderBy('created').orderBy('login').executeTakeFirst();
  const login = options.account ?? oldest?.login ?? defaultAccount;
  const { publicKey } = options;
  const known = await findAccount(store.db, 'storage', login);
  const account = known ?? (await seedAccount(store, { login, publicKey, keyFile: keyFileOf(options, login), now }));
  if (known !== undefined && publicKey !== undefined) await registerKey(store, known, publicKey, now);
  if (oldest === undefined && options.empty !== true) await seedSamples(store, account, now);
  return describeAccount(store, options, account, publicKey, now);
}

/** Finds or creates the requested further accounts. */
export async function addAccounts(store: Store, options: AccountOptions, now: number): Promise<LocalAccount[]> {
  const accounts: LocalAccount[] = [];
  for (const login of new Set(options.addAccounts)) {
    const known = await findAccount(store.db, 'storage', login);
    const account = known ?? (await seedAccount(store, { login, publicKey: undefined, keyFile: keyFileOf(options, login), now }));
    accounts.push(await describeAccount(store, options, account, undefined, now));
  }
  return accounts;
}
