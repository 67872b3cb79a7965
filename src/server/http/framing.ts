import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../base/errors.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';

/** Counts the occurrences of a header in a request, before Node.js joins or drops them. */
function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}

/** The limit that the request line or the header lines exceed. */
function findOversize({ url = '', rawHeaders }: IncomingMessage, settings: ServiceSettings): LimitReached | undefined {
  const longest = limitOf(settings, 'targetBytes');
  // Node.js gives one character for each byte received.
  if (url.length > longest)
    return new LimitReached(414, 'RequestURITooLong', `path and query of a request may have at most ${longest} bytes`, 'targetBytes');
  const most = limitOf(settings, 'headerLines');
  if (rawHeaders.length / 2 > most)
    return new LimitReached(431, 'RequestHeaderFieldsTooLarge', `a request may have at most ${most} header lines`, 'headerLines');
  const largest = limitOf(settings, 'headerBytes');
  // Each name and value has a colon, a blank and an end of line.
  const size = rawHeaders.reduce((sum, { length }) => sum + length + 2, 0);
  if (size <= largest) return undefined;
  return new LimitReached(
    431,
    'RequestHeaderFieldsTooLarge',
    `the header lines of a request may have at most ${largest} bytes`,
    'headerBytes',
  );
}

/** The error for a request that is too large, not supported, or ambiguous: two parsers could read two different requests. */
export function findFramingError(incoming: IncomingMessage, expects: boolean, settings: ServiceSettings): ApiError | undefined {
  const { headers } = incoming;
  const oversize = findOversize(incoming, settings);
  if (oversize) return oversize;
  if (headers.host === undefined && incoming.httpVersion === '1.1')
    return new ApiError(400, 'BadRequest', 'the request has no Host header, which HTTP/1.1 requires');
  if (countHeader(incoming, 'host') > 1) return new ApiError(400, 'BadRequest', 'the request has more than one Host header');
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked')
    return new ApiError(501, 'NotImplemented', `transfer coding ${coding} is not supported; only chunked is`);
  if (headers.expect !== undefined && !expects && incoming.httpVersion === '1.1')
    return new ApiError(417, 'ExpectationFailed', `expectation ${headers.expect} is not supported; only 100-continue is`);
  return undefined;
}

/** True if the request asks for another protocol: the parser drops what follows it, so the connection ends after its response. */
export function asksForUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/iu.test(headers.connection ?? '');
}
