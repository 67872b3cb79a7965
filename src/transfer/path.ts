import { encodePath } from '../client/request.ts';
import { UsageError } from '../base/errors.ts';
import { quoteShell } from '../base/quote.ts';

/** A path in the object storage: a login, and the path below it (`stor/logs/a.gz`). */
export interface RemotePath {
  account: string;
  path: string;
}

/** Reads `PROFILE/stor:PATH`, or `stor:PATH` of the current profile; undefined for any other text. */
export function readPlace(text: string): { profile: string | undefined; path: string } | undefined {
  const [, profile, path = ''] = /^(?:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\/)?(stor:.*)$/s.exec(text) ?? [];
  return path === '' ? undefined : { profile, path };
}

/** A hint for a path with dots: most likely the name without them was meant. */
function adviseOnDots(text: string): string {
  const plain = text.replace(/^(?:\.{1,2}\/+)+/, '');
  const isName = plain !== '' && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(plain);
  return isName ? `your stor directory is stor:; did you mean stor:${plain}?` : 'your stor directory is stor:';
}

/**
 * Reads a path as typed: `/login/stor/a` is absolute, `~~/stor/a` is below the account, anything else is below `/<account>/stor`. A leading
 * `stor:` is always allowed.
 * @throws {UsageError} for a path that names nothing in the storage, and for `PROFILE/stor:PATH`, a path in that of another profile
 */
export function readRemotePath(text: string, account: string): RemotePath {
  const { profile, path } = readPlace(text) ?? {};
  if (profile !== undefined) {
    throw new UsageError(`${text} is a path of the profile ${profile}, which only cp, sync and diff accept`, {
      hint: `use ${quoteShell(path ?? '')} with --profile ${profile}; for your own directory ${profile}: ${quoteShell(`stor:${text}`)}`,
    });
  }
  const typed = text.replace(/^stor:/, '');
  if (typed.includes('\0')) throw new UsageError(`${JSON.stringify(text)}: a path cannot contain NUL`);
  if (/\p{Surrogate}/u.test(typed)) throw new UsageError(`${JSON.stringify(text)}: a path cannot contain half of a surrogate pair`);
  const absolute = /^~~(\/|$)/.test(typed) ? `/${account}${typed.slice(2)}` : typed.startsWith('/') ? typed : `/${account}/stor/${typed}`;
  const [login = '', ...parts] = absolute.split('/').filter((part) => part !== '');
  if (parts.some((part) => part === '.' || part === '..')) {
    throw new UsageError(`${text}: "." and ".." are not names in the object storage`, { hint: adviseOnDots(text) });
  }
  if (login === '')
    throw new UsageError(`${text}: the path has no account`, { hint: 'give a path such as logs/a.gz or /login/stor/logs/a.gz' });
  return { account: login, path: parts.join('/') };
}

/** True for an account's own directory and its roots, which always exist and cannot be deleted: `/login/stor`. */
export function isRootDirectory({ path }: RemotePath): boolean {
  return !path.includes('/');
}

/** @throws {UsageError} for a path in `uploads`: a service may take whatever is put there for a part of a multipart upload */
export function assertStorable(target: RemotePath): void {
  if (!/^uploads(?:\/|$)/.test(target.path)) return;
  throw new UsageError(`${printRemotePath(target)} is in the directory of multipart uploads, where services only accept parts`, {
    hint: 'give a path such as logs/a.gz; to store a part: cloud mpu put-part',
  });
}

/** Reads the path of an object or a directory to be created, as `readRemotePath`. @throws {UsageError} also for a path in `uploads` */
export function readTargetPath(text: string, account: string): RemotePath {
  const target = readRemotePath(text, account);
  assertStorable(target);
  return target;
}

/** The absolute path: `/login/stor/a`. */
export function printRemotePath({ account, path }: RemotePath): string {
  return path === '' ? `/${account}` : `/${account}/${path}`;
}

/** The absolute path, quoted for a shell. */
export function quoteRemotePath(path: RemotePath): string {
  return quoteShell(printRemotePath(path));
}

/** Last component of a path; the login for an account's own directory. */
export function baseName({ account, path }: RemotePath): string {
  return path.split('/').at(-1) || account;
}

/** A path below another. */
export function joinPath(parent: RemotePath, name: string): RemotePath {
  return { account: parent.account, path: parent.path === '' ? name : `${parent.path}/${name}` };
}

/** The directory that a path is in; undefined for an account's own directory. */
export function parentOf({ account, path }: RemotePath): RemotePath | undefined {
  if (path === '') return undefined;
  return { account, path: path.split('/').slice(0, -1).join('/') };
}

/** The absolute path, percent-encoded for a request line or a Location header. */
export function encodeRemotePath(path: RemotePath): string {
  return encodePath(printRemotePath(path));
}
