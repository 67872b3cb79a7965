import type { ByteStream } from '../api/message.ts';
import { NetworkError } from '../base/errors.ts';

/** The longest time that a request with its reply may take. */
export interface TimeLimit {
  readonly signal: AbortSignal;
  /** The same body; the time is over when it is not read to its end before. */
  watch(body: ByteStream): ByteStream;
  /** What an exchange failed of: the time, or what it says itself. */
  explain(error: unknown): unknown;
}

/**
 * Begins to count. The signal of `AbortSignal.timeout` will not do: combined with others it can be collected as garbage before its
 * time has come.
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
