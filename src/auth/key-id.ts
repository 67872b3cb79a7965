import type { ServiceName } from '../api/operation.ts';
import { quietly } from '../base/errors.ts';

/** The key that a request claims to be signed with. */
export interface KeyId {
  /** Login of the account; compute also accepts its UUID. */
  account: string;
  /** Login of the sub-user. */
  user?: string;
  /** MD5 fingerprint; compute also accepts the key's name. */
  key: string;
}

/** Percent-encodes characters that are not valid in a path or a quoted parameter; the colons of fingerprints stay. */
function encodePart(part: string): string {
  return part.replace(/[^\w.@:+-]+/gu, encodeURIComponent);
}

/**
 * The `keyId` of a request: `/login/keys/K`; for a sub-user `/login/users/SUB/keys/K` on compute (section 5) and `/login/SUB/keys/K` on
 * storage (section 5), where the parts are percent-encoded.
 */
export function writeKeyId(
  service: ServiceName,
  { account, user, key }: { account: string; user?: string | undefined; key: string },
): string {
  if (service === 'compute') return user === undefined ? `/${account}/keys/${key}` : `/${account}/users/${user}/keys/${key}`;
  const owner = user === undefined ? [account] : [account, user];
  return `/${[...owner, 'keys', key].map(encodePart).join('/')}`;
}

function decodeParts(parts: readonly string[]): string[] | undefined {
  return quietly(() => parts.map(decodeURIComponent), undefined);
}

/** Reads a `keyId`; undefined when it is malformed. */
export function parseKeyId(service: ServiceName, keyId: string): KeyId | undefined {
  const [root, ...raw] = keyId.split('/');
  const parts = service === 'storage' ? decodeParts(raw) : raw;
  if (root !== '' || parts === undefined || parts.some((part) => part === '')) return undefined;
  const [account = '', ...rest] = parts;
  const key = rest.at(-1) ?? '';
  if (rest.length === 2 && rest[0] === 'keys') return { account, key };
  const [first = '', second = '', third] = rest;
  if (service === 'storage') return rest.length === 3 && second === 'keys' ? { account, user: first, key } : undefined;
  return rest.length === 4 && first === 'users' && third === 'keys' ? { account, user: second, key } : undefined;
}

function decodeHeaderBytes(text: string): string {
  if (!/^[\0-\xff]*$/u.test(text)) return text;
  return quietly(() => new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(text, 'latin1')), text);
}

/**
 * The names that the last component of a `keyId` of compute may stand for. It comes from a path (section 5), so that it may be
 * percent-encoded, or from a header, which has one character for each byte of UTF-8. What it stands for literally comes first.
 */
export function listKeyNames(key: string): string[] {
  const text = decodeHeaderBytes(key);
  return [...new Set([key, text, quietly(() => decodeURIComponent(text), text)])];
}
