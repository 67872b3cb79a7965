import type { ServiceName } from '../api/operation.ts';
import { AuthorizationSyntaxError, type ParsedSignature } from './authorization-header.ts';
import { chooseAlgorithm, type Signer } from './signer.ts';

/** A query as decoded pairs; a name may occur several times. */
export type QueryPairs = readonly (readonly [name: string, value: string])[];

/** The parts of the text that a pre-signed URL signs. */
export interface PresignedParts {
  /** First line of the text: permitted methods, sorted when this program signs. */
  methods: readonly string[];
  /** As in the `Host` header, with the port. */
  host: string;
  /** As in the request line, still percent-encoded, without the query. */
  path: string;
  /** All parameters; `signature` is left out. */
  query: QueryPairs;
}

/** Percent-encodes everything but letters, digits, `-`, `_`, `.` and `~`. */
function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

function writeQuery(query: QueryPairs): string {
  const ordered = query.filter(([name]) => name !== 'signature').sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  return ordered.map(([name, value]) => `${encodeStrictly(name)}=${encodeStrictly(value)}`).join('&');
}

/** The four lines that are signed: methods, host, request URI, query sorted by name (section 5 of both specifications). */
export function presignedText({ methods, host, path, query }: PresignedParts): string {
  return [methods.join(','), host, path, writeQuery(query)].join('\n');
}

/** Of `methods` there is at least one; several go into the parameter `method`. */
export interface PresignOptions extends Omit<PresignedParts, 'query'> {
  service: ServiceName;
  signer: Signer;
  /** Full path, as `writeKeyId` gives it. */
  keyId: string;
  /** Login of the account: storage's `user` parameter. */
  user?: string | undefined;
  /** Expiry of the URL, in seconds since the epoch. */
  expires: number;
  /** The request's own parameters, decoded. */
  query?: QueryPairs;
}

/**
 * Creates a pre-signed URL: path and query, to be appended to the service's base address. Anyone who has the URL can make the request until
 * it expires.
 * @throws {KeyError} when the key cannot sign
 */
export async function presign({ service, signer, keyId, methods, host, path, user, expires, query = [] }: PresignOptions): Promise<string> {
  const { algorithm, hash } = chooseAlgorithm(signer);
  const pairs: QueryPairs = [
    ...query,
    ['algorithm', algorithm],
    ['expires', String(Math.floor(expires))],
    ['keyId', keyId],
    ...(methods.length > 1 ? [['method', methods.toSorted().join(',')] as const] : []),
    ...(service === 'storage' && user !== undefined ? [['user', user] as const] : []),
  ];
  const signature = await signer.sign(presignedText({ methods: methods.toSorted(), host, path, query: pairs }), hash);
  return `${path}?${writeQuery(pairs)}&signature=${encodeStrictly(Buffer.from(signature).toString('base64'))}`;
}

/** The parts of a pre-signed request that are needed to verify it. */
export interface PresignedSignature extends Pick<ParsedSignature, 'keyId' | 'algorithm' | 'signature'> {
  /** Storage's `user` parameter, when sent. */
  user?: string;
  /** The texts that may have been signed: with the methods sorted, as signers of deployed services do, or as given. */
  texts: readonly string[];
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AuthorizationSyntaxError('the query string is not percent-encoded UTF-8', 'presigned');
  }
}

function readPair(text: string): readonly [string, string] {
  const [name = '', ...value] = text.split('=');
  return [decodePart(name), decodePart(value.join('='))];
}

const required = ['keyId', 'algorithm', 'expires', 'signature'] as const;

/** The value of a parameter that must occur exactly once. */
function takeParameter(query: QueryPairs, name: string): string {
  const [value, ...more] = query.filter(([other]) => other === name).map(([, value]) => value);
  if (value === undefined || value === '') throw new AuthorizationSyntaxError(`the pre-signed URL lacks ${name}`, 'presigned');
  if (more.length > 0) throw new AuthorizationSyntaxError(`the pre-signed URL has ${name} twice`, 'presigned');
  return value;
}

function checkExpiry(text: string, now: number): void {
  if (!/^[1-9]\d{0,14}$/.test(text))
    throw new AuthorizationSyntaxError('expires must be a positive number of seconds since the epoch', 'presigned');
  const late = Math.floor(now / 1000) - Number(text);
  if (late > 0) throw new AuthorizationSyntaxError(`the pre-signed URL expired ${late} s ago`, 'presigned');
}

function listMethods(query: QueryPairs, method: string): string[] {
  if (!query.some(([name]) => name === 'method')) return [method];
  const methods = takeParameter(query, 'method')
    .split(',')
    .map((name) => name.trim());
  if (methods.includes(method)) return methods;
  throw new AuthorizationSyntaxError(`the pre-signed URL is for ${methods.join(', ')}, not for ${method}`, 'presigned');
}

/** The parts of a request that a pre-signed URL covers. */
export interface PresignedRequest {
  method: string;
  /** Path and query as in the request line. */
  target: string;
  /** The `Host` header. */
  host: string;
}

/** True if a request target is a pre-signed URL: its query contains `signature` or `keyId`, however the names are encoded. */
export function isPresignedTarget(target: string): boolean {
  const mark = target.indexOf('?');
  if (mark === -1) return false;
  const query = new URLSearchParams(target.slice(mark + 1));
  return query.has('signature') || query.has('keyId');
}

/** Splits a request target into path and query pairs. @throws {AuthorizationSyntaxError} when the query is not percent-encoded UTF-8 */
export function splitTarget(target: string): { path: string; query: QueryPairs } {
  const [path = '', ...search] = target.split('?');
  return { path, query: search.join('?').split('&').filter(Boolean).map(readPair) };
}

/**
 * Parses a pre-signed URL; undefined when the request is not pre-signed (it has neither `signature` nor `keyId`).
 * @param now milliseconds since the epoch
 * @throws {AuthorizationSyntaxError} with the reason `presigned` when the URL is incomplete, expired or for another method
 */
export function parsePresigned({ method, target, host }: PresignedRequest, now: number): PresignedSignature | undefined {
  if (!isPresignedTarget(target)) return undefined;
  const { path, query } = splitTarget(target);
  const [keyId, algorithm, expires, signature] = required.map((name) => takeParameter(query, name)) as [string, string, string, string];
  checkExpiry(expires, now);
  const methods = listMethods(query, method);
  const write = (ordered: readonly string[]): string => presignedText({ methods: ordered, host, path, query });
  const user = query.find(([name]) => name === 'user')?.[1];
  return {
    keyId,
    algorithm: algorithm.toLowerCase(),
    signature,
    ...(user !== undefined && { user }),
    texts: [...new Set([write(methods.toSorted()), write(methods)])],
  };
}
