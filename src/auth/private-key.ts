import { createPrivateKey, type KeyObject } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { CloudError, describeSystemError, isSystemError, KeyError, quietly } from '../base/errors.ts';
import { isSupportedCipher, openOpensshFile, readOpensshFile, type OpensshFile } from './openssh-file.ts';
import {
  derivePublicKey,
  InvalidKeyError,
  isHardwareType,
  readBlobName,
  readPublicBlob,
  readPublicKey,
  type PublicKey,
} from './public-key.ts';
import { createIdleSigner, createKeySigner, explainUnusable, type Signer } from './signer.ts';

/** Asks for the passphrase of a key file. @param attempt 1, 2 or 3 */
export type AskPassphrase = (path: string, attempt: number) => Promise<string>;

/** A private key file that was read without its passphrase. */
export interface KeyFile {
  path: string;
  /** The key alone, from its first to its last line: other text around it, such as a byte order mark, is not for parsers. */
  text: string;
  encrypted: boolean;
  /** True if users other than the owner can read the file. */
  exposed: boolean;
  /** Absent when reading it needs the passphrase: an encrypted PEM file without a `.pub` file beside it. */
  publicKey?: PublicKey;
  /** The key itself, when reading the file decoded it. */
  keyObject?: KeyObject;
  openssh?: OpensshFile;
}

/** Bytes; no private key is larger, and larger files are not read. */
const largest = 64 * 1024;

const attempts = 3;

/** Reads a small regular file; `exposed` if others can read it. @throws {InvalidKeyError} for directories, sockets and large files. */
export function readKeyText(path: string): { text: string; exposed: boolean } {
  // Synchronous, because the file is small and loading the asynchronous API takes longer. O_NONBLOCK keeps a named pipe from blocking.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > largest) throw new InvalidKeyError('not a private key file');
    const own = process.getuid === undefined || stats.uid === process.getuid();
    const exposed = process.platform !== 'win32' && own && (stats.mode & 0o077) !== 0;
    return { text: readFileSync(file, 'latin1'), exposed };
  } finally {
    closeSync(file);
  }
}

/** The `.pub` file beside a private key; undefined when it is missing or invalid. */
function readPublicFile(path: string): PublicKey | undefined {
  return quietly(() => readPublicKey(readKeyText(path).text), undefined);
}

function isEncryptedPem(text: string): boolean {
  return text.includes('-----BEGIN ENCRYPTED PRIVATE KEY-----') || /^Proc-Type: *4, *ENCRYPTED/m.test(text);
}

function createPublicKeyError(path: string): KeyError {
  const hint = path.endsWith('.pub') ? `name the private key: --key-file ${path.slice(0, -'.pub'.length)}` : undefined;
  return new KeyError(`${path}: this is a public key; signing needs the private key`, { hint });
}

/**
 * Reads a private key file (OpenSSH, PEM (PKCS#1, SEC1, DSA) or PKCS#8) as far as is possible without a passphrase.
 * @throws {KeyError} naming the file, when it contains no private key
 */
export async function inspectKeyFile(path: string): Promise<KeyFile> {
  try {
    const { text: whole, exposed } = readKeyText(path);
    const [text, label] = /-----BEGIN ((?:[A-Z]+ )?PRIVATE KEY)-----[^]*?-----END \1-----/.exec(whole) ?? [];
    if (text !== undefined)
      return label === 'OPENSSH PRIVATE KEY' ? inspectOpenssh(path, text, exposed) : await inspectPem(path, text, exposed);
    if (/-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----/.test(whole))
      throw new InvalidKeyError('the file is damaged: the last line of the key is missing');
    if (/^\s*(?:sk-)?(?:ssh|ecdsa)-\S+ /.test(whole)) throw createPublicKeyError(path);
    throw new InvalidKeyError('not a private key in OpenSSH, PEM or PKCS#8 format');
  } catch (error) {
    if (error instanceof KeyError) throw error;
    if (isSystemError(error)) throw new KeyError(describeSystemError(Object.assign(error, { path })), { cause: error });
    throw new KeyError(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function inspectOpenssh(path: string, text: string, exposed: boolean): KeyFile {
  const openssh = readOpensshFile(text);
  const name = readBlobName(openssh.publicBlob);
  if (isHardwareType(name)) throw explainUnusable(name, path);
  return { path, text, exposed, encrypted: openssh.cipher !== 'none', publicKey: readPublicBlob(openssh.publicBlob), openssh };
}

function readPem(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new InvalidKeyError('the private key is damaged, or of an unsupported type', { cause: error });
  }
}

async function inspectPem(path: string, text: string, exposed: boolean): Promise<KeyFile> {
  if (isEncryptedPem(text)) {
    const publicKey = readPublicFile(`${path}.pub`);
    return { path, text, exposed, encrypted: true, ...(publicKey && { publicKey }) };
  }
  const keyObject = readPem(text);
  return { path, text, exposed, encrypted: false, publicKey: await derivePublicKey(keyObject), keyObject };
}

async function openFile({ text, openssh }: KeyFile, passphrase: string | undefined): Promise<{ keyObject: KeyObject; comment: string }> {
  if (openssh) return openOpensshFile(openssh, text, passphrase);
  return { keyObject: createPrivateKey(passphrase === undefined ? text : { key: text, passphrase }), comment: '' };
}

async function openEncrypted(file: KeyFile, ask: AskPassphrase | undefined): Promise<{ keyObject: KeyObject; comment: string }> {
  if (file.openssh && !isSupportedCipher(file.openssh.cipher)) {
    throw new KeyError(`${file.path}: the key is encrypted with ${file.openssh.cipher}, which is not supported`, {
      hint: [`add the key to the ssh-agent: ssh-add ${file.path}`, `or encrypt it again: ssh-keygen -p -Z aes256-ctr -f ${file.path}`],
    });
  }
  if (ask === undefined) {
    throw new KeyError(`${file.path}: the key is encrypted and there is no terminal to ask for its passphrase`, {
      hint: `add the key to the ssh-agent: ssh-add ${file.path}`,
    });
  }
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const passphrase = await ask(file.path, attempt);
    try {
      return await openFile(file, passphrase);
    } catch (error) {
      if (error instanceof InvalidKeyError) throw error;
    }
  }
  throw new KeyError(`${file.path}: wrong passphrase, ${attempts} times`, { hint: `add the key to the ssh-agent: ssh-add ${file.path}` });
}

function refuseExposed({ path, exposed }: KeyFile): void {
  if (exposed) throw new KeyError(`${path}: other users can read this private key, so it is not used`, { hint: `chmod 600 ${path}` });
}

/**
 * Creates a signer from a file.
 * @param askPassphrase called only when the file is encrypted, at most three times
 * @throws {KeyError} when others can read the file, or the passphrase is wrong
 */
export async function unlockKeyFile(file: KeyFile, askPassphrase?: AskPassphrase): Promise<Signer> {
  refuseExposed(file);
  if (file.publicKey?.type === 'ed25519') return createIdleSigner(file.publicKey, file.path);
  if (file.publicKey && file.keyObject) return createKeySigner(file.keyObject, file.publicKey, file.path);
  try {
    const { keyObject, comment } = await (file.encrypted ? openEncrypted(file, askPassphrase) : openFile(file, undefined));
    const publicKey = await derivePublicKey(keyObject, comment);
    return createKeySigner(keyObject, publicKey, file.path);
  } catch (error) {
    if (error instanceof CloudError) throw error;
    throw new KeyError(`${file.path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
