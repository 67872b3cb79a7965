import { Agent, EnvHttpProxyAgent, type Dispatcher } from 'undici';
import type { Reply } from '../api/message.ts';
import { NetworkError } from '../errors.ts';
import { toNetworkError } from './network-error.ts';
import { receiveReply } from './receive.ts';
import type { Outgoing, Sender, SendOptions } from './send.ts';

/** Bytes that are handed over at once, at most: from one piece to the next undici counts silence, however much of it goes meanwhile. */
const largestPiece = 128 * 1024;

async function* split(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += largestPiece) yield bytes.subarray(at, at + largestPiece);
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

  function send({ method, url, headers, body, signal }: Outgoing): Promise<Reply> {
    let source: { error: unknown } | undefined;
    let missing = Number(headers['content-length'] ?? 0);
    /** The body; what it fails of is kept, because undici gives it back as a failure of the request. */
    async function* read(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
      try {
        for await (const piece of stream) {
          missing -= piece.length;
          yield piece;
        }
      } catch (error) {
        source = { error };
        throw error;
      }
    }
    const { reply, handler } = receiveReply(signal, (error) => (source ? source.error : toNetworkError(error, url)));
    const isWhole = body instanceof Uint8Array;
    const isSmall = isWhole && body.length <= largestPiece;
    const stream = body === undefined || isSmall ? (body ?? null) : read(isWhole ? split(body) : body);
    const content = stream as Dispatcher.DispatchOptions['body'] & null;
    if (isSmall) missing = 0;
    const given = isWhole ? { ...headers, 'content-length': String(body.length) } : headers;
    dispatcher.dispatch({ origin: url.origin, path: url.pathname + url.search, method, headers: given, body: content }, handler);
    return reply.then((head) => {
      if (head.status >= 300 || missing <= 0) return head;
      throw new NetworkError(`${url.host} said that all is well before it had all of it`, { code: 'DamagedUpload' });
    });
  }

  return { send, close: () => void dispatcher.destroy() };
}
