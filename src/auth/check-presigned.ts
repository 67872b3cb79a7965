import type { ServiceName } from '../api/operation.ts';
import { AuthorizationSyntaxError } from './authorization-header.ts';
import { parseKeyId, type KeyId } from './key-id.ts';
import {
  parsePresigned,
  presignedText,
  splitTarget,
  type PresignedParts,
  type PresignedRequest,
  type PresignedSignature,
  type QueryPairs,
} from './presign.ts';
import type { PublicKey } from './public-key.ts';
import { acceptedAlgorithms, isAcceptedAlgorithm, verifySignature } from './verify.ts';
import { quietly } from '../base/errors.ts';

/** A public key that is available locally, and the location of its private key. */
export interface KnownKey {
  publicKey: PublicKey;
  /** Path of the key file, or `ssh-agent`. */
  source: string;
}

/** A pre-signed URL as a service would receive it. */
export interface PresignedUrl extends Omit<PresignedRequest, 'method'> {
  service: ServiceName;
  /** Method of the request. When absent, all are tried: only the signature of a URL without `method` tells which method it is for. */
  method?: string | undefined;
  /** Other names of the same service; the signer may have used one of them. */
  otherHosts: readonly string[];
}

/** A line of the signed text that differs from the URL. */
export interface LineDifference {
  /** 1: methods, 2: host, 3: path, 4: query. */
  line: number;
  signed: string;
  url: string;
}

/** The result of checking a pre-signed URL without sending a request. */
export interface PresignedCheck {
  keyId?: KeyId;
  /** As the URL names it. */
  algorithm?: string;
  /** Milliseconds since the epoch. */
  expires?: number;
  /** Methods that the URL permits; empty when only the signature could tell and its key is not available. */
  methods: string[];
  /** The four lines that a service verifies; empty when the URL is incomplete. */
  lines: string[];
  /** `fits` if the signature is that of these lines; `unknown` when the key is not available. */
  result: 'fits' | 'differs' | 'unknown';
  /** The key that the signature was verified with. */
  key?: KnownKey;
  difference?: LineDifference;
  /** Reasons for a service to reject the URL, whatever its signature is. */
  problems: string[];
}

const methodNames = ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST', 'PATCH'];
const ownParameters = new Set(['algorithm', 'expires', 'keyId', 'signature', 'user', 'method', 'role', 'as-role']);

/** The result of `read`; when it throws `AuthorizationSyntaxError`, undefined, and the message is added to `problems` once. */
function attempt<T>(problems: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof AuthorizationSyntaxError)) throw error;
    if (!problems.includes(error.message)) problems.push(error.message);
    return undefined;
  }
}

/** The keys that a `keyId` may refer to: those with its fingerprint; all keys if it contains a name, which only the service can resolve. */
function chooseKeys(keys: readonly KnownKey[], named: KeyId | undefined): readonly KnownKey[] {
  const word = named?.key.toLowerCase() ?? '';
  if (!/^(?:[\da-f]{2}:){15}[\da-f]{2}$/.test(word)) return named === undefined ? [] : keys;
  return keys.filter(({ publicKey }) => publicKey.fingerprints.md5 === word);
}

function decodeOrKeep(text: string): string {
  return quietly(() => decodeURIComponent(text), text);
}

/** Variants of a path that programs sign by mistake: decoded, encoded differently, with or without slashes. */
function listPaths(path: string): string[] {
  const decoded = decodeOrKeep(path);
  const bare = path.replace(/\/+$/, '');
  return [
    decoded,
    encodeURI(decoded),
    decoded.split('/').map(encodeURIComponent).join('/'),
    path.replaceAll(/\/{2,}/g, '/'),
    bare,
    `${bare}/`,
  ];
}

/** Variants of a query that programs sign by mistake: raw, decoded, encoded differently, or without parameters that were added later. */
function listQueries(target: string, query: QueryPairs): string[] {
  const own = query.filter(([name]) => name !== 'signature');
  const raw = target
    .slice(target.indexOf('?') + 1)
    .split('&')
    .filter((pair) => !/^signature=/i.test(pair));
  const sorted = raw.toSorted();
  const write = (pairs: QueryPairs): string => presignedText({ methods: [], host: '', path: '', query: pairs }).split('\n')[3] ?? '';
  const added = own.filter(([name]) => !ownParameters.has(name));
  const whole = write(own);
  return [
    write(own.filter(([name]) => ownParameters.has(name))),
    ...added.map(([name]) => write(own.filter((pair) => pair[0] !== name))),
    raw.join('&'),
    sorted.join('&'),
    decodeOrKeep(whole),
    decodeOrKeep(raw.join('&')),
    own
      .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
      .toSorted()
      .join('&'),
    whole.replaceAll('%20', '+'),
    `${whole}\n`,
  ];
}

/** Finds the line that was signed differently, if a common mistake explains the signature. */
function findDifference(
  url: PresignedUrl,
  { methods, ...parts }: PresignedParts,
  verifies: (text: string) => boolean,
): LineDifference | undefined {
  const lines = presignedText({ methods, ...parts }).split('\n');
  const candidates: readonly (readonly string[])[] = [
    [...methodNames, methods.join(', '), methods.toReversed().join(','), methods.join(',').toLowerCase()],
    url.otherHosts,
    listPaths(parts.path),
    listQueries(url.target, parts.query),
  ];
  for (const [at, others] of candidates.entries()) {
    const given = lines[at] ?? '';
    const signed = others.find((other) => other !== given && verifies(lines.with(at, other).join('\n')));
    if (signed !== undefined) return { line: at + 1, signed, url: given };
  }
  return undefined;
}

interface Reading {
  parsed: PresignedSignature;
  methods: readonly string[];
  verifies: (text: string, key: KnownKey) => boolean;
}

/** The parsed signature, for each method that the URL may be for. */
function readFor(url: PresignedUrl, query: QueryPairs, problems: string[]): Reading[] {
  const listed = query
    .find(([name]) => name === 'method')?.[1]
    .split(',')
    .map((name) => name.trim());
  const first = url.method ?? listed?.[0];
  return (first === undefined ? methodNames : [first]).flatMap((method) => {
    const parsed = attempt(problems, () => parsePresigned({ method, target: url.target, host: url.host }, 0));
    if (parsed === undefined) return [];
    const verifies = (text: string, { publicKey }: KnownKey): boolean =>
      verifySignature(publicKey.keyObject, parsed.algorithm, text, parsed.signature);
    return [{ parsed, methods: listed ?? [method], verifies }];
  });
}

/** Explains a signature that does not verify by a cause other than the lines: another key, or another algorithm. */
function explainOtherwise(readings: readonly Reading[], chosen: readonly KnownKey[], keys: readonly KnownKey[]): string | undefined {
  for (const { parsed, verifies } of readings) {
    const other = keys.find((key) => parsed.texts.some((text) => verifies(text, key)));
    if (other) return `it was signed with the key ${other.publicKey.fingerprints.md5} (${other.source}), not with the key of keyId`;
    for (const { publicKey } of chosen) {
      const signs = (name: string): boolean =>
        parsed.texts.some((text) => verifySignature(publicKey.keyObject, name, text, parsed.signature));
      const name = acceptedAlgorithms.storage.find(signs);
      if (name !== undefined) return `it was signed with ${name}, but its parameter algorithm is ${parsed.algorithm}`;
    }
  }
  return undefined;
}

/** Reads the parameters and reports invalid ones. */
function readParameters(url: PresignedUrl, query: QueryPairs, { parsed }: Reading, now: number, problems: string[]) {
  const { keyId: id, algorithm } = parsed;
  const keyId = parseKeyId(url.service, id);
  if (keyId === undefined) problems.push(`keyId ${id} does not have the form that the ${url.service} service requires`);
  if (!isAcceptedAlgorithm(url.service, algorithm)) problems.push(`the ${url.service} service does not accept the algorithm ${algorithm}`);
  const expires = Number(query.find(([name]) => name === 'expires')?.[1]) * 1000;
  const listed = query.find(([name]) => name === 'method')?.[1];
  const method = url.method ?? listed?.split(',')[0]?.trim() ?? 'GET';
  attempt(problems, () => parsePresigned({ method, target: url.target, host: url.host }, now));
  return { algorithm, expires, ...(keyId && { keyId }) };
}

/**
 * Explains a pre-signed URL offline: the text that its signature covers, whether an available key made it, and why a service would reject
 * it.
 * @param now milliseconds since the epoch
 */
export function checkPresigned(url: PresignedUrl, keys: readonly KnownKey[], now: number): PresignedCheck {
  const problems: string[] = [];
  const { path, query } = attempt(problems, () => splitTarget(url.target)) ?? { path: '', query: [] };
  const readings = problems.length > 0 ? [] : readFor(url, query, problems);
  const [first] = readings;
  if (first === undefined) return { methods: [], lines: [], result: 'unknown', problems };
  const known = readParameters(url, query, first, now, problems);
  const chosen = chooseKeys(keys, known.keyId);
  const describe = (reading: Reading, text = reading.parsed.texts[0]): Pick<PresignedCheck, 'methods' | 'lines' | 'problems'> => ({
    methods: [...reading.methods],
    lines: text?.split('\n') ?? [],
    problems,
  });
  for (const reading of readings) {
    for (const key of chosen) {
      const text = reading.parsed.texts.find((each) => reading.verifies(each, key));
      if (text !== undefined) return { ...known, ...describe(reading, text), result: 'fits', key };
    }
  }
  const [key] = chosen;
  const isOpen = readings.length > 1;
  const facts = { ...known, ...describe(first), ...(isOpen && { methods: [] }) };
  const other = explainOtherwise(readings, chosen, keys);
  if (other !== undefined) problems.push(other);
  // If `keyId` contains a name, the key may be one that is not available locally.
  if (key === undefined || chosen.length > 1) return { ...facts, result: other === undefined ? 'unknown' : 'differs' };
  for (const reading of other === undefined ? readings : []) {
    const { methods, verifies } = reading;
    const parts = { methods: methods.toSorted(), host: url.host, path, query };
    const difference = findDifference(url, parts, (text) => verifies(text, key));
    if (difference) return { ...known, ...describe(reading), result: 'differs', key, difference };
  }
  return { ...facts, result: 'differs', key };
}
