import { request as send, type IncomingMessage } from 'node:http';
import type { Headers, HttpResponse } from '../../src/api/message.ts';
import { listen } from '../../src/server/http/listen.ts';
import type { Service } from '../../src/server/http/serve.ts';

/** A service whose requests go through a socket, and how to let go of it. */
export interface CarriedService {
  readonly handle: Service;
  close(): Promise<void>;
}

function readHeaders({ rawHeaders }: IncomingMessage): Headers {
  const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : []));
  return Object.fromEntries(pairs);
}

/** Lets a service listen on this machine and carries each request to it by plain HTTP, which counts as protected there. */
export async function carryOverHttp(service: Service): Promise<CarriedService> {
  const listener = await listen({ handle: service, host: '127.0.0.1', port: 0, trusted: true, log: () => undefined });
  const handle: Service = ({ method, target, headers, body }) =>
    new Promise<HttpResponse>((resolve, reject) => {
      if (body !== undefined && !(body instanceof Uint8Array)) throw new Error('only bytes at hand are carried');
      const lengths = body ? { 'content-length': String(body.length) } : {};
      const outgoing = send({ host: '127.0.0.1', port: listener.port, method, path: target, headers: { ...headers, ...lengths } });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        resolve({ status: incoming.statusCode ?? 0, headers: readHeaders(incoming), body: incoming });
      });
      outgoing.end(body);
    });
  return { handle, close: () => listener.close(0) };
}
