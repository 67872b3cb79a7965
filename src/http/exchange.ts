import { WholeBody, type Reply } from '../api/message.ts';
import { shelfLife, type Connection } from './connection.ts';
import { createInbox } from './inbox.ts';
import { createFailure, toNetworkError } from './network-error.ts';
import { createRequestWriter } from './request-writer.ts';
import { createReplyParser, type ReplyHead } from './response-parser.ts';
import type { Outgoing } from './send.ts';
import { watchSilence } from './silence.ts';

/** One request and its reply over a connection. */
export interface Exchange {
  /** Resolves when the head of the reply is there. */
  readonly reply: Promise<Reply>;
  /** Resolves when the connection is free again, with the milliseconds for which it can be used for the next request; 0: not at all. Never fails. */
  readonly over: Promise<number>;
}

/**
 * States of an exchange; the request and the response go on independently of each other, because a service may respond before it has the whole
 * request. The request is `sending`, then `sent`. The response is `awaited` until its headers are there, then `arriving`, then `complete`.
 * The exchange is `over` when both have reached their last state, when the response is a complete refusal, or when anything fails; nothing
 * leaves that state.
 */
interface State {
  request: 'sending' | 'sent';
  response: 'awaited' | 'arriving' | 'complete';
  exchange: 'open' | 'over';
}

/** For how long a connection may wait for the next request; services that are less patient than most say so, in seconds. */
function readPatience({ headers }: ReplyHead): number {
  const [, seconds] = /(?:^|,)[\t ]*timeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '') ?? [];
  return seconds === undefined ? shelfLife : Math.max(0, Math.min(shelfLife, (Number(seconds) - 1) * 1000));
}

/** Sends a request over a connection that nobody else uses, and reads the response. */
export function startExchange({ socket, isShared, take }: Connection, outgoing: Outgoing, idleTimeout: number): Exchange {
  const { url, method, signal } = outgoing;
  const state: State = { request: 'sending', response: 'awaited', exchange: 'open' };
  const inbox = createInbox({ isShared, resume: () => void socket.resume(), leave: () => void socket.destroy() });
  const [reply, over] = [createPromise<Reply>(), createPromise<number>()];
  let head: ReplyHead | undefined;
  let isReusable = false;
  let isDelivered = false;
  let answering: NodeJS.Timeout | undefined;

  function end(mayBeUsed: boolean): void {
    const patience = mayBeUsed && head ? readPatience(head) : 0;
    state.exchange = 'over';
    take(undefined);
    clearTimeout(answering);
    signal?.removeEventListener('abort', stop);
    socket.off('error', fail).off('end', finish).off('close', close);
    if (patience === 0) socket.destroy();
    over.resolve(patience);
  }
  /** The exchange comes to nothing. Whoever waits for the reply, or for the rest of its body, gets the reason. */
  function giveUp(failure: unknown): void {
    if (state.exchange === 'over') return;
    reply.reject(failure);
    inbox.fail(failure);
    end(false);
  }
  const fail = (error: unknown): void => giveUp(toNetworkError(error, url));
  const failIdle = (): void => fail(createFailure('IDLE', 'idle'));
  const stop = (): void => fail(signal?.reason);
  const close = (): void => fail(createFailure('ECONNRESET', 'the connection ended before the reply'));
  /** The connection has ended, in order. */
  function finish(): void {
    if (state.response !== 'complete' && !parser.finish()) close();
  }
  const isRefused = (): boolean => head !== undefined && head.status >= 300;
  /**
   * Both sides have said all, or the service does not want to hear the rest: the request is never ended then, a shorter body would look whole. A
   * success that is reported before all of the request was sent is none until it has been.
   */
  function settle(): void {
    if (state.response !== 'complete' || !(state.request === 'sent' || isRefused())) return;
    inbox.end();
    end(isReusable && state.request === 'sent');
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    yield* watchSilence(inbox.pieces(), idleTimeout, () => {
      // What is still being sent then has a limit of its own.
      if (state.response !== 'complete') failIdle();
    });
  }
  const parser = createReplyParser(method, {
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

  /** Gives the response to who waits for it, once its headers have come; what has come of its body with them is not waited for. */
  function deliver(): void {
    if (isDelivered || head === undefined) return;
    isDelivered = true;
    const whole = state.exchange === 'over' ? inbox.takeWhole() : undefined;
    reply.resolve({ status: head.status, headers: head.headers, body: whole ? new WholeBody(whole) : read() });
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
    // What is no reply, however much of it comes, is silence too.
    if (state.response === 'awaited') answering = setTimeout(failIdle, idleTimeout);
    settle();
  }
  const writer = createRequestWriter({ socket, idleTimeout, isEnded, markSent, failIdle });

  take(takeBytes);
  socket.on('error', fail).on('end', finish).on('close', close);
  if (signal?.aborted === true) stop();
  else {
    signal?.addEventListener('abort', stop, { once: true });
    // What fails here is the source of the body, not the network.
    writer.send(outgoing).catch(giveUp);
  }
  return { reply: reply.promise, over: over.promise };
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
