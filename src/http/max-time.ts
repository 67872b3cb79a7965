import type { ByteStream } from '../api/message.ts';
import { NetworkError } from '../base/errors.ts';

/** The time limit of a request and its response. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** Returns the same body; the limit also applies until its end. */
  watch(body: ByteStream): ByteStream;
  /** The reason for a failed exchange: the time limit, or the given error. */
  explain(error: unknown): unknown;
}

/**
 * Starts the time limit. `AbortSignal.timeout` is unsuitable: combined with others, its signal can be garbage collected before it fires.
 */
export function limitTime(milliseconds: number, url: URL): TimeLimit {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), milliseconds);
  const explain = (error: unknown): unknown => {
    clearTimeout(timer);
    if (!controller.signal.aborted) return error;
    return new NetworkError(`${url.host} did not finish in time`, {
      code: 'MaxTime',
      hint: 'allow more time with --max-time',
      cause: error,
    });
  };
  async function* watch(body: ByteStream): AsyncGenerator<Uint8Array> {
    try {
      yield* body;
    } catch (error) {
      throw explain(error);
    } finally {
      clearTimeout(timer);
    }
  }
  return { signal: controller.signal, watch, explain };
}
