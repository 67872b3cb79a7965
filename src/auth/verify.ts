import { verify, type KeyObject } from 'node:crypto';
import type { ServiceName } from '../api/operation.ts';

/** The meaning of an algorithm name on the wire. */
interface Algorithm {
  /** Key type as node:crypto names it. */
  keyType: string;
  hash: string;
}

const rsaAndEcdsa: Readonly<Record<string, Algorithm>> = {
  'rsa-sha1': { keyType: 'rsa', hash: 'sha1' },
  'rsa-sha256': { keyType: 'rsa', hash: 'sha256' },
  'rsa-sha384': { keyType: 'rsa', hash: 'sha384' },
  'rsa-sha512': { keyType: 'rsa', hash: 'sha512' },
  'ecdsa-sha256': { keyType: 'ec', hash: 'sha256' },
  'ecdsa-sha384': { keyType: 'ec', hash: 'sha384' },
  'ecdsa-sha512': { keyType: 'ec', hash: 'sha512' },
};

const dsa: Readonly<Record<string, Algorithm>> = {
  'dsa-sha': { keyType: 'dsa', hash: 'sha1' },
  'dsa-sha1': { keyType: 'dsa', hash: 'sha1' },
};

const algorithms: ReadonlyMap<string, Algorithm> = new Map(Object.entries({ ...rsaAndEcdsa, ...dsa }));

/** Names of the algorithms that each service accepts, in lower case. An unknown name and a wrong signature are different errors. */
export const acceptedAlgorithms: Readonly<Record<ServiceName, readonly string[]>> = {
  compute: Object.keys(rsaAndEcdsa),
  storage: [...Object.keys(rsaAndEcdsa), ...Object.keys(dsa)],
};

/** True if a service accepts the algorithm, in any case. */
export function isAcceptedAlgorithm(service: ServiceName, name: string): boolean {
  return acceptedAlgorithms[service].includes(name.toLowerCase());
}

/** Decodes base64; undefined for invalid text, of which `Buffer.from` would decode the beginning. */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const isWhole = bytes.toString('base64').replace(/=+$/u, '') === text.replace(/={0,2}$/u, '');
  return isWhole ? bytes : undefined;
}

/**
 * True if `signature` (base64; ECDSA and DSA as DER) is the key's signature of the text. False for anything invalid: unknown algorithms, a
 * key of another type, damaged base64.
 */
export function verifySignature(publicKey: KeyObject, algorithm: string, text: string, signature: string): boolean {
  const known = algorithms.get(algorithm.toLowerCase());
  const bytes = decodeBase64(signature);
  if (bytes === undefined || known === undefined || known.keyType !== publicKey.asymmetricKeyType) return false;
  try {
    return verify(known.hash, Buffer.from(text), publicKey, bytes);
  } catch {
    return false;
  }
}
