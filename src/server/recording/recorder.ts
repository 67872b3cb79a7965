import { closeSync, writeSync } from 'node:fs';
import type { ByteStream, Headers, Reply, Request } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { ApiError } from '../../base/errors.ts';
import { createPrivate } from '../../base/private-files.ts';
import type { Send } from '../../http/send.ts';
import type { Service } from '../http/serve.ts';
import { writeError } from '../http/response.ts';
import type { Exchange, RecordingHeader } from './exchange.ts';
import { holdsSecret, redactHeaders, redactValue } from './redact.ts';
import { keyRequest, type KeyedRequest } from './request-key.ts';

/** A cloud to which requests go as they come. */
export interface Upstream {
  readonly url: URL;
  readonly send: Send;
}

/** Writes what passes between a program and a cloud to a file. */
export interface Recorder {
  /** Passes requests on to a service of the cloud, with the signatures that they have. */
  forward(service: ServiceName): Service;
  /** Waits for responses that are still read, and closes the file. */
  close(): Promise<{ exchanges: number; failed: number }>;
}

export interface RecorderOptions {
  /** Made by the recorder; must not exist. */
  readonly file: string;
  readonly header: RecordingHeader;
  readonly upstreams: Readonly<Record<ServiceName, Upstream>>;
  /** Most bytes of a body of a response that are recorded. */
  readonly bodyLimit: number;
  readonly log: (line: string) => void;
}

/** Milliseconds that the rest of a response may take which the program did not read to its end. */
const restTime = 1000;

/** Headers that belong to one connection, and what each response has of its own. */
const ownHeaders = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'expect'] as const;
const notRecorded = [...ownHeaders, 'date', 'local-instance'] as const;

function omit(headers: Headers, names: readonly string[]): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

/** A pre-signed URL is signed with the name of the host that the program knows; all else is signed without it. */
function chooseHost({ headers, target }: Request): Headers {
  const { host, ...others } = omit(headers, ownHeaders);
  return /[?&]signature=/iu.test(target) && host !== undefined ? { ...others, host } : others;
}

function joinUrl({ url }: Upstream, target: string): URL {
  // Proxies may send the absolute form.
  return new URL(`${url.origin}${url.pathname.replace(/\/$/u, '')}${target.replace(/^https?:\/\/[^/?]*/iu, '')}`);
}

/** What the line of a response has of its body, and whether something was left out of it. */
interface Written {
  readonly content: Pick<Exchange, 'body' | 'base64' | 'leftOut'>;
  readonly isChanged: boolean;
}

function writeBody(service: ServiceName, bytes: Buffer): Written {
  if (bytes.length === 0) return { content: {}, isChanged: false };
  const text = bytes.toString();
  const isText = Buffer.from(text).equals(bytes);
  const value = service === 'compute' && isText ? readJson(text) : undefined;
  if (value !== undefined) {
    const shown = JSON.stringify(redactValue(value));
    const isChanged = shown !== JSON.stringify(value);
    return { content: { body: isChanged ? shown : text }, isChanged };
  }
  if (holdsSecret(bytes.toString('latin1'))) return { content: { leftOut: 'it holds a private key or a signature' }, isChanged: false };
  return { content: isText ? { body: text } : { base64: bytes.toString('base64') }, isChanged: false };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What became of the body of a response. */
interface Read {
  readonly pieces: readonly Uint8Array[];
  /** Bytes in all; more than are in the pieces when there were too many. */
  readonly size: number;
  readonly isWhole: boolean;
}

/**
 * A body as it passes, of which up to `limit` bytes are kept. What the program does not want is read all the same, until `stop`, so that the
 * exchange is whole.
 */
function watchBody(
  body: ByteStream,
  limit: number,
  stop: AbortSignal,
  finish: (read: Read) => void,
): { body: ByteStream; over: Promise<void> } {
  const source = body[Symbol.asyncIterator]();
  const pieces: Uint8Array[] = [];
  let size = 0;
  let tellOver = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  let isOver = false;
  const end = (isWhole: boolean): void => {
    if (isOver) return;
    isOver = true;
    finish({ pieces, size, isWhole });
    tellOver();
  };
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    try {
      const result = await source.next();
      if (result.done === true) {
        end(true);
        return { done: true, value: undefined };
      }
      size += result.value.length;
      if (size <= limit) pieces.push(result.value);
      else pieces.length = 0;
      return result;
    } catch (error) {
      end(false);
      throw error;
    }
  };
  const readRest = async (): Promise<void> => {
    const stopped = new Promise<void>((resolve) => {
      stop.addEventListener('abort', () => resolve(), { once: true });
    });
    const goesOn = (): boolean => !isOver && size <= limit && !stop.aborted;
    while (goesOn()) await Promise.race([next(), stopped]);
    if (!isOver) void source.return?.();
    end(size > limit);
  };
  const iterator: AsyncIterator<Uint8Array, undefined> = {
    next,
    return: async () => {
      // Nobody waits for it: the program is gone.
      void readRest().catch(() => undefined);
      return { done: true, value: undefined };
    },
  };
  return { body: { [Symbol.asyncIterator]: () => iterator }, over };
}

/** @throws {NodeJS.ErrnoException} when the file cannot be made */
export function createRecorder({ file, header, upstreams, bodyLimit, log }: RecorderOptions): Recorder {
  const descriptor = createPrivate(file);
  const pending = new Set<Promise<void>>();
  const stopping = new AbortController();
  let [requests, exchanges, failed] = [0, 0, 0];
  const writeLine = (value: object): void => void writeSync(descriptor, `${JSON.stringify(value)}\n`);
  writeLine(header);

  function record(keyed: KeyedRequest, id: number, { status, headers }: Reply, { pieces, size, isWhole }: Read): void {
    const key = keyed.key();
    const { content, isChanged } =
      size > bodyLimit
        ? { content: { leftOut: `it has more than ${bodyLimit} bytes` }, isChanged: false }
        : writeBody(key.service, Buffer.concat(pieces));
    // What was said of the body before something was left out of it does not hold any more.
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
        const reply = await upstream.send({
          method,
          url: joinUrl(upstream, request.target),
          headers: chooseHost(request),
          body,
          mayPause: true,
        });
        const watched = watchBody(reply.body, bodyLimit, stopping.signal, (read) => record(keyed, id, reply, read));
        pending.add(watched.over);
        void watched.over.then(() => pending.delete(watched.over));
        return { ...reply, headers: omit(reply.headers, ownHeaders), body: watched.body };
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
