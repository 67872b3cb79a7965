import { createHash, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { key as keyShape, type Key } from '../api/resources.ts';
import { group, type Context } from '../cli/command.ts';
import { readInput } from '../cli/input.ts';
import { maybe, text, texts } from '../cli/parameters.ts';
import { createAbsentError } from '../cli/named.ts';
import { changeCommand, deleteCommand, getCommand, listCommand } from '../cli/shapes.ts';
import { ApiError, KeyError, UsageError } from '../base/errors.ts';
import { quoteShell } from '../base/quote.ts';
import { readFlag } from '../config/settings.ts';
import type { ColumnsOf } from '../output/kinds.ts';
import { askOrSearch, searchByName } from '../lookup/find.ts';
import { rotate } from './rotate/index.ts';

/** SHA256 fingerprint of a key in OpenSSH format, as ssh-keygen prints it. */
function computeSha256(openssh: string): string {
  const blob = Buffer.from(openssh.split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** Returns an MD5 fingerprint in the form of the service; undefined for every other word. */
export function readFingerprint(word: string): string | undefined {
  const fingerprint = word.replace(/^MD5:/i, '').toLowerCase();
  return /^[\da-f]{2}(:[\da-f]{2}){15}$/.test(fingerprint) ? fingerprint : undefined;
}

/** True if a fingerprint in a profile is one of a key's: MD5, with or without colons, or SHA256. */
function isNamedBy(fingerprint: string, { md5, sha256 }: Pick<LocalKey, 'md5' | 'sha256'>): boolean {
  const digits = fingerprint.replace(/^MD5:/i, '').replaceAll(':', '').toLowerCase();
  return digits === md5.replaceAll(':', '') || fingerprint.replace(/^sha256:/i, 'SHA256:').replace(/=$/, '') === sha256;
}

/** Finds a key by fingerprint or name. @throws {UsageError} when several keys have the name */
export function findKey(keys: readonly Key[], word: string, hint = 'cloud keys list'): Key {
  const fingerprint = readFingerprint(word);
  const exact = keys.find((key) => key.fingerprint === fingerprint || computeSha256(key.key) === word);
  if (exact) return exact;
  const named = keys.filter(({ name }) => name === word);
  if (named.length > 1) {
    const list = named.map((key) => key.fingerprint).join(', ');
    throw new UsageError(`${named.length} keys are named "${word}": ${list}`, { hint: 'give the fingerprint' });
  }
  if (!named[0]) return findByPrefix(keys, word, hint);
  return named[0];
}

/** Finds a key of an owner: a whole fingerprint may serve without the right to list. */
export async function fetchKey(
  word: string,
  { list, get, hint }: { list: () => Promise<Key[]>; get: (fingerprint: string) => Promise<Key>; hint?: string },
): Promise<Key> {
  const search = async (): Promise<Key> => findKey(await list(), word, hint);
  const fingerprint = readFingerprint(word);
  if (fingerprint !== undefined) return await askOrSearch(() => get(fingerprint), search);
  return await searchByName('key', word, search, 'fingerprint');
}

/** Finds the key whose MD5 fingerprint begins with a word, with or without colons. */
function findByPrefix(keys: readonly Key[], word: string, hint: string): Key {
  const digits = word.replace(/^MD5:/i, '').replaceAll(':', '').toLowerCase();
  const isPrefix = /^[0-9a-f]{4,}$/.test(digits);
  const found = isPrefix ? keys.filter(({ fingerprint }) => fingerprint.replaceAll(':', '').startsWith(digits)) : [];
  if (found.length > 1) {
    const list = found.map(({ fingerprint }) => fingerprint).join(', ');
    throw new UsageError(`${found.length} fingerprints begin with "${word}": ${list}`, { hint: 'give more of the fingerprint' });
  }
  if (!found[0]) throw createAbsentError('key', word, keys, hint);
  return found[0];
}

/** The beginning of a public key: type and base64. The service decides whether the key is valid. */
const looksLikeKey = /^[a-z][\w@.-]*[ \t]+[A-Za-z0-9+/]{16,}=*(?:\s|$)/;

/** Reads a public key, and its source as `label`: a file or stdin; without a file, stdin if it has content, else ~/.ssh/id_rsa.pub. */
async function readKeyFile({ world, paths }: Context, file: string | undefined): Promise<{ label: string; content: string }> {
  const read = async (path: string): Promise<string> => (await readInput(world, path)).toString().trim();
  if (file !== undefined) return { label: file === '-' ? 'stdin' : file, content: await read(file) };
  const { isTerminal, obstacle } = world.stdin;
  const piped = isTerminal || obstacle !== undefined ? '' : await read('-');
  if (piped !== '') return { label: 'stdin', content: piped };
  const own = `${paths.ssh}/id_rsa.pub`;
  if (!existsSync(own)) {
    const make = `ssh-keygen -t rsa -b 3072 -f ${quoteShell(`${paths.ssh}/id_rsa`)}`;
    throw new UsageError(`no key was given, and ${own} does not exist`, {
      hint: [`create one: ${make}`, 'or give another file: cloud keys create FILE'],
    });
  }
  return { label: own, content: await read(own) };
}

type LocalKey = Awaited<ReturnType<Context['localKeys']>>[number];

/** The keys of the account; undefined without an address, or without a registered key to sign the request. */
async function listRegistered({ settings, compute, account, warn }: Context): Promise<Key[] | undefined> {
  if (settings().url === undefined) return undefined;
  try {
    return await compute.listKeys({ account });
  } catch (error) {
    if (!(error instanceof KeyError) && !(error instanceof ApiError && error.status === 401)) throw error;
    warn(`the registered keys are unknown: ${error.message}`);
    return undefined;
  }
}

/** The services that accept a key; the setting `storEcdsa` adds the object storage for ECDSA keys. */
function listUses({ settings }: Context, { type, usableFor }: LocalKey): readonly string[] {
  const { storEcdsa } = settings();
  const takesCurve = type === 'ecdsa' && readFlag(storEcdsa);
  return takesCurve ? [...usableFor, 'storage'] : usableFor;
}

/** True if the settings name a key for either service. */
function isInUse({ settings }: Context, key: LocalKey): boolean {
  const { keyFile, keyId, storKeyId } = settings();
  return keyFile?.value === key.source || [keyId, storKeyId].some((setting) => setting !== undefined && isNamedBy(setting.value, key));
}

/** The command that registers the public half of a private key. */
function derivePublic(file: string | undefined): string {
  return `ssh-keygen -y -f ${file === undefined ? 'FILE' : quoteShell(file)} | cloud keys create - --name NAME`;
}

/** Reads a public key from a file, stdin or the default file. @throws {UsageError} for anything else, of which nothing is sent */
export async function readPublicKeyText(context: Context, file: string | undefined): Promise<string> {
  const { label, content: key } = await readKeyFile(context, file);
  if (key.includes('PRIVATE KEY')) {
    throw new UsageError(`${label} contains a private key, which was not sent`, {
      hint: `give the public key: ${derivePublic(label === 'stdin' ? undefined : label)}`,
    });
  }
  if (key === '') throw new UsageError(`${label} is empty`, { hint: 'give the file of a public key, such as ~/.ssh/id_rsa.pub' });
  const count = key.split('\n').length;
  if (count > 1 && looksLikeKey.test(key)) {
    throw new UsageError(`${label} contains ${count} lines, but a public key is one; nothing was sent`, {
      hint: 'register one key at a time, such as a key of the agent: ssh-add -L | grep laptop | cloud keys create -',
    });
  }
  if (key.startsWith('ssh-ed25519 ')) {
    throw new UsageError(`${label} is an Ed25519 key, which the services do not accept; it was not sent`, {
      hint: `use an RSA or ECDSA key: ssh-keygen -t rsa -b 3072 -f ${quoteShell(`${context.paths.ssh}/id_rsa`)}`,
    });
  }
  if (looksLikeKey.test(key)) return key;
  throw new UsageError(`${label} contains no public key in OpenSSH format; nothing was sent`, {
    hint: `from a private key: ${derivePublic(undefined)}`,
  });
}

function checkCertificate(file: string, pem: string, now: number): string {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(pem);
  } catch (error) {
    throw new UsageError(`${file}: is not a PEM certificate`, {
      cause: error,
      hint: 'give the attestation certificate first, then its issuers',
    });
  }
  if (Date.parse(certificate.validTo) < now) throw new UsageError(`${file}: the certificate expired on ${certificate.validTo}`);
  if (Date.parse(certificate.validFrom) > now) throw new UsageError(`${file}: the certificate is valid from ${certificate.validFrom} on`);
  return pem;
}

/** Reads the certificates of `--attestation`; a file may have several. @throws {UsageError} if one is invalid or not valid now */
export async function readAttestation({ world }: Pick<Context, 'world'>, files: readonly string[]): Promise<string[] | undefined> {
  const certificates = [];
  for (const file of files) {
    const content = (await readInput(world, file)).toString();
    const found = content.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [content];
    certificates.push(...found.map((pem) => checkCertificate(file, `${pem.trim()}\n`, world.now())));
  }
  return certificates.length === 0 ? undefined : certificates;
}

/** Options of commands that register a key. */
export const keyOptions = {
  name: text('Name; default: the fingerprint', { placeholder: 'NAME' }),
  attestation: texts('Attestation certificate, PEM', { placeholder: 'FILE', values: 'file' }),
};

/** Columns of a list of keys. */
export const keyColumns: ColumnsOf<Key> = ['name', 'fingerprint', { key: 'attested', long: true }, { key: 'key', long: true }];

export const keys = group({
  summary: 'SSH keys of the account, which sign requests',
  commands: {
    list: listCommand({
      summary: 'List the SSH keys of the account',
      perDatacenter: true,
      aliases: ['ls'],
      columns: keyColumns,
      id: 'fingerprint',
      shape: keyShape,
      fetch: ({ compute, account }) => compute.listKeys({ account }),
      examples: [
        { line: 'cloud keys list', help: 'Names and fingerprints' },
        { line: 'cloud keys list -o name', help: 'One fingerprint per line, for scripts' },
      ],
    }),
    get: getCommand({
      summary: 'Show a key',
      perDatacenter: true,
      argument: 'key',
      help: 'Name, or MD5 or SHA256 fingerprint',
      values: 'key',
      id: 'fingerprint',
      listed: keyColumns,
      shape: keyShape,
      fetch: ({ compute, account }, word) =>
        fetchKey(word, { list: () => compute.listKeys({ account }), get: (key) => compute.getKey({ account, key }) }),
      examples: [
        { line: 'cloud keys get laptop', help: 'A key by name' },
        { line: 'cloud keys get laptop -j --columns key', help: 'Its public key as JSON' },
      ],
    }),
    create: changeCommand({
      summary: 'Register an SSH public key',
      aliases: ['add'],
      arguments: {
        file: maybe('File of the public key; - for stdin; default: stdin if it has data, otherwise ~/.ssh/id_rsa.pub', { values: 'file' }),
      },
      options: keyOptions,
      id: 'fingerprint',
      columns: ['name', 'fingerprint'],
      shape: keyShape,
      change: async (invocation) => {
        const { args, options, account, compute } = invocation;
        const key = await readPublicKeyText(invocation, args.file);
        const attestation = await readAttestation(invocation, options.attestation);
        return await compute.createKey({ account, key, name: options.name, attestation });
      },
      done: (key) => `Created key ${key.name}`,
      examples: [
        { line: 'cloud keys create ~/.ssh/id_rsa.pub --name laptop', help: 'Register the key of this machine' },
        { line: 'ssh-keygen -y -f work.pem | cloud keys create - --name work', help: 'From a private key, which stays on this machine' },
      ],
    }),
    delete: deleteCommand({
      summary: 'Remove SSH keys from the account',
      argument: 'key',
      help: 'Name, or MD5 or SHA256 fingerprint',
      values: 'key',
      noun: 'key',
      read: ({ compute, account }) => compute.listKeys({ account }),
      wholeId: readFingerprint,
      idWord: 'fingerprint',
      resolve: (listed, word, { settings }) => {
        const { name, fingerprint, key } = findKey(listed, word);
        const { keyId } = settings();
        const own = keyId !== undefined && isNamedBy(keyId.value, { md5: fingerprint, sha256: computeSha256(key) });
        return { id: fingerprint, label: own ? `${name} (it signs this request: you would lock yourself out)` : name };
      },
      remove: ({ compute, account }, key) => compute.deleteKey({ account, key }),
      examples: [
        { line: 'cloud keys delete laptop', help: 'With confirmation' },
        { line: 'cloud keys delete laptop work --yes', help: 'Several, without confirmation' },
      ],
    }),
    rotate,
    local: listCommand({
      summary: 'List the keys of this machine and which of them are registered',
      aliases: [],
      description:
        'Shows the private keys in ~/.ssh and in the ssh-agent, and the key file of the profile. REGISTERED tells whether the account has the key. It is empty if there is no profile yet, or if the service rejects the key that signs the request. IN-USE marks the keys that sign.',
      columns: [
        'source',
        'type',
        'bits',
        'md5',
        { key: 'sha256', long: true },
        'encrypted',
        'usableFor',
        'registered',
        'inUse',
        { key: 'comment', long: true },
      ],
      id: 'md5',
      fetch: async (context) => {
        const local = await context.localKeys(context.warn);
        const registered = await listRegistered(context);
        return local.map((key) => ({
          ...key,
          usableFor: listUses(context, key),
          ...(registered && { registered: registered.some(({ fingerprint }) => fingerprint === key.md5) }),
          inUse: isInUse(context, key),
        }));
      },
      examples: [
        { line: 'cloud keys local', help: 'Which of my keys work?' },
        { line: 'cloud keys local -l', help: 'With SHA256 fingerprints and comments' },
      ],
    }),
  },
});
