import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { derivePublicKey } from './public-key.ts';

/** The parameters of a new key pair. */
export interface KeyWish {
  readonly type: 'rsa' | 'ecdsa';
  readonly comment: string;
  /** Encrypts the private key; when absent, the key is stored unencrypted. */
  readonly passphrase?: string | undefined;
}

/** A new key pair as OpenSSH writes it to files. */
export interface KeyFiles {
  /** The private key in OpenSSH's own format, whose public key is readable even when it is encrypted. */
  readonly privateText: string;
  /** The line of the `.pub` file, without a line end. */
  readonly publicLine: string;
  /** MD5 fingerprint, by which the services identify the key. */
  readonly fingerprint: string;
}

const generate = promisify(generateKeyPair);

async function generateKey(type: KeyWish['type']): Promise<KeyObject> {
  if (type === 'rsa') return (await generate('rsa', { modulusLength: 3072 })).privateKey;
  return (await generate('ec', { namedCurve: 'P-256' })).privateKey;
}

/** Generates an RSA key of 3072 bits or an ECDSA key on nistp256. A passphrase encrypts it: bcrypt, then AES-256 in counter mode. */
export async function makeKeyFiles({ type, comment, passphrase }: KeyWish): Promise<KeyFiles> {
  const keyObject = await generateKey(type);
  const { default: sshpk } = await import('sshpk');
  const key = sshpk.parsePrivateKey(keyObject.export({ type: 'pkcs8', format: 'pem' }).toString(), 'pkcs8');
  key.comment = comment;
  const protection = passphrase === undefined ? {} : ({ passphrase, cipher: 'aes256-ctr' } as const);
  const { openssh, fingerprints } = await derivePublicKey(keyObject, comment);
  return {
    privateText: key.toBuffer('ssh-private', protection).toString(),
    publicLine: `${openssh} ${comment}`,
    fingerprint: fingerprints.md5,
  };
}

/** Generates an RSA key of 2048 bits: the private key as PKCS#8 PEM, unencrypted, the public key in OpenSSH format. */
export async function makePlainKey(comment: string): Promise<{ privateKey: string; publicKey: string }> {
  const { privateKey } = await generate('rsa', { modulusLength: 2048 });
  const { openssh } = await derivePublicKey(privateKey);
  return { privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), publicKey: `${openssh} ${comment}` };
}
