import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isSystemError, LocalError } from '../../base/errors.ts';
import { metricsType } from './metrics.ts';

/** State that the admin port reports. */
export interface AdminState {
  /** Why no requests should be sent here; undefined if they should. Does no I/O, because a check must not depend on the database. */
  findUnready(): string | undefined;
  /** Metrics in Prometheus's text format. */
  writeMetrics(): string;
}

/** An HTTP listener for monitoring. */
export interface AdminListener {
  readonly url: string;
  close(): Promise<void>;
}

/** Timeout of a request, milliseconds. */
const requestTime = 5000;

/** Enough for all concurrent checks. More connections are a mistake, and file descriptors are needed for the services. */
const mostConnections = 64;

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  const body = Buffer.from(text);
  response.writeHead(status, { 'content-type': type, 'content-length': body.length, 'cache-control': 'no-store' }).end(body);
}

function route({ findUnready, writeMetrics }: AdminState, path: string, response: ServerResponse): void {
  if (path === '/--live') return answer(response, 200, 'live\n');
  if (path === '/--metrics') return answer(response, 200, writeMetrics(), metricsType);
  if (path !== '/--ready') return answer(response, 404, 'there are /--live, /--ready and /--metrics\n');
  const reason = findUnready();
  return reason === undefined ? answer(response, 200, 'ready\n') : answer(response, 503, `not ready: ${reason}\n`);
}

/**
 * Serves `/--live`, `/--ready` and `/--metrics` over plain HTTP.
 * @param place `port` 0 selects any free port
 * @throws {LocalError} if the port cannot be used
 */
export async function listenForAdmin(place: { host: string; port: number }, state: AdminState): Promise<AdminListener> {
  const { host, port } = place;
  const server = createServer({ requestTimeout: requestTime, headersTimeout: requestTime }, ({ method, url = '/' }, response) => {
    if (method !== 'GET' && method !== 'HEAD') return answer(response.setHeader('allow', 'GET, HEAD'), 405, 'GET and HEAD only\n');
    return route(state, url.split('?', 1)[0] ?? '', response);
  });
  server.maxConnections = mostConnections;
  await once(server.listen({ host, port }), 'listening').catch((error: unknown) => {
    const reason = isSystemError(error) && error.code === 'EADDRINUSE' ? 'it is in use' : (error as Error).message;
    throw new LocalError(`the admin port ${port} of ${host} cannot be used: ${reason}`, {
      hint: 'choose another --admin-port',
      cause: error,
    });
  });
  const bound = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
