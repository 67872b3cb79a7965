import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createAuthority, createServerCertificate } from '../../src/auth/authority.ts';

/** A server that answers each connection, once the head of a request has come, with these bytes, and then closes it. */
export interface Hostile {
  url: string;
  /** Heads of the requests that came. */
  requests: string[];
  close(): Promise<void>;
}

function answerWith(response: string, requests: string[], cut: boolean) {
  return (socket: Socket): void => {
    let head = '';
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      head += piece.toString('latin1');
      // The first byte of a TLS handshake: whoever sends it here gets what a web server says to nonsense.
      if (head.startsWith('\x16')) head += '\r\n\r\n';
      if (!head.includes('\r\n\r\n')) return;
      requests.push(head);
      head = '';
      socket.write(response, () => (cut ? socket.destroy() : socket.end()));
    });
  };
}

async function listen(server: ReturnType<typeof createServer>, scheme: string, requests: string[]): Promise<Hostile> {
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const close = (): Promise<void> => new Promise((done) => void server.close(() => done()));
  return { url: `${scheme}://localhost:${port}`, requests, close };
}

/** Answers every request with the same bytes over plain HTTP. With `cut` the connection is reset after them. */
export async function serveBytes(response: string, cut = false): Promise<Hostile> {
  const requests: string[] = [];
  return await listen(createServer(answerWith(response, requests, cut)), 'http', requests);
}

/** The same over TLS, under an authority that nobody but the attacker trusts. */
export async function serveUntrusted(response: string): Promise<Hostile & { authority: string }> {
  const requests: string[] = [];
  const authority = await createAuthority('Nobody');
  const { certificate, key } = await createServerCertificate(authority, ['localhost']);
  const hostile = await listen(createTlsServer({ cert: certificate, key }, answerWith(response, requests, false)), 'https', requests);
  return { ...hostile, authority: authority.certificate };
}

/** An HTTP response with this body and the right length. */
export function makeResponse(status: string, headers: readonly string[], body: string): string {
  return [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n');
}
