import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import type { Headers, Reply } from '../api/message.ts';
import { takePieces } from './take-pieces.ts';
import { toNetworkError } from './network-error.ts';
import type { Outgoing, Sender, SendOptions } from './send.ts';

function readHeaders(raw: Record<string, string | string[] | undefined>): Headers {
  const headers: Headers = {};
  for (const [name, value] of Object.entries(raw)) {
    if (value !== undefined) headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

async function* readBody(body: Dispatcher.ResponseData['body'], url: URL): AsyncGenerator<Uint8Array> {
  try {
    yield* takePieces(body);
  } catch (error) {
    throw toNetworkError(error, url);
  }
}

/** Sends with undici: for transfers and everything in bulk, and where a proxy is set. */
export function createUndiciSender(options: SendOptions, throughProxy: boolean): Sender {
  const connect = {
    timeout: options.connectTimeout,
    rejectUnauthorized: !options.insecure,
    ...(options.ca !== undefined && { ca: options.ca }),
  };
  const common = { headersTimeout: options.idleTimeout, bodyTimeout: options.idleTimeout, connections: options.connections, pipelining: 1 };
  const dispatcher = throughProxy ? new EnvHttpProxyAgent({ ...common, connect, requestTls: connect }) : new Agent({ ...common, connect });

  async function send({ method, url, headers, body, signal }: Outgoing): Promise<Reply> {
    try {
      const reply = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method: method,
        headers,
        body: (body ?? null) as Dispatcher.DispatchOptions['body'] & null,
        ...(signal && { signal }),
      });
      return { status: reply.statusCode, headers: readHeaders(reply.headers), body: readBody(reply.body, url) };
    } catch (error) {
      throw toNetworkError(error, url);
    }
  }

  return { send, close: () => void dispatcher.destroy() };
}
