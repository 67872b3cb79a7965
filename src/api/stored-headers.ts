import type { Headers } from './message.ts';

/** Maximum total bytes in the names and values of the stored headers of an object (object storage, section 8). */
export const headerLimit = 4096;

const storedNames = new Set([
  'content-type',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
  'access-control-expose-headers',
  'access-control-max-age',
  'cache-control',
  'surrogate-key',
  'content-disposition',
]);

/** True if services store a header with an object. */
export function isStoredHeader(name: string): boolean {
  return storedNames.has(name) || (name.startsWith('m-') && name.length > 2);
}

/** The headers of a request or response that are stored with an object. */
export function pickStoredHeaders(headers: Headers): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isStoredHeader(name)));
}
