import { Agent as PlainAgent, request as requestPlain, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as SecureAgent, request as requestSecure } from 'node:https';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Reply } from '../api/message.ts';
import { NetworkError } from '../errors.ts';
import { openTappable, takeDirectly } from './direct.ts';
import { watchSilence } from './silence.ts';
import { takePieces } from './take-pieces.ts';
import { toNetworkError } from './network-error.ts';
import { readHeaderList } from './reply-headers.ts';
import { nameServer, prepareConnection, type Prepared } from './prepare.ts';
import type { Outgoing, Sender, SendOptions } from './send.ts';

/** A body as it comes. Whether its bytes can be taken directly has to be decided when its head has come, before anybody asks for it. */
function openBody(message: IncomingMessage, request: ClientRequest, url: URL, idleTimeout: number): AsyncGenerator<Uint8Array> {
  return readBody(message, request, url, idleTimeout, takeDirectly(message, request.method));
}

async function* readBody(
  message: IncomingMessage,
  request: ClientRequest,
  url: URL,
  idleTimeout: number,
  direct: AsyncGenerator<Uint8Array> | undefined,
): AsyncGenerator<Uint8Array> {
  try {
    yield* watchSilence(direct ?? takePieces(message), idleTimeout, () => message.destroy(createIdleError()));
  } catch (error) {
    throw toNetworkError(error, url);
  } finally {
    // A refusal in mid-body leaves the request unfinished. It is never ended then: a shorter body would look whole.
    if (!request.writableEnded && isRefusal(message)) request.destroy();
  }
  if (!direct && !message.complete) throw toNetworkError(Object.assign(new Error('truncated'), { code: 'TruncatedReply' }), url);
}

function createIdleError(): Error {
  return Object.assign(new Error('idle'), { code: 'IDLE' });
}

function isRefusal(message: IncomingMessage | undefined): boolean {
  return (message?.statusCode ?? 0) >= 300;
}

/** Writes a streamed body with back-pressure and ends the request; stops where the service refuses it in mid-body. */
async function writeBody(request: ClientRequest, body: AsyncIterable<Uint8Array>, refused: () => boolean): Promise<void> {
  for await (const piece of body) {
    if (refused() || request.destroyed) return;
    if (request.write(piece)) continue;
    await new Promise<void>((resolve) => {
      const go = (): void => {
        for (const event of ['drain', 'close', 'response']) request.off(event, go);
        resolve();
      };
      for (const event of ['drain', 'close', 'response']) request.on(event, go);
    });
  }
  request.end();
}

/** An agent whose first connection to a host may have been prepared. */
class PreparedAgent extends SecureAgent {
  readonly #prepared = new Map<string, Prepared>();

  prepare(url: URL, options: SendOptions, mayBeLong: boolean): void {
    const { hostname, port } = url;
    const name = `${hostname.replace(/^\[|\]$/g, '')}:${port === '' ? 443 : port}`;
    if (!this.#prepared.has(name)) this.#prepared.set(name, prepareConnection(url, options, mayBeLong));
  }

  override createConnection(...[options, give]: Parameters<SecureAgent['createConnection']>): Duplex | null | undefined {
    const name = `${options.host}:${options.port}`;
    const prepared = this.#prepared.get(name);
    const connect = (): TLSSocket => openTappable(options, (all) => super.createConnection(all) as TLSSocket);
    if (!prepared || !give) return connect();
    this.#prepared.delete(name);
    prepared.take().then(
      (socket) => give(null, socket ?? connect()),
      (error: Error) => give(error, undefined as never),
    );
    return undefined;
  }

  override destroy(): void {
    for (const prepared of this.#prepared.values()) prepared.close();
    super.destroy();
  }
}

/** Sends with node:https: quick to load, for commands that make a request or a few. */
export function createHttpsSender(options: SendOptions): Sender {
  const common = { keepAlive: true, maxSockets: options.connections };
  const secure = new PreparedAgent({
    ...common,
    rejectUnauthorized: !options.insecure,
    ...(options.ca !== undefined && { ca: options.ca }),
  });
  const plain = new PlainAgent(common);

  const connected = new WeakSet<object>();

  function send({ method, url, headers, body, signal }: Outgoing): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const isSecure = url.protocol === 'https:';
      const request = (isSecure ? requestSecure : requestPlain)(url, {
        method,
        headers,
        agent: isSecure ? secure : plain,
        servername: nameServer(url),
      });
      let reply: IncomingMessage | undefined;
      let connecting: NodeJS.Timeout | undefined;
      let answering: NodeJS.Timeout | undefined;
      const fail = (error: unknown): void => {
        clearTimeout(connecting);
        clearTimeout(answering);
        request.destroy();
        reject(toNetworkError(error, url));
      };
      const stop = (): void => {
        if (reply) reply.destroy(signal?.reason as Error);
        else fail(signal?.reason);
      };
      // A request that waits for a connection of others to become free has none of its own to time.
      request.on('socket', (socket) => {
        if (connected.has(socket) || ('secureConnecting' in socket && socket.secureConnecting === false)) return;
        connecting = setTimeout(() => fail(Object.assign(new Error('connecting'), { code: 'ETIMEDOUT' })), options.connectTimeout);
        socket.once(isSecure ? 'secureConnect' : 'connect', () => {
          connected.add(socket);
          clearTimeout(connecting);
        });
      });
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
      request.once('close', () => signal?.removeEventListener('abort', stop));
      request.setTimeout(options.idleTimeout, () => {
        if (reply) reply.destroy(createIdleError());
        else fail(createIdleError());
      });
      // What is no reply, however much of it comes, is silence too.
      request.once('finish', () => {
        if (!reply) answering = setTimeout(() => fail(createIdleError()), options.idleTimeout);
      });
      request.on('upgrade', () => fail(Object.assign(new Error('upgrade'), { code: 'HPE_UNEXPECTED_UPGRADE' })));
      request.on('error', (error) => {
        if (!reply) fail(error);
      });
      request.on('response', (message) => {
        reply = message;
        clearTimeout(connecting);
        clearTimeout(answering);
        resolve({
          status: message.statusCode ?? 0,
          headers: readHeaderList(message.rawHeaders),
          body: openBody(message, request, url, options.idleTimeout),
        });
      });
      if (body === undefined || body instanceof Uint8Array) {
        request.end(body);
        return;
      }
      writeBody(request, body, () => isRefusal(reply)).catch((error: unknown) => {
        // What failed is the source of the body, not the network.
        clearTimeout(connecting);
        request.destroy();
        reject(error instanceof Error ? error : new NetworkError(String(error)));
      });
    });
  }

  return {
    send,
    prepare: (url, mayBeLong = false) => {
      if (url.protocol === 'https:') secure.prepare(url, options, mayBeLong);
    },
    close: () => {
      secure.destroy();
      plain.destroy();
    },
  };
}
