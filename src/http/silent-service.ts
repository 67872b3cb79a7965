import { WholeBody, type Body, type ByteStream, type HttpResponse } from '../api/message.ts';
import { NetworkError, SilentServiceError } from '../base/errors.ts';
import { isTransient } from './network-error.ts';
import type { Outgoing, Send } from './send.ts';

/**
 * Fraction of the idle timeout after which a service counts as silent when a request fails: a request starts some milliseconds before its
 * silence is measured.
 */
const almost = 0.9;

/** A refused connection counts as a response: the host is reachable, and its service may be starting. */
const answers = new Set(['ECONNREFUSED']);

/**
 * Watches all requests of a run to one service; the returned function wraps `send`. While responses or bytes arrive on any connection,
 * failed requests may be retried. After `idleTimeout` milliseconds without any, all requests that await a response fail with
 * `SilentServiceError`, and no further ones are sent: a command ends after one idle timeout, however many requests it needed.
 */
export function createSilenceGuard(idleTimeout: number, now: () => number): (send: Send) => Send {
  /** Number of requests that await a response, or the next bytes of one. */
  let waiting = 0;
  /** Milliseconds of silence before `since`; time without waiting requests does not count. */
  let quietBefore = 0;
  let since = 0;
  let silence: SilentServiceError | undefined;
  /** Set while a failed request may be retried: the retry has only the rest of the time. */
  let deadline: NodeJS.Timeout | undefined;
  const giveUps = new Set<(error: SilentServiceError) => void>();

  const quiet = (): number => quietBefore + (waiting > 0 ? now() - since : 0);

  function beginWait(): void {
    if (waiting === 0) since = now();
    waiting += 1;
  }
  function endWait(): void {
    quietBefore = quiet();
    since = now();
    waiting -= 1;
  }
  function markAlive(): void {
    quietBefore = 0;
    since = now();
    clearTimeout(deadline);
    deadline = undefined;
  }

  function markSilent(cause: NetworkError): SilentServiceError {
    clearTimeout(deadline);
    silence ??= new SilentServiceError(cause.message, { code: cause.code, hint: cause.hint, cause });
    for (const giveUp of giveUps) giveUp(silence);
    return silence;
  }

  /** Fails all waiting requests if the service stays silent during a retry. */
  function watch(cause: NetworkError): void {
    clearTimeout(deadline);
    deadline = setTimeout(
      () => {
        if (waiting > 0 && quiet() >= idleTimeout * almost) markSilent(cause);
        else if (waiting > 0) watch(cause);
        else deadline = undefined;
      },
      Math.max(1, idleTimeout - quiet()),
    );
    // The waiting requests keep the process running.
    deadline.unref();
  }

  /** Decides which error a failed request throws. */
  function judge(error: unknown, mayPause: boolean): unknown {
    if (!(error instanceof NetworkError)) return error;
    if (answers.has(error.code) || !isTransient(error)) markAlive();
    else if (!mayPause && quiet() >= idleTimeout * almost) return markSilent(error);
    else if (!mayPause) watch(error);
    return error;
  }

  async function* countSent(chunks: ByteStream): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      markAlive();
      yield chunk;
    }
  }
  function countBody(body: Body | undefined): Body | undefined {
    return body === undefined || body instanceof Uint8Array ? body : countSent(body);
  }

  async function* countReceived(chunks: ByteStream, mayPause: boolean): AsyncGenerator<Uint8Array> {
    let isWaiting = true;
    beginWait();
    try {
      for await (const chunk of chunks) {
        markAlive();
        endWait();
        isWaiting = false;
        yield chunk;
        isWaiting = true;
        beginWait();
      }
    } catch (error) {
      throw judge(error, mayPause);
    } finally {
      if (isWaiting) endWait();
    }
  }

  return (send) =>
    async (outgoing: Outgoing): Promise<HttpResponse> => {
      if (silence) throw silence;
      let giveUp: ((error: SilentServiceError) => void) | undefined;
      beginWait();
      try {
        const response = await new Promise<HttpResponse>((resolve, reject) => {
          giveUp = reject;
          giveUps.add(reject);
          send({ ...outgoing, body: countBody(outgoing.body) }).then(resolve, reject);
        });
        markAlive();
        return response.body instanceof WholeBody
          ? response
          : { ...response, body: countReceived(response.body, outgoing.mayPause === true) };
      } catch (error) {
        throw judge(error, false);
      } finally {
        endWait();
        if (giveUp) giveUps.delete(giveUp);
      }
    };
}
