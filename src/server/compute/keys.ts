import type { Kysely } from 'kysely';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type * as r from '../../api/resources.ts';
import { InvalidKeyError, readPublicKey, type PublicKey } from '../../auth/public-key.ts';
import { ApiError } from '../../base/errors.ts';
import { listKeysOf, selectKeys, type Key } from '../access/accounts.ts';
import { noteAudit } from '../access/audit.ts';
import type { Call, Handler } from '../http/handler.ts';
import { findWeakness } from '../access/key-strength.ts';
import { assertWithinLimit } from '../limit.ts';
import type { AccountRow, Schema, UserRow } from '../store/schema.ts';
import { readAttestation } from './attestation.ts';
import { requireUser } from './names.ts';
import { clearTags } from './tags.ts';

function showKey({ name, fingerprint, key, multifactor }: Key): r.Key {
  const shown = { name, fingerprint, key };
  // Not null, perhaps an empty list, if the certificate chain was trusted.
  return multifactor === null ? shown : { ...shown, attested: true, multifactor: JSON.parse(multifactor) as string[] };
}

/** Parses a key for storage: the comment is kept; the type must be one that can sign requests to one of the services. */
function parseKey(text: string): { parsed: PublicKey; line: string } {
  const line = text.trim();
  try {
    const parsed = readPublicKey(line);
    const weakness = findWeakness(parsed.keyObject);
    if (weakness !== undefined) throw new ApiError(409, 'InvalidArgument', `key is invalid: ${weakness}`);
    return { parsed, line };
  } catch (error) {
    if (!(error instanceof InvalidKeyError)) throw error;
  }
  throw new ApiError(409, 'InvalidArgument', 'key is invalid: send an RSA, DSA or ECDSA public key in OpenSSH format');
}

function readName(name: string | undefined, fingerprint: string): string {
  const trimmed = name?.trim() ?? '';
  if (trimmed === '') return fingerprint;
  if (/^[^\p{Cc}/]{1,128}$/u.test(trimmed)) return trimmed;
  throw new ApiError(409, 'InvalidArgument', 'name must have 1 to 128 printable characters and no /');
}

function selectOne(keys: readonly Key[], name: string): Key {
  const [key] = selectKeys(keys, name);
  if (key === undefined) throw new ApiError(404, 'ResourceNotFound', `key ${name} does not exist`);
  return key;
}

/** The owner of the keys in the request path: the sub-user in the path, or else the account. */
interface Owner {
  readonly account: AccountRow;
  readonly user: UserRow | undefined;
}

/** @param name login or id of the sub-user; undefined for the account's own keys */
async function findOwner(name: string | undefined, { account, store }: Call): Promise<Owner> {
  return { account, user: name === undefined ? undefined : await requireUser(store.db, account, name) };
}

/** Path of a key relative to the account. */
function pathOf({ user }: Owner, fingerprint: string): string {
  return user === undefined ? `keys/${fingerprint}` : `users/${user.id}/keys/${fingerprint}`;
}

function nameUser({ user }: Owner): { user?: string } {
  return user === undefined ? {} : { user: user.login };
}

function listOf(db: Kysely<Schema>, { account, user }: Owner): Promise<Key[]> {
  return listKeysOf(db, account, user);
}

async function list(user: string | undefined, call: Call): Promise<r.Key[]> {
  return (await listOf(call.store.db, await findOwner(user, call))).map(showKey);
}

async function get(user: string | undefined, key: string, call: Call): Promise<r.Key> {
  return showKey(selectOne(await listOf(call.store.db, await findOwner(user, call)), key));
}

async function create(user: string | undefined, input: Omit<InputOf<typeof compute.createKey>, 'account'>, call: Call): Promise<r.Key> {
  const owner = await findOwner(user, call);
  assertWithinLimit(call.settings, 'keyBytes', Buffer.byteLength(input.key), { has: 'key may have', counted: 'bytes', field: 'key' });
  const { parsed, line } = parseKey(input.key);
  const fingerprint = parsed.fingerprints.md5;
  const values = {
    account: owner.account.id,
    user: owner.user?.id ?? null,
    name: readName(input.name, fingerprint),
    fingerprint,
    key: line,
    ...readAttestation(input.attestation, parsed, call),
    created: call.now(),
  };
  const row = await call.store.write(async (transaction) => {
    const keys = await listOf(transaction, owner);
    const same = selectKeys(keys, fingerprint);
    if (same.length > 0) throw new ApiError(409, 'InvalidArgument', `key is already registered: ${fingerprint}`);
    assertWithinLimit(call.settings, 'userKeys', keys.length + 1, {
      has: user === undefined ? 'an account has' : 'a user has',
      counted: 'keys',
    });
    await noteAudit(transaction, call, pathOf(owner, fingerprint), { name: values.name, ...nameUser(owner) });
    return transaction.insertInto('keys').values(values).returningAll().executeTakeFirstOrThrow();
  });
  return showKey(row);
}

async function remove(user: string | undefined, key: string, call: Call): Promise<Record<string, string>> {
  const owner = await findOwner(user, call);
  await call.store.write(async (transaction) => {
    const { sequence, fingerprint, name } = selectOne(await listOf(transaction, owner), key);
    const path = pathOf(owner, fingerprint);
    await clearTags(transaction, owner.account, path);
    await transaction.deleteFrom('keys').where('sequence', '=', sequence).execute();
    await noteAudit(transaction, call, path, { name, ...nameUser(owner) });
  });
  return {};
}

/** ListKeys, in the order of registration. */
export const listKeys: Handler<typeof compute.listKeys> = (_, call) => list(undefined, call);

/** GetKey, by fingerprint or name; of several keys with the same name, the first. */
export const getKey: Handler<typeof compute.getKey> = ({ key }, call) => get(undefined, key, call);

/** CreateKey. Errors: 409 `InvalidArgument` for an invalid key, name or attestation, or a key that the account already has. */
export const createKey: Handler<typeof compute.createKey> = (input, call) => create(undefined, input, call);

/** DeleteKey, by fingerprint or name. */
export const deleteKey: Handler<typeof compute.deleteKey> = ({ key }, call) => remove(undefined, key, call);

export const listUserKeys: Handler<typeof compute.listUserKeys> = ({ user }, call) => list(user, call);

export const getUserKey: Handler<typeof compute.getUserKey> = ({ user, key }, call) => get(user, key, call);

/** CreateUserKey. Errors as for CreateKey. */
export const createUserKey: Handler<typeof compute.createUserKey> = ({ user, ...input }, call) => create(user, input, call);

export const deleteUserKey: Handler<typeof compute.deleteUserKey> = ({ user, key }, call) => remove(user, key, call);
