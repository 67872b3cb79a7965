import { sign, type KeyObject } from 'node:crypto';
import type { ServiceName } from '../api/operation.ts';
import { KeyError } from '../base/errors.ts';
import type { KeyType, PublicKey } from './public-key.ts';

export type HashName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** Something that holds a private key: a file that was read, or the ssh-agent. */
export interface Signer {
  publicKey: PublicKey;
  /** Path of the file, or `ssh-agent`. */
  source: string;
  comment: string;
  /** The signature as `openssl dgst -sign` makes it: ECDSA and DSA as DER. @throws {KeyError} when the key cannot or may not. */
  sign(data: string | Uint8Array, hash: HashName): Promise<Uint8Array>;
}

/**
 * What signs with a key in memory. At once: there is one signature a second, and threads to make it on would take longer to start and to end than
 * a short command has.
 */
export function createKeySigner(keyObject: KeyObject, publicKey: PublicKey, source: string, comment = publicKey.comment): Signer {
  const signNow = (data: string | Uint8Array, hash: HashName): Uint8Array => {
    try {
      return sign(hash, typeof data === 'string' ? Buffer.from(data) : data, keyObject);
    } catch (error) {
      throw new KeyError(`${source}: the key did not sign: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  };
  return { publicKey, source, comment, sign: async (data, hash) => signNow(data, hash) };
}

/** What stands for a key of a type that no service takes: its private half is never read, so no passphrase is asked for in vain. */
export function createIdleSigner(publicKey: PublicKey, source: string): Signer {
  const refuse = (): Promise<Uint8Array> => Promise.reject(explainUnusable(typeNames[publicKey.type], source));
  return { publicKey, source, comment: publicKey.comment, sign: refuse };
}

const typeNames: Readonly<Record<KeyType, string>> = { rsa: 'RSA', ecdsa: 'ECDSA', dsa: 'DSA', ed25519: 'Ed25519' };

/** The error for a key that neither service takes (Ed25519, keys in a security key). */
export function explainUnusable(type: string, source: string): KeyError {
  return new KeyError(`${source}: ${type} keys cannot sign for these services: compute takes RSA and ECDSA, storage RSA and DSA`, {
    hint: 'see which of your keys serve: cloud keys local',
  });
}

/** The services that keys of this type serve; ECDSA serves storage too where the service takes it, which a profile says. */
export function listServices(type: KeyType): ServiceName[] {
  if (type === 'rsa') return ['compute', 'storage'];
  if (type === 'ecdsa') return ['compute'];
  return type === 'dsa' ? ['storage'] : [];
}

/** Refuses a key that the service does not take, before anything is sent. @throws {KeyError} that says which types serve. */
export function assertUsable(
  { publicKey: { type }, source }: Signer,
  service: ServiceName,
  { ecdsa = false }: { ecdsa?: boolean } = {},
): void {
  if (listServices(type).includes(service) || (type === 'ecdsa' && service === 'storage' && ecdsa)) return;
  if (type === 'ed25519') throw explainUnusable(typeNames[type], source);
  const served = service === 'compute' ? 'RSA and ECDSA' : 'RSA and DSA';
  const hint =
    type === 'ecdsa'
      ? 'if this service takes ECDSA keys: cloud profile edit --stor-ecdsa; otherwise name an RSA key: --key-file FILE'
      : 'choose another key with --key-id; see which serve: cloud keys local';
  throw new KeyError(`${source}: the ${service} service takes ${served} keys, not ${typeNames[type]}`, { hint });
}

/** How a key signs for both services: the algorithm's name on the wire and its hash. @throws {KeyError} for Ed25519. */
export function chooseAlgorithm({ publicKey: { type, bits }, source }: Signer): { algorithm: string; hash: HashName } {
  if (type === 'rsa') return { algorithm: 'rsa-sha256', hash: 'sha256' };
  if (type === 'dsa') return { algorithm: 'dsa-sha', hash: 'sha1' };
  if (type === 'ed25519') throw explainUnusable(typeNames[type], source);
  const hash = chooseCurveHash(bits);
  return { algorithm: `ecdsa-${hash}`, hash };
}

/** The hash that goes with a curve of this size (RFC 5656, section 6.2.1). */
export function chooseCurveHash(bits: number): HashName {
  if (bits <= 256) return 'sha256';
  return bits <= 384 ? 'sha384' : 'sha512';
}
