import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';

/** A request's target taken apart. */
export interface Target {
  /** Path as sent, without the query. */
  readonly path: string;
  /** Components of the path, percent-decoded; empty ones (duplicate and trailing slashes) are dropped. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

function refusePath(service: ServiceName, part: string): ApiError {
  const message = `${part} is not a valid path component`;
  return service === 'compute' ? new ApiError(400, 'BadRequest', message) : new ApiError(400, 'InvalidResource', message);
}

function decodePart(service: ServiceName, part: string): string {
  try {
    const decoded = decodeURIComponent(part);
    if (!decoded.includes('/') && !(service === 'compute' && decoded.includes('\0'))) return decoded;
  } catch {
    // Reported below, as a slash in a name is.
  }
  throw refusePath(service, part);
}

/**
 * Takes path and query of a request line apart.
 * @throws {ApiError} 400 when the path is not percent-encoded UTF-8, or has a NUL character, at which the database ends a text.
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
  return { path, parts, query: new URLSearchParams(mark === -1 ? '' : relative.slice(mark + 1)) };
}
