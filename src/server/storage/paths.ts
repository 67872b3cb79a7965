import { ApiError } from '../../base/errors.ts';

/** The place of an entry: the two columns of its primary key, and its path. */
export interface Place {
  login: string;
  /** Components below the account; none for the account's own directory. */
  parts: readonly string[];
  /** Path of the parent without a trailing slash; empty for the account's own directory. */
  parent: string;
  name: string;
  /** `/demo/stor/a`. */
  path: string;
}

/** The directories that every account has. */
export const roots = ['jobs', 'public', 'reports', 'stor', 'uploads'] as const;

/** Maximum bytes in a name. */
const nameLimit = 1024;

/** The place of a path below an account. @throws 400 `InvalidResource` for `.`, `..`, NUL and names that are too long. */
export function placeOf(login: string, path: string): Place {
  const parts = path.split('/').filter((part) => part !== '');
  for (const part of parts) checkName(part);
  return locate(login, parts);
}

/** The place that the path inputs of an operation name, and that of its directory; undefined if they name none. */
export function placeAt({ account, path }: Readonly<Record<string, string>>): { place: Place; above: Place } | undefined {
  if (account === undefined || path === undefined) return undefined;
  try {
    const place = placeOf(account, path);
    const above = parentOf(place);
    return above && { place, above };
  } catch (error) {
    // Reported later: a caller without permission must get that error first.
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

/** The place of an absolute path like `/demo/stor/a`; undefined if it names no account. */
export function placeOfAbsolute(path: string): Place | undefined {
  const [login, ...parts] = path.split('/').filter((part) => part !== '');
  if (!path.startsWith('/') || login === undefined) return undefined;
  return placeOf(login, parts.join('/'));
}

/** The place of the directory that holds an entry; undefined for an account's own directory. */
export function parentOf(place: Place): Place | undefined {
  return place.parts.length === 0 ? undefined : locate(place.login, place.parts.slice(0, -1));
}

export function childOf(place: Place, name: string): Place {
  return locate(place.login, [...place.parts, name]);
}

/** @throws 400 for an account's own directory and its roots, which cannot be replaced, linked or deleted. */
export function refuseRoot(place: Place): void {
  if (place.parts.length > 1) return;
  throw new ApiError(
    400,
    'OperationNotAllowedOnRootDirectory',
    `${place.path} is fixed: only entries below ${describeRoots(place)} can be changed`,
  );
}

/** True for the root of multipart uploads and everything below it. */
export function isOfUploads(place: Place): boolean {
  return place.parts[0] === 'uploads';
}

/** @throws 405 for paths that only multipart uploads may write. */
export function refuseUploads(place: Place): void {
  if (!isOfUploads(place)) return;
  throw new ApiError(405, 'MethodNotAllowed', `${place.path} is changed only by multipart uploads: create, put a part, commit or abort`);
}

/** True if anyone may read what is there. */
export function isPublic(place: Place): boolean {
  return place.parts[0] === 'public';
}

function locate(login: string, parts: readonly string[]): Place {
  const path = ['', login, ...parts].join('/');
  const name = parts.at(-1);
  if (name === undefined) return { login, parts, parent: '', name: path, path };
  return { login, parts, parent: path.slice(0, -name.length - 1), name, path };
}

function checkName(name: string): void {
  if (name === '.' || name === '..') throw new ApiError(400, 'InvalidResource', `a path cannot have the component "${name}"`);
  if (name.includes('\0')) throw new ApiError(400, 'InvalidResource', 'a path cannot contain a NUL character');
  if (Buffer.byteLength(name) > nameLimit) throw new ApiError(400, 'InvalidResource', `a name cannot have more than ${nameLimit} bytes`);
}

function describeRoots(place: Place): string {
  return roots.map((root) => `/${place.login}/${root}`).join(', ');
}
