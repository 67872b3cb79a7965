import type { Context } from '../cli/command.ts';
import { encodePart } from '../client/request.ts';
import { withHint } from '../base/error-copies.ts';
import { UsageError, type ApiError } from '../base/errors.ts';
import { quoteShell } from '../base/quote.ts';

/** A path as the user typed it, and its service. */
export interface TypedPath {
  readonly path: string;
  readonly isStorage: boolean;
  /** The words before the path: `cloud api GET`. */
  readonly words: readonly string[];
}

/** The directories that follow the account in paths of the object storage. */
const roots = /^(stor|public|jobs|uploads|reports)(?=[/?]|$)/;

function writeLine({ words }: TypedPath, isStorage: boolean, path: string): string {
  return `${words.join(' ')} ${quoteShell(path)}${isStorage ? ' --service stor' : ''}`;
}

/** Returns the corrected command line: the path below the user's own account, of the service that has such paths. */
function suggestOwn(typed: TypedPath): string {
  const below = typed.path.replace(/^\/?(?:~~|my)(?:\/|$)|^\/+/, '');
  const isStorage = typed.isStorage || /^\/?~~/.test(typed.path) || roots.test(below);
  if (isStorage) return writeLine(typed, true, roots.test(below) ? `~~/${below}` : `~~/stor/${below}`);
  return writeLine(typed, false, /^--ping(?=[/?]|$)/.test(below) ? `/${below}` : below === '' ? '/my' : `/my/${below}`);
}

/**
 * Returns a path and query as the service expects them, with `~~` of the object storage replaced by the account.
 * @throws {UsageError} when the path does not begin with a slash; the hint is the corrected command line
 */
export function readPath({ account }: Pick<Context, 'account'>, typed: TypedPath): string {
  const { path, isStorage } = typed;
  if (isStorage && /^\/?~~(?=[/?]|$)/.test(path)) return path.replace(/^\/?~~/, `/${encodePart(account)}`);
  if (path.startsWith('/')) return path;
  const [, below] = /^https?:\/\/[^/]+(\/.+)$/is.exec(path) ?? [];
  if (below !== undefined) throw new UsageError(`"${path}" is a URL, not a path`, { hint: writeLine(typed, isStorage, below) });
  throw new UsageError(`"${path}" does not begin with a slash`, { hint: suggestOwn(typed) });
}

/** Adds the corrected command line to an error about a path that belongs to the other service or names no account. */
export function explainPath(error: ApiError, typed: TypedPath): ApiError {
  if (![400, 403, 404, 405].includes(error.status)) return error;
  const { path, isStorage } = typed;
  const [, first = '', ...others] = path.split('/');
  if (!isStorage && error.status !== 403 && roots.test(others.join('/')))
    return withHint(error, `for a path of the object storage: ${writeLine(typed, true, path)}`);
  const isUnknown =
    (!isStorage && roots.test(path.slice(1))) ||
    error.code === 'AccountDoesNotExist' ||
    error.message.startsWith(`the account ${first.replace(/\?.*$/s, '')} does not exist`);
  return isUnknown ? withHint(error, `a path begins with an account: ${suggestOwn(typed)}`) : error;
}

/**
 * Returns the request target for the page of a listing that begins at a marker. The page may contain the marker itself, so that a limit of 1
 * would return nothing new: it becomes 2.
 */
export function setMarker(target: string, marker: string): string {
  const [path = '', search = ''] = target.split(/\?(.*)/s);
  const others = search
    .split('&')
    .filter((pair) => pair !== '' && pair !== 'marker' && !pair.startsWith('marker='))
    .map((pair) => (/^limit=0*1$/.test(pair) ? 'limit=2' : pair));
  return `${path}?${[...others, `marker=${encodePart(marker)}`].join('&')}`;
}

/** Encodes a path for the request line: percent-encoded octets are kept, characters that a request line forbids are encoded. */
export function encodeTyped(path: string): string {
  return path.replaceAll(/%(?![0-9a-f]{2})/gi, '%25').replaceAll(/[^\x21-\x7e]|["<>\\^`{|}]/gu, encodeURIComponent);
}
