import { createPrivateKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { findCurve, InvalidKeyError, readBlobName } from './public-key.ts';
import { createWireReader, stripZeros, type WireReader } from './wire.ts';

/** A private key file in OpenSSH's own format (`openssh-key-v1`), whose public key is readable even when the file is encrypted. */
export interface OpensshFile {
  publicBlob: Buffer;
  /** `none` when the file is not encrypted. */
  cipher: string;
  /** The private key, possibly encrypted. */
  content: Buffer;
}

export interface OpensshKey {
  keyObject: KeyObject;
  comment: string;
}

const magic = 'openssh-key-v1\0';

/** Parses the file. @throws {InvalidKeyError} when it is damaged. */
export function readOpensshFile(text: string): OpensshFile {
  const base64 = /-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END OPENSSH PRIVATE KEY-----/.exec(text)?.[1] ?? '';
  try {
    const reader = createWireReader(Buffer.from(base64, 'base64'));
    if (reader.readFixed(magic.length).toString('latin1') !== magic) throw new InvalidKeyError('not a key in OpenSSH format');
    const cipher = reader.readText();
    reader.readText();
    reader.readBytes();
    if (reader.readUint32() !== 1) throw new InvalidKeyError('the file holds several keys');
    return { cipher, publicBlob: reader.readBytes(), content: reader.readBytes() };
  } catch (error) {
    if (error instanceof RangeError) throw new InvalidKeyError(`the file is damaged: ${error.message}`, { cause: error });
    throw error;
  }
}

/** True for the ciphers of key files that `openOpensshFile` decrypts. */
export function isSupportedCipher(cipher: string): boolean {
  return /^(?:3des|aes\d+)-?(?:cbc|ctr)$/.test(cipher);
}

/**
 * The private key of a file. Unencrypted RSA and ECDSA keys, which most users have, are parsed here because loading sshpk takes longer than
 * a whole command may; sshpk parses the others.
 * @param passphrase required when the file is encrypted, with a supported cipher
 * @throws {Error} when the passphrase is wrong or the file is damaged
 */
export async function openOpensshFile(file: OpensshFile, text: string, passphrase: string | undefined): Promise<OpensshKey> {
  const name = readBlobName(file.publicBlob);
  if (file.cipher === 'none' && (name === 'ssh-rsa' || name.startsWith('ecdsa-sha2-'))) return readContent(file.content);
  const { default: sshpk } = await import('sshpk');
  const key = sshpk.parsePrivateKey(text, 'ssh-private', { ...(passphrase !== undefined && { passphrase }) });
  return { keyObject: createPrivateKey(key.toString('pkcs8')), comment: key.comment ?? '' };
}

function readContent(content: Buffer): OpensshKey {
  const reader = createWireReader(content);
  if (reader.readUint32() !== reader.readUint32()) throw new InvalidKeyError('the private key is damaged');
  const key = reader.readText() === 'ssh-rsa' ? readRsa(reader) : readEcdsa(reader);
  return { keyObject: createPrivateKey({ key, format: 'jwk' }), comment: reader.readText() };
}

function toNumber(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`);
}

/** A number in the encoding of JSON Web Keys, padded to `size` bytes. */
function toText(number: bigint, size = 0): string {
  const digits = number.toString(16);
  return Buffer.from(digits.padStart(Math.max(digits.length + (digits.length % 2), size * 2), '0'), 'hex').toString('base64url');
}

function readRsa(reader: WireReader): JsonWebKey {
  const read = (): bigint => toNumber(reader.readInteger());
  const [n, e, d, inverse, p, q] = [read(), read(), read(), read(), read(), read()];
  const parts = { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse };
  return { kty: 'RSA', ...Object.fromEntries(Object.entries(parts).map(([name, number]) => [name, toText(number)])) };
}

function readEcdsa(reader: WireReader): JsonWebKey {
  const { jwk, size } = findCurve(reader.readText());
  const point = reader.readBytes();
  const [x, y] = [point.subarray(1, 1 + size), point.subarray(1 + size)].map((part) => part.toString('base64url'));
  return { kty: 'EC', crv: jwk, x: x ?? '', y: y ?? '', d: toText(toNumber(stripZeros(reader.readInteger())), size) };
}
