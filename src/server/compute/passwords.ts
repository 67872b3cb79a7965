import { randomBytes, scrypt } from 'node:crypto';
import { createFieldError } from './names.ts';

/** Cost, block size and parallelization of scrypt: some 50 ms and 16 MiB per guess. */
const parameters = { N: 16_384, r: 8, p: 1 };
const keyLength = 32;

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, keyLength, parameters, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

/** @throws {ApiError} 409 `InvalidArgument` for a password that is too short or lacks a letter or a digit */
export function checkPassword(password: string): void {
  if (Array.from(password).length >= 7 && /\p{L}/u.test(password) && /\d/u.test(password)) return;
  throw createFieldError('password', 'must have at least 7 characters, including a letter and a digit');
}

/** Hashes a password for storage: `scrypt$N$r$p$salt$hash`, salt and hash in Base64. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt);
  const { N, r, p } = parameters;
  return ['scrypt', N, r, p, salt.toString('base64'), hash.toString('base64')].join('$');
}
