import type { ServiceName } from '../api/operation.ts';
import { KeyError } from '../base/errors.ts';
import { explainAgent, viewAgent, type KeySearch } from './find.ts';
import { matchFingerprint, readFingerprint } from './fingerprint.ts';
import { hasFile, readKeyFolder, type StoredKey } from './key-folder.ts';
import { inspectKeyFile } from './private-key.ts';
import { readPublicBlob, type KeyLine } from './public-key.ts';
import { listServices } from './signer.ts';

/** A private key that this machine has. */
export interface LocalKey {
  /** `rsa`, `ecdsa`, `dsa`, `ed25519`; hardware keys: `ed25519-sk`, `ecdsa-sk`. */
  type: string;
  bits: number;
  /** `aa:bb:...` */
  md5: string;
  /** `SHA256:...` */
  sha256: string;
  /** Path of the private key, or `ssh-agent`. */
  source: string;
  /** True if signing asks for a passphrase. */
  encrypted: boolean;
  comment: string;
  usableFor: ServiceName[];
  /** The reason why the key cannot be used: other users can read its file, or the file is damaged. */
  problem?: string;
}

/** The properties that follow from a key's type and its public key. */
function describeType(name: string, blob: Buffer): Pick<LocalKey, 'type' | 'bits' | 'usableFor'> {
  if (name.startsWith('sk-')) return { type: name.includes('ed25519') ? 'ed25519-sk' : 'ecdsa-sk', bits: 256, usableFor: [] };
  try {
    const { type, bits } = readPublicBlob(blob);
    return { type, bits, usableFor: listServices(type) };
  } catch {
    return { type: name, bits: 0, usableFor: [] };
  }
}

function describeAgentKey({ name, blob, comment, fingerprints }: KeyLine): LocalKey {
  return { ...describeType(name, blob), ...fingerprints, source: 'ssh-agent', encrypted: false, comment };
}

async function describeStoredKey({ path, name, blob, comment, fingerprints }: StoredKey): Promise<LocalKey> {
  const key: LocalKey = { ...describeType(name, blob), ...fingerprints, source: path, encrypted: false, comment };
  if (name.startsWith('sk-')) return key;
  try {
    const { encrypted, exposed } = await inspectKeyFile(path);
    return { ...key, encrypted, ...(exposed && { problem: `other users can read it: chmod 600 ${path}` }) };
  } catch (error) {
    if (error instanceof KeyError) return { ...key, problem: error.message };
    throw error;
  }
}

/** The key in the file that the settings name; empty if the file cannot be read, or only its passphrase would show the public key. */
async function describeKeyFile(path: string, onProblem: OnProblem): Promise<LocalKey[]> {
  try {
    const { publicKey, encrypted, exposed } = await inspectKeyFile(path);
    if (publicKey === undefined) {
      onProblem(`${path} is encrypted and has no .pub file: its key is known when it signs`);
      return [];
    }
    const { type, bits, comment, fingerprints } = publicKey;
    const key: LocalKey = { type, bits, ...fingerprints, source: path, encrypted, comment, usableFor: listServices(type) };
    return [exposed ? { ...key, problem: `other users can read it: chmod 600 ${path}` } : key];
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    onProblem(error.message);
    return [];
  }
}

/** Called with the reason why keys are missing from a list: an agent that does not respond, a file that cannot be read. */
export type OnProblem = (problem: string) => void;

/**
 * The private keys of this machine, the agent's first (`cloud keys local`). Skips an agent that does not respond, files that cannot be read
 * without a passphrase, and public keys alone.
 */
export async function listLocalKeys(
  { agentSocket, sshDir, keyFile }: Omit<KeySearch, 'keyId' | 'askPassphrase'>,
  onProblem: OnProblem = () => undefined,
  agent = viewAgent(agentSocket),
): Promise<LocalKey[]> {
  const [held, { keys, problems }] = await Promise.all([agent, readKeyFolder(sshDir)]);
  const hasAgent = agentSocket !== undefined && agentSocket !== '';
  for (const problem of [...(hasAgent ? explainAgent(held) : []), ...problems.map(({ message }) => message)]) onProblem(problem);
  const present = await Promise.all(keys.map(async (key) => (hasFile(key.path) ? [await describeStoredKey(key)] : [])));
  const isKnown = keyFile === undefined || [...keys, ...problems].some(({ path }) => path === keyFile);
  return [...held.keys.map(describeAgentKey), ...present.flat(), ...(isKnown ? [] : await describeKeyFile(keyFile, onProblem))];
}

/**
 * Normalized fingerprints of the key that a profile names: two profiles have the same key when they share one. The MD5 fingerprint cannot
 * be computed from SHA256, so both are listed when the key is available locally. Text that is neither a fingerprint nor a key is returned
 * as written.
 */
export async function listKeyNames(
  { keyId, keyFile }: { keyId?: string | undefined; keyFile?: string | undefined },
  localKeys: () => Promise<readonly LocalKey[]>,
): Promise<string[]> {
  if (keyFile !== undefined) {
    const known = await inspectKeyFile(keyFile).catch(() => undefined);
    if (known?.publicKey) return [known.publicKey.fingerprints.md5, known.publicKey.fingerprints.sha256];
  }
  if (keyId === undefined) return keyFile === undefined ? [] : [keyFile];
  try {
    const wanted = readFingerprint(keyId);
    const held = (await localKeys()).find((key) => matchFingerprint(wanted, key));
    return held ? [held.md5, held.sha256] : [wanted];
  } catch {
    return [keyId];
  }
}
