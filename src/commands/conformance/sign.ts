import { sign } from 'node:crypto';
import type { ServiceName } from '../../api/operation.ts';
import { encodePart } from '../../client/request.ts';
import type { TemporaryKey } from '../rsa-key.ts';

/** Signatures written from the documents alone: the signing code of the rest of the program is not used. */

/** The owner of a key. */
export interface Identity {
  readonly key: TemporaryKey;
  readonly account: string;
  readonly user?: string;
}

/** Parameters of a signature; absent ones are as in the documents. */
export interface Signing extends Identity {
  readonly service: ServiceName;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly algorithm?: 'rsa-sha1' | 'rsa-sha256';
  /** Replaces the fingerprint in the keyId. */
  readonly keyName?: string;
  /** Writes the keyId without quotes, as the compute document does. */
  readonly isBare?: true;
  /** Signs another text than the correct one. */
  readonly isWrong?: true;
}

function signText(text: string, { key, algorithm = 'rsa-sha256' }: Pick<Signing, 'key' | 'algorithm'>): string {
  return sign(algorithm === 'rsa-sha1' ? 'sha1' : 'sha256', Buffer.from(text), key.privateKey).toString('base64');
}

/** The keyId: the path of the key (compute: section 5, rule 2; storage: section 5, rules 1 and 4). */
function writeKeyPath({ service, account, user, key, keyName }: Pick<Signing, 'service' | 'account' | 'user' | 'key' | 'keyName'>): string {
  const users = user === undefined ? '' : service === 'compute' ? `/users/${user}` : `/${user}`;
  return `/${account}${users}/keys/${keyName ?? key.md5}`;
}

export function signDate(signing: Signing): { date: string; authorization: string } {
  const { service, now, algorithm = 'rsa-sha256', isBare, isWrong } = signing;
  const date = new Date(now).toUTCString();
  const text = (service === 'storage' ? `date: ${date}` : date) + (isWrong ? ' or so' : '');
  const path = writeKeyPath(signing);
  const keyId = isBare ? path : `"${path}"`;
  const signature = signText(text, signing);
  const tail = service === 'storage' ? `,signature="${signature}"` : ` ${signature}`;
  return { date, authorization: `Signature keyId=${keyId},algorithm="${algorithm}"${tail}` };
}

/** What a signed URL allows. */
export interface UrlRequest extends Identity {
  readonly service: ServiceName;
  readonly method: string;
  /** Methods that the URL names in its query. */
  readonly methods?: readonly string[];
  readonly host: string;
  readonly path: string;
  /** Seconds since the epoch. */
  readonly expires: number;
  readonly query?: Readonly<Record<string, string>>;
}

/** Returns path and query of a signed URL (compute: section 5, rule 4; storage: section 5, rule 5). */
export function signUrl({ service, method, methods, host, path, expires, query = {}, ...identity }: UrlRequest): string {
  const named = methods && [...methods].sort().join(',');
  const pairs: Record<string, string> = {
    ...query,
    algorithm: 'rsa-sha256',
    expires: String(expires),
    keyId: writeKeyPath({ service, ...identity }),
    ...(service === 'storage' && { user: identity.account }),
    ...(named !== undefined && { method: named }),
  };
  const written = Object.keys(pairs)
    .sort()
    .map((name) => `${encodePart(name)}=${encodePart(pairs[name] ?? '')}`)
    .join('&');
  const signature = signText([named ?? method, host, path, written].join('\n'), { key: identity.key });
  return `${path}?${written}&signature=${encodePart(signature)}`;
}
