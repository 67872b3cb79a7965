import { X509Certificate } from 'node:crypto';
import type { compute } from '../../api/compute.ts';
import type { InputOf } from '../../api/operation.ts';
import type * as r from '../../api/resources.ts';
import { InvalidKeyError, readPublicKey, type PublicKey } from '../../auth/public-key.ts';
import { ApiError } from '../../errors.ts';
import { listKeysOf, selectKeys, type Key } from '../accounts.ts';
import type { Call } from '../handler.ts';

function showKey({ name, fingerprint, key, multifactor }: Key): r.Key {
  const shown = { name, fingerprint, key };
  // Set, perhaps to an empty list, when the chain of certificates was believed.
  return multifactor === null ? shown : { ...shown, attested: true, multifactor: JSON.parse(multifactor) as string[] };
}

/** A key as it is to be stored: the comment is kept, the type must be one that can sign for one of the services. */
function parseKey(text: string): { parsed: PublicKey; line: string } {
  const line = text.trim();
  try {
    const parsed = readPublicKey(line);
    if (parsed.type !== 'ed25519') return { parsed, line };
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

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new ApiError(409, 'InvalidArgument', 'attestation must be a list of certificates in PEM');
  }
}

/** Checks that the certificates can be read and the first one is about this key; no authority is trusted, so none attests. */
function readAttestation(attestation: readonly string[] | undefined, key: PublicKey): string | null {
  const [first] = (attestation ?? []).map(parseCertificate);
  if (first === undefined) return null;
  if (!first.publicKey.equals(key.keyObject)) {
    throw new ApiError(409, 'InvalidArgument', 'attestation: the first certificate is not about this key');
  }
  return JSON.stringify(attestation);
}

function selectOne(keys: readonly Key[], name: string): Key {
  const [key] = selectKeys(keys, name);
  if (key === undefined) throw new ApiError(404, 'ResourceNotFound', `key ${name} does not exist`);
  return key;
}

/** ListKeys, in the order in which they were registered. */
export async function listKeys(_: InputOf<typeof compute.listKeys>, { account, store }: Call): Promise<r.Key[]> {
  return (await listKeysOf(store.db, account, undefined)).map(showKey);
}

/** GetKey, by fingerprint or name; of several with one name the first. */
export async function getKey({ key }: InputOf<typeof compute.getKey>, { account, store }: Call): Promise<r.Key> {
  return showKey(selectOne(await listKeysOf(store.db, account, undefined), key));
}

/** CreateKey. Errors: 409 `InvalidArgument` for a bad key or name, or a key that the account has already. */
export async function createKey(input: InputOf<typeof compute.createKey>, { account, store, now }: Call): Promise<r.Key> {
  const { parsed, line } = parseKey(input.key);
  const fingerprint = parsed.fingerprints.md5;
  const name = readName(input.name, fingerprint);
  const attestation = readAttestation(input.attestation, parsed);
  const values = { account: account.id, user: null, name, fingerprint, key: line, attestation, multifactor: null, created: now() };
  const row = await store.write(async (transaction) => {
    const same = selectKeys(await listKeysOf(transaction, account, undefined), fingerprint);
    if (same.length > 0) throw new ApiError(409, 'InvalidArgument', `key is registered already: ${fingerprint}`);
    return transaction.insertInto('keys').values(values).returningAll().executeTakeFirstOrThrow();
  });
  return showKey(row);
}

/** DeleteKey, by fingerprint or name. */
export async function deleteKey({ key }: InputOf<typeof compute.deleteKey>, { account, store }: Call): Promise<Record<string, string>> {
  await store.write(async (transaction) => {
    const { sequence } = selectOne(await listKeysOf(transaction, account, undefined), key);
    await transaction.deleteFrom('keys').where('sequence', '=', sequence).execute();
  });
  return {};
}
