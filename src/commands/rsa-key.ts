import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { fingerprintOf } from '../base/fingerprint.ts';

/** A temporary key pair. */
export interface TemporaryKey {
  readonly privateKey: KeyObject;
  /** The public key as in an authorized_keys file, without a comment. */
  readonly openssh: string;
  /** Colon-separated hexadecimal. */
  readonly md5: string;
}

/** Encodes an RSA public key in the wire format of SSH (RFC 4253, section 6.6), from the base64url integers of its JWK. */
function writeWire(n: string, e: string): Buffer {
  const field = (bytes: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const integer = (text: string): Buffer => {
    const bytes = Buffer.from(text, 'base64url');
    return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
  };
  return Buffer.concat([field(Buffer.from('ssh-rsa')), field(integer(e)), field(integer(n))]);
}

/** Creates an RSA key of 2048 bits. It does not use ssh-keygen, which may not be installed. */
export function makeTemporaryKey(): TemporaryKey {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { n = '', e = '' } = publicKey.export({ format: 'jwk' });
  const wire = writeWire(n, e);
  return { privateKey, openssh: `ssh-rsa ${wire.toString('base64')}`, md5: fingerprintOf(wire) };
}
