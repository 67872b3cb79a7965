import { join } from 'node:path';
import { KeyError } from '../base/errors.ts';
import { matchFingerprint, readFingerprint } from './fingerprint.ts';
import { hasFile, readKeyFolder, type StoredKey } from './key-folder.ts';
import { inspectKeyFile, unlockKeyFile, type AskPassphrase, type KeyFile } from './private-key.ts';
import { isHardwareType, type KeyLine, type PublicKey } from './public-key.ts';
import { explainUnusable, type Signer } from './signer.ts';

/** The key to find, and the places to search. */
export interface KeySearch {
  /** MD5 fingerprint, with or without `MD5:`, or SHA256 fingerprint; absent: the default key. */
  keyId?: string | undefined;
  /** Path of a private key. No other place is searched, but the agent is used if that saves asking for a passphrase. */
  keyFile?: string | undefined;
  /** Path of the ssh-agent's socket: `SSH_AUTH_SOCK`. */
  agentSocket?: string | undefined;
  /** Directory of key files: `~/.ssh`. */
  sshDir: string;
  askPassphrase?: AskPassphrase | undefined;
}

/** The agent's keys, or the reason why they are unknown. */
export interface AgentView {
  keys: KeyLine[];
  problem?: string;
}

/** Why a key may be missing in the agent: a locked agent of OpenSSH lists no keys. Empty if it lists some. */
export function explainAgent({ keys, problem }: AgentView): string[] {
  if (problem !== undefined) return [problem];
  return keys.length === 0 ? ['the ssh-agent has no keys; it may be locked'] : [];
}

const hint = 'list the available keys: cloud keys local';

/** Default keys, in this order: RSA first because both services take it. */
const defaultNames = ['id_rsa', 'id_ecdsa', 'id_dsa'];

/** What an agent holds; one that is not there, or does not answer, holds nothing. */
export async function viewAgent(socket: string | undefined): Promise<AgentView> {
  if (socket === undefined || socket === '') return { keys: [], problem: 'there is no ssh-agent' };
  const { listAgentKeys } = await import('./agent.ts');
  try {
    return { keys: await listAgentKeys(socket) };
  } catch (error) {
    if (error instanceof KeyError) return { keys: [], problem: error.message };
    throw error;
  }
}

async function makeAgentSigner(socket: string | undefined, key: KeyLine): Promise<Signer> {
  if (isHardwareType(key.name)) throw explainUnusable(key.name, 'ssh-agent');
  const { createAgentSigner } = await import('./agent.ts');
  return createAgentSigner(socket ?? '', key);
}

/** Opens a key file. Uses the agent instead when it holds the same key and the file needs a passphrase. */
async function openKeyFile(file: KeyFile, { agentSocket, askPassphrase }: KeySearch, agent?: AgentView): Promise<Signer> {
  if (file.encrypted && file.publicKey !== undefined) {
    const { md5 } = file.publicKey.fingerprints;
    const held = (agent ?? (await viewAgent(agentSocket))).keys.find(({ fingerprints }) => fingerprints.md5 === md5);
    if (held !== undefined) return makeAgentSigner(agentSocket, held);
  }
  return unlockKeyFile(file, askPassphrase);
}

function matchKey(wanted: string | undefined, { fingerprints }: Pick<PublicKey, 'fingerprints'>): boolean {
  return wanted === undefined || matchFingerprint(wanted, fingerprints);
}

async function findInFile(path: string, wanted: string | undefined, search: KeySearch): Promise<Signer> {
  const file = await inspectKeyFile(path);
  const createUnusableError = ({ fingerprints: { md5, sha256 } }: PublicKey): KeyError => {
    const other = wanted?.startsWith('SHA256:') === true ? sha256 : md5;
    return new KeyError(`${path}: this key has the fingerprint ${other}, not ${wanted}`, { hint });
  };
  if (file.publicKey !== undefined && !matchKey(wanted, file.publicKey)) throw createUnusableError(file.publicKey);
  const signer = await openKeyFile(file, search);
  if (!matchKey(wanted, signer.publicKey)) throw createUnusableError(signer.publicKey);
  return signer;
}

/** Inspects a key file; adds the message to `problems` when the file is invalid. */
async function inspectOrNote(path: string, problems: string[]): Promise<KeyFile | undefined> {
  try {
    return await inspectKeyFile(path);
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    problems.push(error.message);
    return undefined;
  }
}

/** Opens the files that should hold the key until one does; reasons why the others do not are added to `problems`. */
async function openStored(keys: readonly StoredKey[], wanted: string, search: KeySearch, problems: string[]): Promise<Signer | undefined> {
  for (const { path, name } of keys) {
    if (isHardwareType(name)) throw explainUnusable(name, path);
    if (!hasFile(path)) {
      problems.push(`${path}.pub is the public key, but the private key ${path} is missing`);
      continue;
    }
    const file = await inspectOrNote(path, problems);
    if (file === undefined) continue;
    const signer = await openKeyFile(file, search, { keys: [] });
    if (matchKey(wanted, signer.publicKey)) return signer;
    problems.push(`${path} is not the private key of ${path}.pub`);
  }
  return undefined;
}

async function findByFingerprint(wanted: string, search: KeySearch): Promise<Signer> {
  const agent = await viewAgent(search.agentSocket);
  const held = agent.keys.find((key) => matchFingerprint(wanted, key.fingerprints));
  if (held !== undefined) return makeAgentSigner(search.agentSocket, held);
  const folder = await readKeyFolder(search.sshDir);
  const problems = [...explainAgent(agent), ...folder.problems.map(({ message }) => message)];
  const stored = folder.keys.filter((key) => matchFingerprint(wanted, key.fingerprints));
  const signer = await openStored(stored, wanted, search, problems);
  if (signer !== undefined) return signer;
  const notes = problems.length > 0 ? ` (${problems.join('; ')})` : '';
  throw new KeyError(`no private key with the fingerprint ${wanted} in the ssh-agent or in ${search.sshDir}${notes}`, { hint });
}

function describeService(name: string): string {
  if (name === 'ssh-rsa') return 'works with both services';
  return name === 'ssh-dss' ? 'works with the object storage' : 'works with the compute service';
}

function describeHeld({ name, comment, fingerprints }: KeyLine): string {
  return `--key-id ${fingerprints.md5}: ${[name, comment].filter((word) => word !== '').join(' ')}, ${describeService(name)}`;
}

/** The first default key file that exists, else the agent's key when it holds exactly one usable key. */
async function findDefault(search: KeySearch): Promise<Signer> {
  const problems: string[] = [];
  for (const name of defaultNames) {
    const path = join(search.sshDir, name);
    const file = hasFile(path) ? await inspectOrNote(path, problems) : undefined;
    if (file !== undefined) return openKeyFile(file, search);
  }
  const agent = await viewAgent(search.agentSocket);
  const usable = agent.keys.filter(({ name }) => /^(?:ssh-rsa|ecdsa-sha2-.*|ssh-dss)$/.test(name));
  const [only] = usable;
  if (only !== undefined && usable.length === 1) return makeAgentSigner(search.agentSocket, only);
  if (only !== undefined) {
    throw new KeyError(`the ssh-agent holds ${usable.length} keys; choose one with --key-id`, {
      hint: usable.map(describeHeld),
    });
  }
  const notes = [...explainAgent(agent), ...problems].map((note) => `; ${note}`).join('');
  throw new KeyError(`no private key: none of ${defaultNames.join(', ')} in ${search.sshDir}${notes}`, {
    hint: `create one: ssh-keygen -t rsa -b 3072 -f ${join(search.sshDir, 'id_rsa')}`,
  });
}

/**
 * Finds the key to sign with: the key file when one is named, else a key of the ssh-agent, else one in the directory of key files.
 * @throws {KeyError} naming the fingerprint and the places searched; {UsageError} when `keyId` is not a fingerprint
 */
export async function findSigner(search: KeySearch): Promise<Signer> {
  const wanted = search.keyId === undefined ? undefined : readFingerprint(search.keyId);
  if (search.keyFile !== undefined) return findInFile(search.keyFile, wanted, search);
  return wanted === undefined ? findDefault(search) : findByFingerprint(wanted, search);
}
