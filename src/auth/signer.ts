import { sign, type KeyObject } from 'node:crypto';
import type { ServiceName } from '../api/operation.ts';
import { KeyError } from '../base/errors.ts';
import type { KeyType, PublicKey } from './public-key.ts';

export type HashName = 'sha1' | 'sha256' | 'sha384' | 'sha512';

/** Signs with a private key, which a key file or the ssh-agent holds. */
export interface Signer {
  publicKey: PublicKey;
  /** Path of the file, or `ssh-agent`. */
  source: string;
  /** The signature as `openssl dgst -sign` makes it: ECDSA and DSA as DER. @throws {KeyError} when the key or the agent refuses. */
  sign(data: string | Uint8Array, hash: HashName): Promise<Uint8Array>;
}

/**
 * Signs with a key in memory, synchronously: there is one signature a second, and starting and ending a thread takes longer than a short
 * command.
 */
export function createKeySigner(keyObject: KeyObject, publicKey: PublicKey, source: string): Signer {
  const signNow = (data: string | Uint8Array, hash: HashName): Uint8Array => {
    try {
      return sign(hash, typeof data === 'string' ? Buffer.from(data) : data, keyObject);
    } catch (error) {
      throw new KeyError(`${source}: the key could not sign: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  };
  return { publicKey, source, sign: async (data, hash) => signNow(data, hash) };
}

/** A signer for a key type that no service accepts: its private key is never read, so that no passphrase is requested in vain. */
export function createIdleSigner(publicKey: PublicKey, source: string): Signer {
  const refuse = (): Promise<Uint8Array> => Promise.reject(explainUnusable(typeNames[publicKey.type], source));
  return { publicKey, source, sign: refuse };
}

const typeNames: Readonly<Record<KeyType, string>> = { rsa: 'RSA', ecdsa: 'ECDSA', dsa: 'DSA', ed25519: 'Ed25519' };

/** The error for a key type that neither service accepts (Ed25519, hardware keys). */
export function explainUnusable(type: string, source: string): KeyError {
  return new KeyError(`${source}: ${type} keys cannot sign for these services: compute accepts RSA and ECDSA, storage RSA and DSA`, {
    hint: 'see which of your keys work: cloud keys local',
  });
}

/** The services that accept keys of this type. Some storage services accept ECDSA too, which a profile declares. */
export function listServices(type: KeyType): ServiceName[] {
  if (type === 'rsa') return ['compute', 'storage'];
  if (type === 'ecdsa') return ['compute'];
  return type === 'dsa' ? ['storage'] : [];
}

/** Rejects a key that the service does not accept, before any request is sent. @throws {KeyError} naming the accepted types. */
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
      ? 'if this service accepts ECDSA keys: cloud profile edit --stor-ecdsa; otherwise choose an RSA key: --key-file FILE'
      : 'choose another key with --key-id; see which work: cloud keys local';
  throw new KeyError(`${source}: the ${service} service accepts ${served} keys, not ${typeNames[type]}`, { hint });
}

/** The algorithm name on the wire and the hash of a key, for both services. @throws {KeyError} for Ed25519. */
export function chooseAlgorithm({ publicKey: { type, bits }, source }: Signer): { algorithm: string; hash: HashName } {
  if (type === 'rsa') return { algorithm: 'rsa-sha256', hash: 'sha256' };
  if (type === 'dsa') return { algorithm: 'dsa-sha', hash: 'sha1' };
  if (type === 'ed25519') throw explainUnusable(typeNames[type], source);
  const hash = chooseCurveHash(bits);
  return { algorithm: `ecdsa-${hash}`, hash };
}

/** The hash for a curve of this size (RFC 5656, section 6.2.1). */
export function chooseCurveHash(bits: number): HashName {
  if (bits <= 256) return 'sha256';
  return bits <= 384 ? 'sha384' : 'sha512';
}
