import { closeSync, writeSync } from 'node:fs';
import type { ByteStream, Headers, HttpResponse, Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError, quietly } from '../../base/errors.ts';
import { createPrivate } from '../../base/private-files.ts';
import type { Send } from '../../http/send.ts';
import type { Service } from '../http/serve.ts';
import { writeError } from '../http/response.ts';
import type { Exchange, RecordingHeader } from './exchange.ts';
import { holdsSecret, redactHeaders, redactValue } from './redact.ts';
import { keyRequest, type KeyedRequest } from './request-key.ts';

/** A service of the cloud to which requests are forwarded. */
export interface Upstream {
  readonly url: URL;
  readonly send: Send;
}

/** Records the exchanges between a program and a cloud in a file. */
export interface Recorder {
  /** Forwards requests to a service of the cloud, with their original signatures. */
  forward(service: ServiceName): Service;
  /** Waits for responses that are still being read, and closes the file. */
  close(): Promise<{ exchanges: number; failed: number }>;
}

export interface RecorderOptions {
  /** Created by the recorder; must not exist. */
  readonly file: string;
  readonly header: RecordingHeader;
  readonly upstreams: Readonly<Record<ServiceName, Upstream>>;
  /** Maximum size of a recorded response body, bytes. */
  readonly bodyLimit: number;
  readonly log: (line: string) => void;
}

/** Timeout in milliseconds for the rest of responses that the program did not read to the end. */
const restTime = 1000;

/** Headers of one connection (hop-by-hop), and headers that differ in each response. */
const ownHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'] as const;
const notRecorded = [...ownHeaders, 'date', 'local-instance'] as const;

function omit(headers: Headers, names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

/** Only pre-signed URLs include the host name in the signature: they keep the host that the program knows. */
function chooseHost({ headers, target }: Request): Headers {
  const { host, ...others } = omit(headers, ownHeaders);
  return /[?&]signature=/iu.test(target) && host !== undefined ? { ...others, host } : others;
}

function joinUrl({ url }: Upstream, target: string): URL {
  // Proxies may send the absolute form.
  return new URL(`${url.origin}${url.pathname.replace(/\/$/u, '')}${target.replace(/^https?:\/\/[^/?]*/iu, '')}`);
}

/** The recorded body of a response, without secrets. */
function writeBody(service: ServiceName, bytes: Buffer): Pick<Exchange, 'body' | 'base64' | 'leftOut'> {
  if (bytes.length === 0) return {};
  const text = bytes.toString();
  const isText = Buffer.from(text).equals(bytes);
  const value = service === 'compute' && isText ? quietly<unknown>(() => JSON.parse(text), undefined) : undefined;
  if (value !== undefined) {
    const shown = JSON.stringify(redactValue(value));
    return { body: shown === JSON.stringify(value) ? text : shown };
  }
  if (holdsSecret(bytes.toString('latin1'))) return { leftOut: 'it holds a private key or a signature' };
  return isText ? { body: text } : { base64: bytes.toString('base64') };
}

/** The body of a response as it was read. */
interface Read {
  readonly chunks: readonly Uint8Array[];
  /** Total bytes; more than `chunks` has if the body exceeded the limit. */
  readonly size: number;
  readonly isWhole: boolean;
}

/**
 * Passes a body on and keeps up to `limit` bytes of it. If the program stops reading, the rest is read until `stop`, so that the exchange
 * is complete.
 */
function watchBody(
  body: ByteStream,
  limit: number,
  stop: AbortSignal,
  finish: (read: Read) => void,
): { body: ByteStream; over: Promise<void> } {
  const source = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let tellOver = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  let isOver = false;
  const end = (isWhole: boolean): void => {
    if (isOver) return;
    isOver = true;
    try {
      finish({ chunks, size, isWhole });
    } finally {
      tellOver();
    }
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    try {
      const result = await source.next();
      if (result.done === true) {
        end(true);
        return { done: true, value: undefined };
      }
      size += result.value.length;
      if (size <= limit) chunks.push(result.value);
      else chunks.length = 0;
      return result;
    } catch (error) {
      end(false);
      throw error;
    }
  };
  const readRest = async (): Promise<void> => {
    const goesOn = (): boolean => !isOver && size <= limit && !stop.aborted;
    const leave = (): void => {
      if (!isOver) void source.return?.();
      end(size > limit);
    };
    // No race with a promise of the stop: until then, that promise would hold everything that was read.
    stop.addEventListener('abort', leave, { once: true });
    try {
      while (goesOn()) await next();
    } finally {
      stop.removeEventListener('abort', leave);
    }
    leave();
  };
  const iterator: AsyncIterator<Uint8Array, undefined> = {
    next,
    return: async () => {
      // Not awaited: the program is gone.
      void readRest().catch(() => undefined);
      return { done: true, value: undefined };
    },
  };
  return { body: { [Symbol.asyncIterator]: () => iterator }, over };
}

/** @throws {NodeJS.ErrnoException} if the file cannot be created */
export function createRecorder({ file, header, upstreams, bodyLimit, log }: RecorderOptions): Recorder {
  const descriptor = createPrivate(file);
  const pending = new Set<Promise<void>>();
  const stopping = new AbortController();
  let [requests, exchanges, failed] = [0, 0, 0];
  const writeLine = (value: object): void => void writeSync(descriptor, `${JSON.stringify(value)}\n`);
  writeLine(header);

  function record(keyed: KeyedRequest, id: number, { status, headers }: HttpResponse, { chunks, size, isWhole }: Read): void {
    const key = keyed.key();
    const bytes = Buffer.concat(chunks);
    const content = size > bodyLimit ? { leftOut: `it has more than ${bodyLimit} bytes` } : writeBody(key.service, bytes);
    const isChanged = 'body' in content && content.body !== bytes.toString();
    // Length and MD5 are no longer true after secrets were removed from the body.
    const shown = redactHeaders(omit(headers, [...notRecorded, ...(isChanged ? ['content-length', 'content-md5'] : [])]));
    const exchange: Exchange = { id, ...key, status, headers: shown, ...content, ...(!isWhole && { cut: true }) };
    writeLine(exchange);
    exchanges += 1;
  }

  return {
    forward: (service) => async (request) => {
      const id = (requests += 1);
      const upstream = upstreams[service];
      try {
        const keyed = await keyRequest(service, request);
        const { method, body } = keyed.request;
        const response = await upstream.send({
          method,
          url: joinUrl(upstream, request.target),
          headers: chooseHost(request),
          body,
          mayPause: true,
        });
        const watched = watchBody(response.body, bodyLimit, stopping.signal, (read) => record(keyed, id, response, read));
        pending.add(watched.over);
        void watched.over.then(() => pending.delete(watched.over));
        return { ...response, headers: omit(response.headers, ownHeaders), body: watched.body };
      } catch (error) {
        failed += 1;
        if (error instanceof ApiError) return writeError(error);
        const message = `the cloud at ${upstream.url.origin} cannot be reached: ${error instanceof Error ? error.message : String(error)}`;
        log(message);
        return writeError(new ApiError(502, 'BadGateway', message));
      }
    },
    close: async () => {
      const timer = setTimeout(() => stopping.abort(), restTime);
      await Promise.all(pending);
      clearTimeout(timer);
      closeSync(descriptor);
      return { exchanges, failed };
    },
  };
}
