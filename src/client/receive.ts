import type { Reply } from '../api/message.ts';
import { readHeaders } from './reply-headers.ts';

/** Bytes that wait to be taken before the connection has to pause. */
const mostWaiting = 512 * 1024;

/** What undici lets do with an exchange. */
interface Controller {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
}

/** Headers as undici has them. */
type RawHeaders = Record<string, string | string[] | undefined>;

/** A reply that is to come. */
export interface Receiving {
  /** Resolves when the head is there. */
  readonly reply: Promise<Reply>;
  /** What undici tells of it. */
  readonly handler: {
    onRequestStart(controller: Controller): void;
    onResponseStart(controller: Controller, status: number, headers: RawHeaders): void;
    onResponseData(controller: Controller, piece: Uint8Array): void;
    onResponseEnd(): void;
    onResponseError(controller: Controller, error: Error): void;
  };
}

/** Receives a reply without the streams that undici makes of one: for a small body they cost more than all the rest. @param explain what a failure is to whoever waits */
export function receiveReply(signal: AbortSignal | undefined, explain: (error: unknown) => unknown): Receiving {
  let controller: Controller | undefined;
  let pieces: Uint8Array[] = [];
  let waiting = 0;
  let isOver = false;
  let failure: { error: unknown } | undefined;
  let wake = (): void => undefined;
  let settle: { resolve: (reply: Reply) => void; reject: (error: unknown) => void } | undefined;
  const reply = new Promise<Reply>((resolve, reject) => {
    settle = { resolve, reject };
  });

  function end(): void {
    isOver = true;
    signal?.removeEventListener('abort', stop);
    wake();
  }
  function fail(error: unknown): void {
    if (isOver) return;
    failure = { error: explain(error) };
    settle?.reject(failure.error);
    end();
  }
  function stop(): void {
    fail(signal?.reason);
    controller?.abort(signal?.reason as Error);
  }
  if (signal?.aborted === true) stop();
  else signal?.addEventListener('abort', stop, { once: true });

  function take(): Uint8Array[] {
    const taken = pieces;
    pieces = [];
    waiting = 0;
    controller?.resume();
    return taken;
  }
  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        if (pieces.length > 0) yield* take();
        else if (failure) throw failure.error;
        else if (isOver) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      if (!isOver) controller?.abort(new Error('the rest of the reply is not wanted'));
    }
  }

  return {
    reply,
    handler: {
      onRequestStart: (begun) => {
        controller = begun;
        if (failure) begun.abort(failure.error as Error);
      },
      onResponseStart: (_, status, headers) => {
        if (status >= 200) settle?.resolve({ status, headers: readHeaders(headers), body: read() });
      },
      onResponseData: (begun, piece) => {
        pieces.push(piece);
        waiting += piece.length;
        if (waiting >= mostWaiting) begun.pause();
        wake();
      },
      onResponseEnd: end,
      onResponseError: (_, error) => fail(error),
    },
  };
}
