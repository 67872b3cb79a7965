import crypto, { type ScryptOptions } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll } from 'vitest';
import { createRsaKey } from './rsa-keys.ts';

/** What the code under test has of `node:crypto` in less time, for tests whose subject is something else. */

/** Replaces a function of `node:crypto` while the tests of the file, or of the suite, run. */
function replace(name: 'generateKeyPairSync' | 'scrypt', make: () => (...values: never[]) => unknown): void {
  const original = crypto[name];
  beforeAll(() => {
    Object.assign(crypto, { [name]: make() });
    syncBuiltinESMExports();
  });
  afterAll(() => {
    Object.assign(crypto, { [name]: original });
    syncBuiltinESMExports();
  });
}

/** Passwords are hashed by scrypt with the lowest cost: at the usual one each takes 50 ms of processor time. */
export function useQuickPasswords(): void {
  const { scrypt } = crypto;
  replace('scrypt', () => (password: string, salt: Buffer, length: number, options: ScryptOptions, done: Parameters<typeof scrypt>[4]) => {
    scrypt(password, salt, length, { ...options, N: 2 }, done);
  });
}

/** Key pairs are not generated but are one that the run shares: an RSA key takes 130 ms of processor time. */
export function useSharedPairs(): void {
  replace('generateKeyPairSync', () => {
    const { privateKey } = createRsaKey();
    const pair = { privateKey, publicKey: crypto.createPublicKey(privateKey) };
    return () => pair;
  });
}
