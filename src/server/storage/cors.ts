import { streamOf, type Headers, type HttpResponse } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import { splitList } from '../../base/split-list.ts';
import type { Call } from '../http/handler.ts';
import type { Store } from '../store/store.ts';
import { findEntry, requireEntry } from './entries.ts';
import { readStoredHeaders } from './headers.ts';
import { isPublic, placeOf } from './paths.ts';

/**
 * Stored headers for the response to a page of `origin`: the stored list of origins is replaced by the one requesting origin; if the list
 * does not contain it, all CORS headers are removed. Without an origin the list is returned whole. `Vary` tells caches that the response
 * depends on the origin.
 */
function limitOrigin(stored: Headers, origin: string | undefined): Headers {
  const allowed = stored['access-control-allow-origin'];
  if (allowed === undefined) return stored;
  const varying = { ...stored, vary: 'origin' };
  if (origin === undefined) return varying;
  if (allowed.trim() === '*' || splitList(allowed).includes(origin)) return { ...varying, 'access-control-allow-origin': origin };
  return dropCors(varying);
}

function dropCors(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('access-control-')));
}

/**
 * Stored headers of an object or a directory for the response to a GET by a page of `origin`: without CORS headers if the stored methods do
 * not contain the method used, and always without the time for which a preflight may be cached.
 */
export function showCors(stored: Headers, { headers: { origin }, method }: Pick<Call, 'headers' | 'method'>): Headers {
  const limited = limitOrigin(stored, origin);
  if (origin === undefined) return limited;
  const { 'access-control-max-age': _, ...shown } = limited;
  const methods = stored['access-control-allow-methods'];
  return methods === undefined || splitList(methods).includes(method === 'HEAD' ? 'GET' : method) ? shown : dropCors(shown);
}

/**
 * Responds to a preflight: `OPTIONS` with `Origin` and `Access-Control-Request-Method` on an object, which browsers send without a
 * signature (section 4, PutObject rule 5).
 * @param path below the account
 * @throws 403 `AuthorizationFailed` if the object's headers do not allow the request. If there is no object, 404 `ResourceNotFound` under
 * `public` and the same 403 elsewhere: without a signature nobody learns what exists there.
 */
export async function answerPreflight(store: Store, login: string, path: string, headers: Headers): Promise<HttpResponse> {
  const { origin, 'access-control-request-method': method, 'access-control-request-headers': asked = '' } = headers;
  if (origin === undefined || method === undefined) {
    throw new ApiError(400, 'BadRequest', 'a preflight request needs the headers Origin and Access-Control-Request-Method');
  }
  const place = placeOf(login, path);
  const entry = await (isPublic(place) ? requireEntry : findEntry)(store.db, place);
  const limited = entry === undefined ? {} : limitOrigin(readStoredHeaders(entry), origin);
  const methods = limited['access-control-allow-methods'] ?? 'GET, HEAD';
  const allowed = limited['access-control-allow-origin'];
  if (allowed === undefined || !splitList(methods).includes(method) || !allowsHeaders(limited, asked)) {
    throw new ApiError(403, 'AuthorizationFailed', `${place.path} does not allow ${method} from ${origin}`);
  }
  const granted = Object.entries(limited).filter(([name]) => name.startsWith('access-control-') || name === 'vary');
  return { status: 204, headers: { ...Object.fromEntries(granted), 'access-control-allow-methods': methods }, body: streamOf() };
}

function allowsHeaders(stored: Headers, asked: string): boolean {
  const allowed = splitList((stored['access-control-allow-headers'] ?? '').toLowerCase());
  return allowed.includes('*') || splitList(asked.toLowerCase()).every((name) => allowed.includes(name));
}
