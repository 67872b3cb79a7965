import type { KeyObject } from 'node:crypto';

/** Sizes of RSA keys that are registered: below, they can be factored; above, each verification costs more than a service has to spare. */
const rsaBits = { least: 2048, most: 8192 } as const;

/** Sizes of the largest DSA keys that are specified (FIPS 186-4). */
const dsaBits = { modulus: 3072, divisor: 256 } as const;

/** Exponents must be below: verifying takes time in proportion to their bits. Go has the same bound, and no tool makes larger ones. */
const exponentBound = 2n ** 32n;

/** Whether verifying a signature with a key is cheap: keys that are not were registered by an earlier release, and prove nothing. */
export function isCheap(key: KeyObject): boolean {
  const { modulusLength = 0, publicExponent = 0n, divisorLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === 'dsa') return modulusLength <= dsaBits.modulus && divisorLength <= dsaBits.divisor;
  return key.asymmetricKeyType !== 'rsa' || (modulusLength <= rsaBits.most && publicExponent < exponentBound);
}

/** What keeps a key from being registered, in words; undefined when nothing does. */
export function findWeakness(key: KeyObject): string | undefined {
  const { modulusLength: bits = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== 'rsa') return isCheap(key) ? undefined : `a DSA key has at most ${dsaBits.modulus} bits`;
  if (bits < rsaBits.least || bits > rsaBits.most) return `an RSA key has ${rsaBits.least} to ${rsaBits.most} bits, not ${bits}`;
  return isCheap(key) ? undefined : 'the exponent of an RSA key is below 2^32';
}
