import type { ServerResponse } from 'node:http';
import type { Reply } from '../../api/message.ts';
import type { Incoming } from './incoming.ts';
import { writeReason } from './malformed.ts';
import { discardBody } from './response.ts';

/** Resolves when what was written has left this process, or nobody takes it. */
export function flush({ socket }: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    // Some releases of Node.js hand it to the connection in the next turn.
    setImmediate(() => {
      if (socket === null || socket.destroyed) return resolve();
      socket.once('close', () => resolve());
      socket.write('', () => resolve());
    });
  });
}

/** Resolves when more can be written, or nobody will read it. */
function waitWritable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
  });
}

/** Writes a body at the speed at which the client reads it; stops when the client is gone. */
async function writeBody(response: ServerResponse, body: Reply['body'], onBytes: (size: number) => void): Promise<void> {
  for await (const piece of body) {
    if (response.destroyed) return;
    onBytes(piece.length);
    if (!response.write(piece)) await waitWritable(response);
    if (response.destroyed) return;
  }
}

/** Writes a response, and ends the connection after it where nothing more can come on it. */
export async function writeReply(
  response: ServerResponse,
  reply: Reply,
  { isEarly, isWaiting, drain }: Incoming,
  { isLast, onBytes }: { isLast: boolean; onBytes: (size: number) => void },
): Promise<void> {
  const early = isEarly();
  // A body that turns out shorter than announced must break the connection, not look whole.
  response.strictContentLength = true;
  const { 'content-length': length, ...headers } = reply.headers;
  response.statusMessage = writeReason(reply.status);
  // As a number: Node.js before 20.19 compares it with what was written by identity.
  response.writeHead(reply.status, {
    ...headers,
    ...(length !== undefined && { 'content-length': Number(length) }),
    ...((early || isLast) && { connection: 'close' }),
  });
  if (early) response.flushHeaders();
  const abandon = (): void => discardBody(reply.body);
  response.once('close', abandon);
  await writeBody(response, reply.body, onBytes);
  response.off('close', abandon);
  // A client that waits for leave to send has nothing under way.
  if (early && !isWaiting()) await drain();
  response.end();
}
