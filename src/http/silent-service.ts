import { WholeBody, type ByteStream, type HttpResponse } from '../api/message.ts';
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
 * Watches all requests of a run to one service. While responses or bytes arrive on any connection, failed requests may be retried. After
 * `idleTimeout` milliseconds without any, all requests that await a response fail with `SilentServiceError`, and no further ones are sent:
 * a command ends after one idle timeout, however many requests it needed.
 */
export class SilenceGuard {
  readonly #idleTimeout: number;
  readonly #now: () => number;
  /** Number of requests that await a response, or the next bytes of one. */
  #waiting = 0;
  /** Milliseconds of silence before `#since`; time without waiting requests does not count. */
  #quietBefore = 0;
  #since = 0;
  #silence: SilentServiceError | undefined;
  /** Set while a failed request may be retried: the retry has only the rest of the time. */
  #deadline: NodeJS.Timeout | undefined;
  readonly #giveUps = new Set<(error: SilentServiceError) => void>();

  constructor(idleTimeout: number, now: () => number) {
    this.#idleTimeout = idleTimeout;
    this.#now = now;
  }

  /** Sends a request, and watches it. @throws {SilentServiceError} when the service is silent */
  async send(outgoing: Outgoing, send: Send): Promise<HttpResponse> {
    if (this.#silence) throw this.#silence;
    let giveUp: ((error: SilentServiceError) => void) | undefined;
    this.#beginWait();
    try {
      const response = await new Promise<HttpResponse>((resolve, reject) => {
        giveUp = reject;
        this.#giveUps.add(reject);
        const { body } = outgoing;
        const isStream = body !== undefined && !(body instanceof Uint8Array);
        send(isStream ? { ...outgoing, body: this.#countSent(body) } : outgoing).then(resolve, reject);
      });
      this.noteResponse();
      return response.body instanceof WholeBody
        ? response
        : { ...response, body: this.#countReceived(response.body, outgoing.mayPause === true) };
    } catch (error) {
      throw this.#judge(error, false);
    } finally {
      this.#endWait();
      if (giveUp) this.#giveUps.delete(giveUp);
    }
  }

  async *#countSent(chunks: ByteStream): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.noteResponse();
      yield chunk;
    }
  }

  async *#countReceived(chunks: ByteStream, mayPause: boolean): AsyncGenerator<Uint8Array> {
    let isWaiting = true;
    this.#beginWait();
    try {
      for await (const chunk of chunks) {
        this.noteResponse();
        this.#endWait();
        isWaiting = false;
        yield chunk;
        isWaiting = true;
        this.#beginWait();
      }
    } catch (error) {
      throw this.#judge(error, mayPause);
    } finally {
      if (isWaiting) this.#endWait();
    }
  }

  /** Decides which error a failed request throws. */
  #judge(error: unknown, mayPause: boolean): unknown {
    if (!(error instanceof NetworkError)) return error;
    if (answers.has(error.code) || !isTransient(error)) this.noteResponse();
    else if (!mayPause && this.#isSilent()) return this.#markSilent(error);
    else if (!mayPause) this.#watch(error);
    return error;
  }

  /** Fails all waiting requests if the service stays silent during a retry. */
  #watch(cause: NetworkError): void {
    clearTimeout(this.#deadline);
    const check = (): void => {
      if (this.#waiting === 0) this.#deadline = undefined;
      else if (this.#isSilent()) this.#markSilent(cause);
      else this.#watch(cause);
    };
    // The waiting requests keep the process running.
    this.#deadline = setTimeout(check, Math.max(1, this.#idleTimeout - this.#quiet())).unref();
  }

  #markSilent(cause: NetworkError): SilentServiceError {
    clearTimeout(this.#deadline);
    const silence = (this.#silence ??= new SilentServiceError(cause.message, {
      code: cause.code,
      hint: cause.hints,
      isUnsent: cause.isUnsent,
      cause,
    }));
    for (const giveUp of this.#giveUps) giveUp(silence);
    return silence;
  }

  /** The service has responded, or sent bytes. */
  noteResponse(): void {
    this.#quietBefore = 0;
    this.#since = this.#now();
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #beginWait(): void {
    if (this.#waiting === 0) this.#since = this.#now();
    this.#waiting += 1;
  }

  #endWait(): void {
    this.#quietBefore = this.#quiet();
    this.#since = this.#now();
    this.#waiting -= 1;
  }

  /** Milliseconds without a response or bytes. */
  #quiet(): number {
    return this.#quietBefore + (this.#waiting > 0 ? this.#now() - this.#since : 0);
  }

  #isSilent(): boolean {
    return this.#quiet() >= this.#idleTimeout * almost;
  }
}
