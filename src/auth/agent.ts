import { connect } from 'node:net';
import { describeSystemError, isSystemError, KeyError } from '../base/errors.ts';
import { writeDerSignature } from './der.ts';
import { computeFingerprints } from './fingerprint.ts';
import { readBlobName, readPublicBlob, type KeyLine, type PublicKey } from './public-key.ts';
import { chooseCurveHash, createIdleSigner, type HashName, type Signer } from './signer.ts';
import { createWireReader, stripZeros, writeField, writeUint32, type WireReader } from './wire.ts';

/** Message numbers of the SSH agent protocol (draft-miller-ssh-agent). */
const messages = { failure: 5, listRequest: 11, listAnswer: 12, signRequest: 13, signAnswer: 14 } as const;

/** Largest response that is read, in bytes; an agent's own limit is 256 KiB. */
const largest = 1024 * 1024;
const listTime = 3_000;
/** Long, because the agent may be waiting for its user to confirm. */
const signTime = 120_000;

const hint = 'check the agent: ssh-add -l';

/** Sends one message; resolves to the number of the response and a reader of the rest. @throws {KeyError} without a response in time */
function askAgent(socketPath: string, request: Uint8Array, time: number): Promise<{ number: number; reader: WireReader }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const socket = connect(socketPath);
    // A limit for the whole response, which may trickle in.
    const timer = setTimeout(() => fail(`did not respond within ${time / 1000} s`), time);
    const fail = (words: string, cause?: unknown): void => {
      socket.destroy();
      reject(new KeyError(`the ssh-agent ${words}`, { hint, cause }));
    };
    socket.on('error', (error) =>
      fail(`cannot be reached: ${isSystemError(error) ? describeFailure(error, socketPath) : error.message}`, error),
    );
    socket.on('close', () => {
      clearTimeout(timer);
      fail('closed the connection without a response');
    });
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      const received = Buffer.concat(chunks, size);
      const length = size < 4 ? Infinity : received.readUInt32BE(0);
      if (size >= 4 && (length < 1 || length > largest)) return fail('sent an invalid response');
      if (size < 4 + length) return;
      const reader = createWireReader(received.subarray(4, 4 + length));
      resolve({ number: reader.readByte(), reader });
      socket.destroy();
    });
    socket.write(writeField(request));
  });
}

function describeFailure(error: NodeJS.ErrnoException, socketPath: string): string {
  if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') return `nothing listens on ${socketPath}`;
  return describeSystemError(Object.assign(error, { path: socketPath }));
}

/** Reads a response that may be truncated. @throws {KeyError} */
function readAnswer<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof RangeError) throw new KeyError('the ssh-agent sent an invalid response', { hint, cause: error });
    throw error;
  }
}

/** The keys that the agent holds, without certificates. @throws {KeyError} when it does not respond within 3 s. */
export async function listAgentKeys(socketPath: string): Promise<KeyLine[]> {
  const { number, reader } = await askAgent(socketPath, Buffer.of(messages.listRequest), listTime);
  if (number !== messages.listAnswer)
    throw new KeyError('the ssh-agent refuses to list its keys; it may be locked', { hint: 'unlock it: ssh-add -X' });
  const lines = readAnswer(() =>
    Array.from({ length: Math.min(reader.readUint32(), largest) }, (): KeyLine => {
      const blob = reader.readBytes();
      return { name: readBlobName(blob), blob, comment: reader.readText(), fingerprints: computeFingerprints(blob) };
    }),
  );
  return lines.filter(({ name }) => !name.includes('-cert-v01@'));
}

/** The flags that request a hash from the agent, and the algorithm name in its signature. */
interface AgentAlgorithm {
  flags: number;
  name: string;
}

const rsaAlgorithms: Partial<Record<HashName, AgentAlgorithm>> = {
  sha1: { flags: 0, name: 'ssh-rsa' },
  sha256: { flags: 2, name: 'rsa-sha2-256' },
  sha512: { flags: 4, name: 'rsa-sha2-512' },
};

/** An agent chooses the hash of ECDSA and DSA keys itself, and supports two SHA-2 hashes for RSA. */
function chooseAgentAlgorithm({ type, bits }: PublicKey, hash: HashName): AgentAlgorithm {
  const ecdsa = type === 'ecdsa' && hash === chooseCurveHash(bits) ? { flags: 0, name: `ecdsa-sha2-nistp${bits}` } : undefined;
  const dsa = type === 'dsa' && hash === 'sha1' ? { flags: 0, name: 'ssh-dss' } : undefined;
  const algorithm = type === 'rsa' ? rsaAlgorithms[hash] : (ecdsa ?? dsa);
  if (algorithm === undefined)
    throw new KeyError(`the ssh-agent cannot sign with ${hash} and this ${bits}-bit ${type} key`, {
      hint: 'use the key file: --key-file FILE',
    });
  return algorithm;
}

/** Converts an SSH signature to the form that openssl verifies. */
function convertSignature(name: string, blob: Buffer): Buffer {
  if (name === 'ssh-dss') {
    if (blob.length !== 40) throw new RangeError('a DSA signature has 40 bytes');
    return writeDerSignature(stripZeros(blob.subarray(0, 20)), stripZeros(blob.subarray(20)));
  }
  if (!name.startsWith('ecdsa-')) return blob;
  const reader = createWireReader(blob);
  return writeDerSignature(reader.readInteger(), reader.readInteger());
}

async function signByAgent(socketPath: string, key: KeyLine, publicKey: PublicKey, data: Uint8Array, hash: HashName): Promise<Uint8Array> {
  const algorithm = chooseAgentAlgorithm(publicKey, hash);
  const request = Buffer.concat([Buffer.of(messages.signRequest), writeField(key.blob), writeField(data), writeUint32(algorithm.flags)]);
  const { number, reader } = await askAgent(socketPath, request, signTime);
  if (number !== messages.signAnswer) {
    const name = key.comment === '' ? publicKey.fingerprints.md5 : key.comment;
    throw new KeyError(`the ssh-agent refuses to sign with the key ${name}; it may be locked, or its user declined`, { hint });
  }
  return readAnswer(() => {
    const signature = createWireReader(reader.readBytes());
    const name = signature.readText();
    if (name !== algorithm.name)
      throw new KeyError(`the ssh-agent signed with ${name} instead of ${algorithm.name}; it is too old`, {
        hint: 'use the key file: --key-file FILE',
      });
    const blob = signature.readBytes();
    return convertSignature(name, padSignature(blob, publicKey));
  });
}

/** RSA signatures are as long as the modulus; agents may omit leading zeros. */
function padSignature(blob: Buffer, { type, bits }: PublicKey): Buffer {
  const size = type === 'rsa' ? Math.ceil(bits / 8) : 0;
  return blob.length < size ? Buffer.concat([Buffer.alloc(size - blob.length), blob]) : blob;
}

/** A signer for one of the agent's keys. @throws {InvalidKeyError} when its type is not supported. */
export function createAgentSigner(socketPath: string, key: KeyLine): Signer {
  const publicKey = readPublicBlob(key.blob, key.comment);
  if (publicKey.type === 'ed25519') return createIdleSigner(publicKey, 'ssh-agent');
  return {
    publicKey,
    source: 'ssh-agent',
    sign: async (data, hash) => signByAgent(socketPath, key, publicKey, typeof data === 'string' ? Buffer.from(data) : data, hash),
  };
}
