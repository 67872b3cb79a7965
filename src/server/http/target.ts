import type { ServiceName } from '../../api/operation.ts';
import { ApiError, quietly } from '../../base/errors.ts';

/** The parsed target of a request. */
export interface Target {
  /** The path as sent, without the query. */
  readonly path: string;
  /** Components of the path, percent-decoded; empty ones (duplicate and trailing slashes) are dropped. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

function decodePart(service: ServiceName, part: string): string {
  try {
    const decoded = decodeURIComponent(part);
    if (!decoded.includes('/') && !(service === 'compute' && decoded.includes('\0'))) return decoded;
  } catch {
    // Reported below, like a slash in a name.
  }
  throw new ApiError(400, service === 'compute' ? 'BadRequest' : 'InvalidResource', `${part} is not a valid path component`);
}

/** `URLSearchParams` would read a malformed sequence literally, and bytes that are not UTF-8 as another character. */
function parseQuery(service: ServiceName, text: string): URLSearchParams {
  if (text === '') return new URLSearchParams();
  const malformed = text.split(/[&=]/u).find((part) => quietly(() => decodeURIComponent(part), undefined) === undefined);
  if (malformed === undefined) return new URLSearchParams(text);
  const code = service === 'compute' ? 'BadRequest' : 'InvalidArgumentError';
  throw new ApiError(400, code, `"${malformed}" in the query is not percent-encoded UTF-8`);
}

/**
 * Parses path and query of a request line.
 * @throws {ApiError} 400 if they are not percent-encoded UTF-8, or if the path has a NUL character, at which the database ends a text.
 */
export function parseTarget(service: ServiceName, target: string): Target {
  // Proxies may send the absolute form.
  const relative = target.replace(/^https?:\/\/[^/?]*/iu, '');
  const mark = relative.indexOf('?');
  const path = mark === -1 ? relative : relative.slice(0, mark);
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodePart(service, part));
  return { path, parts, query: parseQuery(service, mark === -1 ? '' : relative.slice(mark + 1)) };
}
