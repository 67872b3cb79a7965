import type { KeyObject } from 'node:crypto';

/** Accepted sizes of RSA keys in bits: smaller keys can be factored; verifying larger ones costs more than a service can afford. */
const rsaBits = { least: 2048, most: 8192 } as const;

/** Size in bits of the largest DSA keys that are specified (FIPS 186-4). */
const dsaBits = { modulus: 3072, divisor: 256 } as const;

/** Exponents must be below this: verification time is proportional to their bits. Go has the same bound, and no tool makes larger ones. */
const exponentBound = 2n ** 32n;

/** True if verifying a signature with this key is cheap. Other keys, registered by an earlier release, are not accepted. */
export function isCheap(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, divisorLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'dsa') return modulusLength <= dsaBits.modulus && divisorLength <= dsaBits.divisor;
  return key.asymmetricKeyType !== 'rsa' || (modulusLength <= rsaBits.most && publicExponent < exponentBound);
}

/** Describes why a key cannot be registered; undefined if it can. */
export function findWeakness(key: KeyObject): string | undefined {
  if (key.asymmetricKeyType === 'ed25519') return 'the services accept RSA, DSA and ECDSA keys, not Ed25519';
  const { modulusLength: bits = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== 'rsa') return isCheap(key) ? undefined : `a DSA key has at most ${dsaBits.modulus} bits`;
  if (bits < rsaBits.least || bits > rsaBits.most) return `an RSA key has ${rsaBits.least} to ${rsaBits.most} bits, not ${bits}`;
  return isCheap(key) ? undefined : 'the exponent of an RSA key is below 2^32';
}
