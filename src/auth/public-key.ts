import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { writeDerBits, writeDerInteger, writeDerSequence } from './der.ts';
import { computeFingerprints, type Fingerprints } from './fingerprint.ts';
import { createWireReader, writeField, writeInteger, type WireReader } from './wire.ts';
import { quietly } from '../base/errors.ts';

export type KeyType = 'rsa' | 'ecdsa' | 'dsa' | 'ed25519';

/** A parsed and validated public key. */
export interface PublicKey {
  type: KeyType;
  /** Length of the modulus or size of the curve. */
  bits: number;
  comment: string;
  /** Type and base64, without the comment. */
  openssh: string;
  fingerprints: Fingerprints;
  keyObject: KeyObject;
}

/** The fields of a line in OpenSSH format; the key itself is not parsed yet. */
export interface KeyLine {
  /** As written in the line: `ssh-rsa`, `sk-ssh-ed25519@openssh.com`. */
  name: string;
  blob: Buffer;
  comment: string;
  fingerprints: Fingerprints;
}

/** Text or bytes that are not a public key of a supported type. */
export class InvalidKeyError extends Error {
  override readonly name = 'InvalidKeyError';
}

/** The curves of ECDSA keys: name in SSH, name in JSON Web Key, bytes of a coordinate. */
const curves = [
  { ssh: 'nistp256', jwk: 'P-256', bits: 256, size: 32 },
  { ssh: 'nistp384', jwk: 'P-384', bits: 384, size: 48 },
  { ssh: 'nistp521', jwk: 'P-521', bits: 521, size: 66 },
] as const;

export type Curve = (typeof curves)[number];

/** The curve of this name, as SSH or JSON Web Key spells it. @throws {InvalidKeyError} for other curves. */
export function findCurve(name: string | undefined): Curve {
  const curve = curves.find(({ ssh, jwk }) => ssh === name || jwk === name);
  if (curve === undefined) throw new InvalidKeyError(`ECDSA keys must use nistp256, nistp384 or nistp521, not ${name ?? 'another curve'}`);
  return curve;
}

/** OID 1.2.840.10040.4.1. */
const dsaIdentifier = Buffer.from('06072a8648ce380401', 'hex');

/** True for the name of a hardware key type (FIDO security key): such keys cannot make the signatures of the two services. */
export function isHardwareType(name: string): boolean {
  return name.startsWith('sk-');
}

/** Bits of a big-endian magnitude. */
function countBits(magnitude: Buffer): number {
  return magnitude.length * 8 - Math.clz32(magnitude[0] ?? 0) + 24;
}

/** Rejects key sizes that OpenSSH rejects. */
function checkSize(bits: number): void {
  if (bits < 1024 || bits > 16_384) throw new InvalidKeyError(`a key of ${bits} bits is too ${bits < 1024 ? 'short' : 'long'}`);
}

/** The parsed fields of a key in binary form; `makeKey` imports the key, which validates the numbers. */
type Parts = Pick<PublicKey, 'type' | 'bits'> & { makeKey: () => KeyObject };

function importJwk(key: JsonWebKey): KeyObject {
  return createPublicKey({ key, format: 'jwk' });
}

function readRsa(reader: WireReader): Parts {
  const [exponent, modulus] = [reader.readInteger(), reader.readInteger()];
  const bits = countBits(modulus);
  checkSize(bits);
  if (exponent.length > 8 || exponent.readUInt8(exponent.length - 1) % 2 === 0) throw new InvalidKeyError('the exponent is not odd');
  const makeKey = (): KeyObject => importJwk({ kty: 'RSA', n: modulus.toString('base64url'), e: exponent.toString('base64url') });
  return { type: 'rsa', bits, makeKey };
}

function readEcdsa(reader: WireReader, name: string): Parts {
  const curve = findCurve(reader.readText());
  const point = reader.readBytes();
  if (name !== `ecdsa-sha2-${curve.ssh}` || point[0] !== 4 || point.length !== 1 + 2 * curve.size)
    throw new InvalidKeyError('the point is malformed');
  const [x, y] = [point.subarray(1, 1 + curve.size), point.subarray(1 + curve.size)].map((part) => part.toString('base64url'));
  return { type: 'ecdsa', bits: curve.bits, makeKey: () => importJwk({ kty: 'EC', crv: curve.jwk, x: x ?? '', y: y ?? '' }) };
}

function readDsa(reader: WireReader): Parts {
  const [p, q, g, y] = [reader.readInteger(), reader.readInteger(), reader.readInteger(), reader.readInteger()];
  const bits = countBits(p);
  checkSize(bits);
  const algorithm = writeDerSequence(dsaIdentifier, writeDerSequence(...[p, q, g].map(writeDerInteger)));
  const key = writeDerSequence(algorithm, writeDerBits(writeDerInteger(y)));
  return { type: 'dsa', bits, makeKey: () => createPublicKey({ key, format: 'der', type: 'spki' }) };
}

function readEd25519(reader: WireReader): Parts {
  const bytes = reader.readBytes();
  if (bytes.length !== 32) throw new InvalidKeyError('an Ed25519 key has 32 bytes');
  const makeKey = (): KeyObject => importJwk({ kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') });
  return { type: 'ed25519', bits: 256, makeKey };
}

function readParts(name: string, reader: WireReader): Parts {
  if (name === 'ssh-rsa') return readRsa(reader);
  if (name.startsWith('ecdsa-sha2-')) return readEcdsa(reader, name);
  if (name === 'ssh-dss') return readDsa(reader);
  if (name === 'ssh-ed25519') return readEd25519(reader);
  if (isHardwareType(name))
    throw new InvalidKeyError(`keys of type ${name} are held by a hardware security key, which cannot create these signatures`);
  throw new InvalidKeyError(`"${name}" is not a supported type of key`);
}

/** Parses a public key in binary form. @param known the same key, if it is already imported @throws {InvalidKeyError} */
export function readPublicBlob(blob: Buffer, comment = '', known?: KeyObject): PublicKey {
  try {
    const reader = createWireReader(blob);
    const name = reader.readText();
    const { type, bits, makeKey } = readParts(name, reader);
    if (!reader.atEnd()) throw new InvalidKeyError('extra data follows the key');
    const openssh = `${name} ${blob.toString('base64')}`;
    return { type, bits, comment, openssh, fingerprints: computeFingerprints(blob), keyObject: known ?? makeKey() };
  } catch (error) {
    if (error instanceof InvalidKeyError) throw error;
    throw new InvalidKeyError(error instanceof Error ? error.message : 'the key is malformed', { cause: error });
  }
}

/** Splits a line in OpenSSH format (`type base64 comment`) into its fields. @throws {InvalidKeyError} */
export function readKeyLine(text: string): KeyLine {
  // The boundaries between the parts are unambiguous, so the expression never backtracks, however long the text is.
  const [, name, base64, comment = ''] = /^(\S+)[ \t]+([A-Za-z0-9+/]+={0,2})(?:[ \t]([^\r\n]*))?$/.exec(text.trim()) ?? [];
  if (name === undefined || base64 === undefined)
    throw new InvalidKeyError('not a public key in OpenSSH format (type, base64, comment) on one line');
  const blob = Buffer.from(base64, 'base64');
  if (blob.toString('base64').replace(/=+$/, '') !== base64.replace(/=+$/, ''))
    throw new InvalidKeyError('the base64 of the key is damaged');
  if (readBlobName(blob) !== name) throw new InvalidKeyError('the key does not have the type stated before it');
  return { name, blob, comment: comment.trim(), fingerprints: computeFingerprints(blob) };
}

/** The type that a key in binary form names; empty when it is damaged. */
export function readBlobName(blob: Buffer): string {
  return quietly(() => createWireReader(blob).readText(), '');
}

/** Reads a public key in OpenSSH format: RSA, ECDSA, DSA or Ed25519. @throws {InvalidKeyError} */
export function readPublicKey(openssh: string): PublicKey {
  const { blob, comment } = readKeyLine(openssh);
  return readPublicBlob(blob, comment);
}

/** The binary form of a DSA key, by sshpk: node:crypto cannot export its numbers. */
async function encodeDsa(keyObject: KeyObject): Promise<Buffer> {
  const { default: sshpk } = await import('sshpk');
  return sshpk.parseKey(keyObject.export({ type: 'spki', format: 'pem' }), 'pem').toBuffer('rfc4253');
}

/** The public key of a private or public key. @throws {InvalidKeyError} for key types that SSH does not have. */
export async function derivePublicKey(keyObject: KeyObject, comment = ''): Promise<PublicKey> {
  const publicObject = keyObject.type === 'private' ? createPublicKey(keyObject) : keyObject;
  return readPublicBlob(await encodePublicKey(publicObject), comment, publicObject);
}

async function encodePublicKey(keyObject: KeyObject): Promise<Buffer> {
  if (keyObject.asymmetricKeyType === 'dsa') return encodeDsa(keyObject);
  if (!['rsa', 'ec', 'ed25519'].includes(keyObject.asymmetricKeyType ?? '')) {
    throw new InvalidKeyError(`keys of type ${keyObject.asymmetricKeyType ?? 'unknown'} are not supported`);
  }
  return encodeJwk(keyObject.export({ format: 'jwk' }));
}

function encodeJwk({ kty, crv, n = '', e = '', x = '', y = '' }: JsonWebKey): Buffer {
  const decode = (text: string): Buffer => Buffer.from(text, 'base64url');
  if (kty === 'RSA') return Buffer.concat([writeField('ssh-rsa'), writeInteger(decode(e)), writeInteger(decode(n))]);
  if (kty === 'OKP') return Buffer.concat([writeField('ssh-ed25519'), writeField(decode(x))]);
  const { ssh } = findCurve(crv);
  const point = Buffer.concat([Buffer.of(4), decode(x), decode(y)]);
  return Buffer.concat([writeField(`ecdsa-sha2-${ssh}`), writeField(ssh), writeField(point)]);
}
