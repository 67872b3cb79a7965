import { execFileSync } from 'node:child_process';
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, generatePrimeSync, type KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** RSA keys that the processes of a run share: generating one costs about 130 ms of processor time, and tests need hundreds. */

/** The variable in which global setup leaves the directory of the shared keys. */
export const sharedKeys = 'CLOUD_TEST_KEYS';

/** A key of a test with what the services know it by. */
export interface TestKey {
  readonly privateKey: KeyObject;
  /** OpenSSH format. */
  readonly line: string;
  /** MD5, colon-separated hexadecimal. */
  readonly fingerprint: string;
}

function writeField(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Writes a number as SSH does: with a zero before a first byte of 128 or more. */
function writeNumber(base64url: string | undefined): Buffer {
  const bytes = Buffer.from(base64url ?? '', 'base64url');
  return writeField((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

function describeKey(privateKey: KeyObject, type: string, blob: Buffer): TestKey {
  const fingerprint = createHash('md5').update(blob).digest('hex').match(/../gu)?.join(':') ?? '';
  return { privateKey, line: `${type} ${blob.toString('base64')} test`, fingerprint };
}

/** More than any test file asks for. */
const spareCount = 40;

/** All that tests ask for. */
const names = ['demo', 'other', 'bob', ...Array.from({ length: spareCount }, (_, at) => `spare-${at}`)];

const exponent = 65_537n;

/** The number that times `value` leaves 1 when divided by `modulus`. */
function invert(value: bigint, modulus: bigint): bigint {
  let [rest, next, factor, nextFactor] = [modulus, value % modulus, 0n, 1n];
  while (next > 0n) {
    const times = rest / next;
    [rest, next, factor, nextFactor] = [next, rest - times * next, nextFactor, factor - times * nextFactor];
  }
  return factor < 0n ? factor + modulus : factor;
}

/** A number as a JWK has it. */
function encodeNumber(value: bigint): string {
  const digits = value.toString(16);
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex').toString('base64url');
}

const exportKey = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The PEM of the key of two primes. */
function combine(p: bigint, q: bigint): string {
  const d = invert(exponent, (p - 1n) * (q - 1n));
  const numbers = { n: p * q, e: exponent, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: invert(q, p) };
  const jwk = Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, encodeNumber(value)]));
  return exportKey(createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' }));
}

/** Primes of 1024 bits for so many keys, of each two of them. */
function makePrimes(keys: number): bigint[] {
  const primes: bigint[] = [];
  while ((primes.length * (primes.length - 1)) / 2 < keys) {
    const prime = generatePrimeSync(1024, { bigint: true });
    // The exponent has an inverse then.
    if ((prime - 1n) % exponent !== 0n) primes.push(prime);
  }
  return primes;
}

/** Makes all keys. They have their primes in common, which takes a tenth of the time; they protect nothing. */
export function makeSharedKeys(folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const primes = makePrimes(names.length);
  const pairs = primes.flatMap((p, at) => primes.slice(at + 1).map((q) => [p, q] as const));
  for (const [at, name] of names.entries()) writeFileSync(join(folder, name), combine(...(pairs[at] ?? [0n, 0n])), { mode: 0o600 });
}

/** The PEM of the shared key with this name; a new one where no run has made them. */
function readShared(name: string): string {
  const folder = process.env[sharedKeys];
  if (folder !== undefined) return readFileSync(join(folder, name), 'utf8');
  return exportKey(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey);
}

const known = new Map<string, TestKey>();

/** The shared RSA key with this name; its OpenSSH line is written here rather than by the code under test. */
export function shareRsaKey(name: string): TestKey {
  const existing = known.get(name);
  if (existing !== undefined) return existing;
  const privateKey = createPrivateKey(readShared(name));
  const { n, e } = createPublicKey(privateKey).export({ format: 'jwk' });
  const key = describeKey(privateKey, 'ssh-rsa', Buffer.concat([writeField(Buffer.from('ssh-rsa')), writeNumber(e), writeNumber(n)]));
  known.set(name, key);
  return key;
}

let asked = 0;

/** An RSA key that none of the last 39 calls in this process returned. */
export function createRsaKey(): TestKey {
  asked += 1;
  return shareRsaKey(`spare-${asked % spareCount}`);
}

/** A new ECDSA key on a curve with numbers of so many bits. */
export function createEcdsaKey(bits: 256 | 384 | 521 = 256): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: `P-${bits}` });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const type = `ecdsa-sha2-nistp${bits}`;
  return describeKey(privateKey, type, Buffer.concat([Buffer.from(type), Buffer.from(`nistp${bits}`), point].map(writeField)));
}

/** What `writeRsaKeyFile` leaves to choose. */
interface KeyFileOptions {
  readonly comment?: string;
  readonly passphrase?: string;
  /** In OpenSSL's traditional format instead of OpenSSH's. */
  readonly pem?: boolean;
}

/** Writes an RSA key as ssh-keygen does, with its public half in FILE.pub. @returns the path of the public half. */
export function writeRsaKeyFile(file: string, { comment = 'test', passphrase = '', pem = false }: KeyFileOptions = {}): string {
  const key = createRsaKey();
  writeFileSync(file, key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  // One round instead of 24 for the key of the cipher.
  const options = ['-q', '-a', '1', ...(pem ? ['-m', 'PEM'] : [])];
  execFileSync('ssh-keygen', [...options, '-p', '-P', '', '-N', passphrase, '-f', file], { stdio: 'pipe' });
  if (!pem) execFileSync('ssh-keygen', ['-q', '-a', '1', '-c', '-P', passphrase, '-C', comment, '-f', file], { stdio: 'pipe' });
  writeFileSync(`${file}.pub`, `${key.line.replace(/ test$/u, ` ${comment}`)}\n`);
  return `${file}.pub`;
}
