import { WholeBody, type Body, type HttpResponse } from '../api/message.ts';
import { ignoreAbort, stopOnAbort } from './abort.ts';
import { maxIdleMs, type Connection, type ConnectionUser } from './connection.ts';
import { Inbox } from './inbox.ts';
import { createFailure, toNetworkError } from './network-error.ts';
import { createRequestWriter, printHeaders, type RequestWriter } from './request-writer.ts';
import { ResponseParser, type ResponseHead } from './response-parser.ts';
import type { Outgoing } from './send.ts';
import { watchSilence } from './silence.ts';

/** Milliseconds for which the connection may stay idle after a response; a service with a shorter limit states it in `Keep-Alive`, in seconds. */
export function readIdleMs({ headers }: ResponseHead): number {
  const [, seconds] = /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '') ?? [];
  return seconds === undefined ? maxIdleMs : Math.max(0, Math.min(maxIdleMs, (Number(seconds) - 1) * 1000));
}

/**
 * One request and its response over a connection that nobody else uses.
 *
 * The request and the response proceed independently, because a service may respond before it has received the whole request. The exchange
 * is over when both have reached their last state, when the response is a complete refusal, or when anything fails; it never changes after.
 */
export class Exchange implements ConnectionUser {
  /** Resolves when the headers of the response have arrived. */
  readonly response: Promise<HttpResponse>;

  /** State of the request. */
  #request: 'sending' | 'sent' = 'sending';
  /** State of the response: it arrives from its headers on. */
  #response: 'awaited' | 'arriving' | 'complete' = 'awaited';
  #isOver = false;

  readonly #connection: Connection;
  readonly #outgoing: Outgoing;
  readonly #idleTimeout: number;
  readonly #inbox: Inbox;
  readonly #parser: ResponseParser;
  /** Present if the request has a body. */
  #writer: RequestWriter | undefined;
  readonly #leave: (idleMs: number) => void;
  /** Settles `response`; absent once it has been resolved. */
  #delivery: { resolve: (response: HttpResponse) => void; reject: (error: unknown) => void } | undefined;
  #head: ResponseHead | undefined;
  /** Milliseconds for which the connection can be reused after the response. */
  #idleMs = 0;

  /**
   * Starts to send the request.
   * @param leave called when the exchange is over, with the milliseconds for which the connection can be reused; 0: not at all
   */
  constructor(connection: Connection, outgoing: Outgoing, idleTimeout: number, leave: (idleMs: number) => void) {
    const { socket, isShared } = connection;
    const { method, signal, body } = outgoing;
    this.#connection = connection;
    this.#outgoing = outgoing;
    this.#idleTimeout = idleTimeout;
    this.#leave = leave;
    this.response = new Promise((resolve, reject) => (this.#delivery = { resolve, reject }));
    this.#inbox = new Inbox(socket, isShared);
    this.#parser = new ResponseParser(method, {
      head: (head) => this.#beginResponse(head),
      body: (bytes) => this.#inbox.add(bytes),
      end: (rest) => this.#completeResponse(rest),
    });
    connection.assign(this);
    if (signal?.aborted === true) {
      this.#stop();
      return;
    }
    if (signal) stopOnAbort(signal, this.#stop);
    if (body === undefined) this.#sendHeaders();
    else this.#sendWith(body);
  }

  /** Sends a request without a body, in one write. */
  #sendHeaders(): void {
    try {
      const headers = printHeaders(this.#outgoing);
      if (!this.#isEnded()) this.#connection.socket.write(headers, 'latin1');
      this.#markSent();
    } catch (error) {
      this.#giveUp(error);
    }
  }

  /** Sends a request with a body, which the service may refuse before its end. */
  #sendWith(body: Body): void {
    const [isEnded, markSent] = [() => this.#isEnded(), () => this.#markSent()];
    const { socket } = this.#connection;
    this.#writer = createRequestWriter({ socket, idleTimeout: this.#idleTimeout, isEnded, markSent, failIdle: this.#failIdle });
    // Errors here come from the source of the body, not from the network.
    this.#writer.send(this.#outgoing, body).catch((error: unknown) => this.#giveUp(error));
  }

  /** The whole request was written. */
  #markSent(): void {
    if (this.#request === 'sent' || this.#isEnded()) return;
    this.#request = 'sent';
    // Bytes that are not a response count as silence too, however many arrive.
    if (this.#response === 'awaited') this.#connection.expectResponse(this.#idleTimeout);
    this.#settle();
  }

  /** True if nothing more of the request is to be sent. */
  #isEnded(): boolean {
    return this.#isOver || this.#isRefused() || this.#connection.socket.destroyed;
  }

  #isRefused(): boolean {
    return this.#head !== undefined && this.#head.status >= 300;
  }

  #beginResponse(head: ResponseHead): void {
    this.#head = head;
    this.#response = 'arriving';
    this.#inbox.expect(head.length);
    if (this.#isRefused()) this.#writer?.wake();
  }

  #completeResponse(rest: Uint8Array): void {
    this.#response = 'complete';
    this.#idleMs = rest.length === 0 && this.#head?.keepsAlive === true ? readIdleMs(this.#head) : 0;
    this.#settle();
  }

  /**
   * Ends the exchange when both sides have sent everything, or when the service has refused the rest of the request. In that case the
   * request is never ended: a shorter body would look complete. A success response that arrives before the whole request was sent only
   * counts once the request was sent.
   */
  #settle(): void {
    if (this.#response !== 'complete' || !(this.#request === 'sent' || this.#isRefused())) return;
    this.#inbox.end();
    this.#end(this.#request === 'sent' ? this.#idleMs : 0);
  }

  #end(idleMs: number): void {
    this.#isOver = true;
    this.#connection.assign(undefined);
    const { signal } = this.#outgoing;
    if (signal) ignoreAbort(signal, this.#stop);
    if (idleMs === 0) this.#connection.socket.destroy();
    // TLS delivers what it has decrypted even when paused: the end of a body may have arrived that way, and the next response must be read.
    else this.#connection.socket.resume();
    this.#leave(idleMs);
  }

  /** Fails the exchange. Whoever awaits the response, or reads its body, gets the error. */
  #giveUp(failure: unknown): void {
    if (this.#isOver) return;
    this.#delivery?.reject(failure);
    this.#inbox.fail(failure);
    this.#end(0);
  }

  // These are listeners, which keep their `this`.
  readonly #failIdle = (): void => this.fail(createFailure('IDLE', 'idle'));
  readonly #stop = (): void => this.fail(this.#outgoing.signal?.reason);

  fail(error: unknown): void {
    this.#giveUp(toNetworkError(error, this.#outgoing.url));
  }

  /** No response has begun within the idle timeout of the end of the request. */
  expire(): void {
    if (this.#request === 'sent' && this.#response === 'awaited') this.#failIdle();
  }

  close(): void {
    this.fail(createFailure('ECONNRESET', 'the connection ended before the response'));
  }

  finish(): void {
    if (this.#response !== 'complete' && !this.#parser.finish()) this.close();
  }

  receive(bytes: Uint8Array): boolean {
    try {
      this.#parser.push(bytes);
      this.#deliver();
    } catch (error) {
      this.#deliver();
      this.fail(error);
    }
    return this.#response === 'complete' || this.#inbox.hasRoom();
  }

  /** Resolves `response` once the headers have arrived; body bytes that arrived with them are delivered without waiting. */
  #deliver(): void {
    if (this.#delivery === undefined || this.#head === undefined) return;
    const { status, headers } = this.#head;
    const whole = this.#isOver ? this.#inbox.takeWhole() : undefined;
    this.#delivery.resolve({ status, headers, body: whole ? new WholeBody(whole) : this.#read() });
    this.#delivery = undefined;
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    yield* watchSilence(this.#inbox.chunks(), this.#idleTimeout, () => {
      // When the response is complete, sending the rest of the request has a time limit of its own.
      if (this.#response !== 'complete') this.#failIdle();
    });
  }
}
