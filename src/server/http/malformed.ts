import { STATUS_CODES } from 'node:http';
import { readAll } from '../../api/message.ts';
import { ApiError } from '../../base/errors.ts';
import type { Service } from './serve.ts';

/** An error of the HTTP parser or of TLS. */
export type SocketError = Error & { code?: string };

/** Writes the raw response to bytes that are not a valid request. */
export type WriteMalformed = (error: SocketError) => Promise<string>;

/** Reason phrases of statuses that the specification defines and HTTP does not. */
const ownReasons: Readonly<Record<number, string>> = { 420: 'Request Throttled', 449: 'Invalid Version' };

export function writeReason(status: number): string {
  return ownReasons[status] ?? STATUS_CODES[status] ?? 'Unknown';
}

const statuses: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Creates the writer of responses to malformed requests of a connection. The service creates these errors, with its usual headers. */
export function createMalformedWriter(
  handle: Service,
  { remoteAddress, secure }: { remoteAddress: string; secure: boolean },
): WriteMalformed {
  return async (error) => {
    const refusal = new ApiError(statuses[error.code ?? ''] ?? 400, 'BadRequest', `not a valid HTTP request: ${error.message}`);
    const { status, headers, body } = await handle({ method: '-', target: '-', headers: {} }, { remoteAddress, secure, refusal });
    const lines = Object.entries({ ...headers, connection: 'close' }).map(([name, value]) => `${name}: ${value}`);
    const text = Buffer.from(await readAll(body)).toString();
    return `HTTP/1.1 ${status} ${writeReason(status)}\r\n${lines.join('\r\n')}\r\n\r\n${text}`;
  };
}
