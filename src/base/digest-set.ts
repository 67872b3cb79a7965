/** A set of 128-bit digests. */
export interface DigestSet {
  /** Adds the first 16 bytes of a digest; false if the set has them already. */
  add(digest: Buffer): boolean;
}

/**
 * Creates a set that takes 32 to 64 bytes for each of the `most` digests that it has room for, outside the heap of JavaScript: a `Set` of as
 * many texts takes several times as much, and is moved as a whole when it grows. Users must not be able to choose digests: those with the
 * same first bytes are compared one after the other.
 */
export function createDigestSet(most: number): DigestSet {
  const size = 2 * 2 ** Math.ceil(Math.log2(2 * Math.max(most, 1)));
  const table = new BigUint64Array(size);
  return {
    add: (digest) => {
      const [low, high] = [digest.readBigUInt64LE(0), digest.readBigUInt64LE(8)];
      for (let at = (2 * digest.readUInt32LE(0)) % size; ; at = (at + 2) % size) {
        if (table[at] === low && table[at + 1] === high) return false;
        if (table[at] !== 0n || table[at + 1] !== 0n) continue;
        table[at] = low;
        table[at + 1] = high;
        return true;
      }
    },
  };
}
