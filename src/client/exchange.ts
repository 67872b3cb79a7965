import type { Body, Reply } from '../api/message.ts';
import { NetworkError, UsageError } from '../errors.ts';
import { shelfLife, type Connection } from './connection.ts';
import { isFieldValue, isToken } from './http-syntax.ts';
import { createInbox } from './inbox.ts';
import { createFailure, toNetworkError } from './network-error.ts';
import { createReplyParser, type ReplyHead } from './reply-parser.ts';
import type { Outgoing } from './send.ts';
import { watchSilence } from './silence.ts';

/** One request and its reply over a connection. */
export interface Exchange {
  /** Resolves when the head of the reply is there. */
  readonly reply: Promise<Reply>;
  /** Resolves when the connection is free again, with the milliseconds for which it can be used for the next request; 0: not at all. Never fails. */
  readonly over: Promise<number>;
}

/** Small bodies go out with the head, in one piece. */
const smallBody = 64 * 1024;

/** Bytes that are sent at once, at most: while they are under way, TLS does not tell how many of them are left. */
const largestWrite = 128 * 1024;

/** How a request says where its body ends. */
type Framing = 'none' | 'length' | 'chunked';

function chooseFraming({ headers, body }: Outgoing): Framing {
  if (body === undefined) return 'none';
  return body instanceof Uint8Array || headers['content-length'] !== undefined ? 'length' : 'chunked';
}

/** The head of a request. @throws {UsageError} for what would not arrive as what it is */
function writeHead({ method, url, headers, body }: Outgoing, framing: Framing): string {
  const given: Record<string, string> = { host: url.host };
  for (const [name, value] of Object.entries(headers)) given[name.toLowerCase()] = value;
  given['connection'] = 'keep-alive';
  // One of the two says where the body ends.
  delete given[framing === 'chunked' ? 'content-length' : 'transfer-encoding'];
  if (framing === 'chunked') given['transfer-encoding'] = 'chunked';
  if (body instanceof Uint8Array) given['content-length'] = String(body.length);
  if (!isToken(method)) throw new UsageError(`${JSON.stringify(method)} is no method of HTTP`);
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  for (const [name, value] of Object.entries(given)) {
    if (!isToken(name) || !isFieldValue(value)) {
      throw new UsageError(`the header ${JSON.stringify(name)} holds a character that cannot be sent in one`);
    }
    text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

/** For how long a connection may wait for the next request; services that are less patient than most say so, in seconds. */
function readPatience({ headers }: ReplyHead): number {
  const [, seconds] = /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '') ?? [];
  return seconds === undefined ? shelfLife : Math.max(0, Math.min(shelfLife, (Number(seconds) - 1) * 1000));
}

/** Does a request over a connection that nobody else uses. */
export function startExchange({ socket, isShared, take }: Connection, outgoing: Outgoing, idleTimeout: number): Exchange {
  const { url, method, signal, body } = outgoing;
  const framing = chooseFraming(outgoing);
  const inbox = createInbox({ isShared, resume: () => void socket.resume(), leave: () => void socket.destroy() });
  let head: ReplyHead | undefined;
  let isWhole = false;
  let isSent = false;
  let isOver = false;
  let isReusable = false;
  let answering: NodeJS.Timeout | undefined;
  let wakeWriter: (() => void) | undefined;
  let settle: { resolve: (reply: Reply) => void; reject: (error: unknown) => void };
  let free: (milliseconds: number) => void;
  const reply = new Promise<Reply>((resolve, reject) => {
    settle = { resolve, reject };
  });
  const over = new Promise<number>((resolve) => {
    free = resolve;
  });

  function end(mayBeUsed: boolean): void {
    const patience = mayBeUsed && head ? readPatience(head) : 0;
    isOver = true;
    take(undefined);
    clearTimeout(answering);
    signal?.removeEventListener('abort', stop);
    socket.off('error', fail).off('end', finish).off('close', close);
    if (patience === 0) socket.destroy();
    free(patience);
  }
  /** The exchange comes to nothing. Whoever waits for the reply, or for the rest of its body, is told why. */
  function giveUp(failure: unknown): void {
    if (isOver) return;
    settle.reject(failure);
    inbox.fail(failure);
    end(false);
  }
  function fail(error: unknown): void {
    giveUp(toNetworkError(error, url));
  }
  function failIdle(): void {
    fail(createFailure('IDLE', 'idle'));
  }
  function stop(): void {
    fail(signal?.reason);
  }
  function close(): void {
    fail(createFailure('ECONNRESET', 'the connection ended before the reply'));
  }
  /** The connection has ended, in order. */
  function finish(): void {
    if (!isWhole && !parser.finish()) close();
  }
  function isRefused(): boolean {
    return head !== undefined && head.status >= 300;
  }
  /**
   * Both sides have said all, or the service does not want to hear the rest: it is never ended then, a shorter body would look whole. Success that is
   * told before all of the request was sent is none until it has been.
   */
  function settleOver(): void {
    if (!isWhole || !(isSent || isRefused())) return;
    inbox.end();
    end(isReusable && isSent);
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    yield* watchSilence(inbox.pieces(), idleTimeout, () => {
      // What is still being sent then has a limit of its own.
      if (!isWhole) failIdle();
    });
  }
  const parser = createReplyParser(method, {
    head: (came) => {
      head = came;
      clearTimeout(answering);
      inbox.expect(came.length);
      if (isRefused()) wakeWriter?.();
      settle.resolve({ status: came.status, headers: came.headers, body: read() });
    },
    body: inbox.add,
    end: (rest) => {
      isWhole = true;
      isReusable = rest.length === 0 && head?.keepsAlive === true;
      settleOver();
    },
  });

  function takeBytes(bytes: Uint8Array): boolean {
    try {
      parser.push(bytes);
    } catch (error) {
      fail(error);
    }
    return isWhole || inbox.hasRoom();
  }

  /** Waits until the connection takes more, or there is no need to. One that takes nothing at all for too long is given up. */
  function drain(): Promise<void> {
    return new Promise((resolve) => {
      const go = (): void => {
        socket.setTimeout(0).off('timeout', failIdle).off('drain', go).off('close', go);
        wakeWriter = undefined;
        resolve();
      };
      socket.setTimeout(idleTimeout).on('timeout', failIdle);
      socket.on('drain', go).on('close', go);
      wakeWriter = go;
    });
  }

  function isEnded(): boolean {
    return isOver || isRefused() || socket.destroyed;
  }
  /** All of the request is on its way. */
  function markSent(): void {
    if (isSent || isEnded()) return;
    isSent = true;
    // What is no reply, however much of it comes, is silence too.
    if (!head) answering = setTimeout(failIdle, idleTimeout);
    settleOver();
  }

  async function write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !isEnded(); at += largestWrite) {
      if (!socket.write(bytes.subarray(at, at + largestWrite)) && !socket.destroyed) await drain();
    }
  }

  /** Sends a stream with back-pressure; stops where the service refuses it in mid-body. */
  async function writeStream(stream: AsyncIterable<Uint8Array>): Promise<void> {
    let missing = Number(outgoing.headers['content-length'] ?? 0);
    for await (const piece of stream) {
      if (isEnded()) return;
      if (piece.length === 0) continue;
      missing -= piece.length;
      if (framing === 'length' && missing < 0) throw new NetworkError('the body is longer than was announced');
      if (framing === 'chunked') await write(Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]));
      else await write(piece);
      // The service may answer, and close, before the source says that there is no more.
      if (framing === 'length' && missing === 0) markSent();
    }
    if (isEnded()) return;
    if (framing === 'length' && missing > 0) throw new NetworkError('the body is shorter than was announced');
    if (framing === 'chunked') await write(Buffer.from('0\r\n\r\n'));
  }

  async function writeRequest(start: Uint8Array, content: Body | undefined): Promise<void> {
    if (content === undefined) await write(start);
    else if (content instanceof Uint8Array && content.length <= smallBody) await write(Buffer.concat([start, content]));
    else {
      await write(start);
      await (content instanceof Uint8Array ? write(content) : writeStream(content));
    }
    markSent();
  }

  take(takeBytes);
  socket.on('error', fail).on('end', finish).on('close', close);
  if (signal?.aborted === true) stop();
  else {
    signal?.addEventListener('abort', stop, { once: true });
    // What fails here is the source of the body, not the network.
    (async () => writeRequest(Buffer.from(writeHead(outgoing, framing), 'latin1'), body))().catch(giveUp);
  }
  return { reply, over };
}
