import { WholeBody, type HttpResponse } from '../api/message.ts';
import { maxIdleMs, type Connection } from './connection.ts';
import { createInbox } from './inbox.ts';
import { createFailure, toNetworkError } from './network-error.ts';
import { createRequestWriter } from './request-writer.ts';
import { createResponseParser, type ResponseHead } from './response-parser.ts';
import type { Outgoing } from './send.ts';
import { watchSilence } from './silence.ts';

/** One request and its response over a connection. */
export interface Exchange {
  /** Resolves when the headers of the response have arrived. */
  readonly response: Promise<HttpResponse>;
  /** Resolves when the exchange is over, with the milliseconds for which the connection can be reused; 0: not at all. Never rejects. */
  readonly over: Promise<number>;
}

/**
 * The states of an exchange. The request and the response proceed independently, because a service may respond before it has received the
 * whole request. The request is `sending`, then `sent`. The response is `awaited` until its headers have arrived, then `arriving`, then
 * `complete`. The exchange is `over` when both have reached their last state, when the response is a complete refusal, or when anything
 * fails; that state is final.
 */
interface State {
  request: 'sending' | 'sent';
  response: 'awaited' | 'arriving' | 'complete';
  exchange: 'open' | 'over';
}

/** Milliseconds for which the connection may stay idle; a service with a shorter limit states it in `Keep-Alive`, in seconds. */
function readIdleMs({ headers }: ResponseHead): number {
  const [, seconds] = /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '') ?? [];
  return seconds === undefined ? maxIdleMs : Math.max(0, Math.min(maxIdleMs, (Number(seconds) - 1) * 1000));
}

/** Sends a request over a connection that nobody else uses, and reads the response. */
export function startExchange({ socket, isShared, take }: Connection, outgoing: Outgoing, idleTimeout: number): Exchange {
  const { url, method, signal } = outgoing;
  const state: State = { request: 'sending', response: 'awaited', exchange: 'open' };
  const inbox = createInbox({ isShared, resume: () => void socket.resume(), leave: () => void socket.destroy() });
  const [response, over] = [createPromise<HttpResponse>(), createPromise<number>()];
  let head: ResponseHead | undefined;
  let isReusable = false;
  let isDelivered = false;
  let answering: NodeJS.Timeout | undefined;

  function end(mayBeUsed: boolean): void {
    const idleMs = mayBeUsed && head ? readIdleMs(head) : 0;
    state.exchange = 'over';
    take(undefined);
    clearTimeout(answering);
    signal?.removeEventListener('abort', stop);
    socket.off('error', fail).off('end', finish).off('close', close);
    if (idleMs === 0) socket.destroy();
    over.resolve(idleMs);
  }
  /** Fails the exchange. Whoever awaits the response, or reads its body, gets the error. */
  function giveUp(failure: unknown): void {
    if (state.exchange === 'over') return;
    response.reject(failure);
    inbox.fail(failure);
    end(false);
  }
  const fail = (error: unknown): void => giveUp(toNetworkError(error, url));
  const failIdle = (): void => fail(createFailure('IDLE', 'idle'));
  const stop = (): void => fail(signal?.reason);
  const close = (): void => fail(createFailure('ECONNRESET', 'the connection ended before the response'));
  /** The service has closed the connection in order. */
  function finish(): void {
    if (state.response !== 'complete' && !parser.finish()) close();
  }
  const isRefused = (): boolean => head !== undefined && head.status >= 300;
  /**
   * Ends the exchange when both sides have sent everything, or when the service has refused the rest of the request. In that case the
   * request is never ended: a shorter body would look complete. A success response that arrives before the whole request was sent only
   * counts once the request was sent.
   */
  function settle(): void {
    if (state.response !== 'complete' || !(state.request === 'sent' || isRefused())) return;
    inbox.end();
    end(isReusable && state.request === 'sent');
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    yield* watchSilence(inbox.chunks(), idleTimeout, () => {
      // When the response is complete, sending the rest of the request has a time limit of its own.
      if (state.response !== 'complete') failIdle();
    });
  }
  const parser = createResponseParser(method, {
    head: (came) => {
      head = came;
      state.response = 'arriving';
      clearTimeout(answering);
      inbox.expect(came.length);
      if (isRefused()) writer.wake();
    },
    body: inbox.add,
    end: (rest) => {
      state.response = 'complete';
      isReusable = rest.length === 0 && head?.keepsAlive === true;
      settle();
    },
  });

  /** Resolves `response` once the headers have arrived; body bytes that arrived with them are delivered without waiting. */
  function deliver(): void {
    if (isDelivered || head === undefined) return;
    isDelivered = true;
    const whole = state.exchange === 'over' ? inbox.takeWhole() : undefined;
    response.resolve({ status: head.status, headers: head.headers, body: whole ? new WholeBody(whole) : read() });
  }

  function takeBytes(bytes: Uint8Array): boolean {
    try {
      parser.push(bytes);
      deliver();
    } catch (error) {
      deliver();
      fail(error);
    }
    return state.response === 'complete' || inbox.hasRoom();
  }

  const isEnded = (): boolean => state.exchange === 'over' || isRefused() || socket.destroyed;
  function markSent(): void {
    if (state.request === 'sent' || isEnded()) return;
    state.request = 'sent';
    // Bytes that are not a response count as silence too, however many arrive.
    if (state.response === 'awaited') answering = setTimeout(failIdle, idleTimeout);
    settle();
  }
  const writer = createRequestWriter({ socket, idleTimeout, isEnded, markSent, failIdle });

  take(takeBytes);
  socket.on('error', fail).on('end', finish).on('close', close);
  if (signal?.aborted === true) stop();
  else {
    signal?.addEventListener('abort', stop, { once: true });
    // Errors here come from the source of the body, not from the network.
    writer.send(outgoing).catch(giveUp);
  }
  return { response: response.promise, over: over.promise };
}

interface Settling<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** A promise that is settled from outside; Node.js 20 has no `Promise.withResolvers`. */
function createPromise<T>(): Settling<T> {
  let settling: Omit<Settling<T>, 'promise'> | undefined;
  const promise = new Promise<T>((resolve, reject) => (settling = { resolve, reject }));
  return { promise, ...(settling as unknown as Omit<Settling<T>, 'promise'>) };
}
