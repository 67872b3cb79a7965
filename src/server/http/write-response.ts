import type { OutgoingHttpHeader, ServerResponse } from 'node:http';
import { WholeBody, type Headers, type HttpResponse } from '../../api/message.ts';
import type { Incoming } from './incoming.ts';
import { writeReason } from './malformed.ts';
import { discardBody } from './response.ts';

/** Resolves when everything written has left this process, or the connection has closed. */
export function flush({ socket }: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // Some releases of Node.js pass the data to the socket in the next turn of the event loop.
    setImmediate(() => {
      if (socket === null || socket.destroyed) return resolve();
      socket.once('close', () => resolve());
      socket.write('', () => resolve());
    });
  });
}

/** Resolves when more can be written, or the connection has closed. */
function waitWritable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}

/** Writes a body at the speed at which the client reads it; stops when the client has disconnected. */
async function writeBody(response: ServerResponse, body: HttpResponse['body'], onBytes: (size: number) => void): Promise<void> {
  for await (const chunk of body) {
    if (response.destroyed) return;
    onBytes(chunk.length);
    if (!response.write(chunk)) await waitWritable(response);
    if (response.destroyed) return;
  }
}

/** Names and values in turn, as Node.js writes them: it would copy an object. */
function listHeaders(headers: Headers, closes: boolean): OutgoingHttpHeader[] {
  const list: OutgoingHttpHeader[] = [];
  for (const [name, value] of Object.entries(headers)) {
    // A number: Node.js before 20.19 compares this value by identity with the bytes written.
    list.push(name, name === 'content-length' ? Number(value) : value);
  }
  if (closes) list.push('connection', 'close');
  return list;
}

/** Writes a response, and ends the connection after it if the connection cannot be used again. */
export async function writeResponse(
  response: ServerResponse,
  result: HttpResponse,
  { isEarly, isWaiting, drain }: Incoming,
  { isLast, onBytes }: { isLast: boolean; onBytes: (size: number) => void },
): Promise<void> {
  const early = isEarly();
  // A body that is shorter than its Content-Length must break the connection instead of looking complete.
  response.strictContentLength = true;
  response.statusMessage = writeReason(result.status);
  response.writeHead(result.status, listHeaders(result.headers, early || isLast));
  if (early) response.flushHeaders();
  if (result.body instanceof WholeBody) {
    const { bytes } = result.body;
    onBytes(bytes.length);
    if (!early) {
      response.end(bytes);
      return;
    }
    response.write(bytes);
  } else {
    const abandon = (): void => discardBody(result.body);
    response.once('close', abandon);
    await writeBody(response, result.body, onBytes);
    response.off('close', abandon);
  }
  // A client that waits for `100 Continue` is not sending anything.
  if (early && !isWaiting()) await drain();
  response.end();
}
