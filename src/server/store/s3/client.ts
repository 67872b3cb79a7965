import { hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Pool } from 'undici';
import { readAll } from '../../../api/message.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { S3Options } from './options.ts';
import { readElement } from './xml.ts';

/** Timeouts in milliseconds. */
export interface S3Times {
  /** To connect, for the headers of a response, and between two chunks of its body. */
  readonly connect: number;
  readonly head: number;
  readonly body: number;
  /** After the first failure: how long a request is retried, and the longest pause between attempts. */
  readonly timeoutMs: number;
  readonly pause: number;
}

const usualTimes: S3Times = { connect: 2000, head: 8000, body: 8000, timeoutMs: 5000, pause: 1000 };

/** Pause in milliseconds before the first retry; each further one is twice as long. */
const firstPause = 50;

/** Minimum upload rate in bytes per millisecond: the timeout for the response is extended accordingly. */
const slowest = 512;

/** Maximum bytes of a response other than a content. */
const mostText = 16 * 1024 * 1024;

/** A request for a bucket or an object in it. It may be sent more than once. */
export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Key of an object; the bucket itself if absent. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Timeout in milliseconds for the headers of the response, if the store has more to do than usual. */
  readonly head?: number;
}

/** A response whose body has to be read or destroyed. */
export interface S3Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** An error response of the store that a retry would not change. */
export class S3Refusal extends Error {
  readonly status: number;
  /** The error code of S3, or empty. */
  readonly reason: string;

  constructor(request: S3Request, status: number, reason: string, message: string) {
    super(
      `the store of the contents refuses ${request.method} ${request.key ?? 'of its bucket'}: ${status} ${reason} ${message}`.trimEnd(),
    );
    this.status = status;
    this.reason = reason;
  }
}

/** The store is full. */
class StoreFull extends S3Refusal {
  readonly code = 'ENOSPC';
}

/** The response does not have the stored bytes; a retry would not change that. */
export class MissingBytes extends Error {}

/** Error codes that are temporary, whatever the status. */
const passing: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'OperationAborted', 'InternalError', 'ServiceUnavailable']);
const full: ReadonlySet<string> = new Set([
  'QuotaExceeded',
  'EntityTooLargeForQuota',
  // Of Swift, where a quota is used up; a single request never has more than a store accepts.
  'EntityTooLarge',
  'InsufficientStorage',
  'XMinioStorageFull',
]);

/** Sends requests to one bucket. */
export interface S3Client {
  /**
   * Sends a request and processes its response. Retries for a while if the store is unreachable or busy, or breaks off.
   * @param take extracts the result from the response; by default its text. Any error that it throws counts as a temporary failure
   * @throws {StoreUnavailable} when retries do not help; {S3Refusal} for any other status from 300 on, with the `code` `ENOSPC` if the
   * store is full.
   */
  send(request: S3Request): Promise<string>;
  send<T>(request: S3Request, take: (answer: S3Answer) => T | Promise<T>): Promise<T>;
  close(): Promise<void>;
}

function toHeaders(given: Readonly<Record<string, string | string[] | undefined>>): S3Answer['headers'] {
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

/** Signs requests to a bucket, each with the current time. */
function createSigner({ endpoint, region, credentials, ...place }: S3Options) {
  const origin = new URL(endpoint);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const cache = new Map<string, ArrayBuffer>();
  // Without TLS others could change a body on its way, so the signature also covers the body.
  const isProtected = origin.protocol === 'https:' || isLoopback(origin);
  return async ({ method, key, query = {}, headers = {}, body }: S3Request): Promise<{ path: string; headers: Record<string, string> }> => {
    const url = new URL(key === undefined ? `/${place.bucket}` : `/${place.bucket}/${place.prefix}${key}`, origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const payload = isProtected ? 'UNSIGNED-PAYLOAD' : hash('sha256', body ?? '', 'hex');
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, 'x-amz-content-sha256': payload },
      accessKeyId,
      secretAccessKey,
      ...(sessionToken !== undefined && { sessionToken }),
      service: 's3',
      region,
      cache,
    });
    const signed = await signer.sign();
    // The signature covers the signer's own encoding of the query.
    const search = signer.encodedSearch === '' ? '' : `?${signer.encodedSearch}`;
    return { path: `${url.pathname}${search}`, headers: Object.fromEntries(signed.headers) };
  };
}

async function readText(body: Readable): Promise<string> {
  return Buffer.from(await readAll(body, mostText)).toString();
}

async function readRefusal(request: S3Request, { status, body }: S3Answer): Promise<S3Refusal> {
  const text = await readText(body);
  const reason = readElement(text, 'Code') ?? '';
  const Refusal = status === 507 || full.has(reason) ? StoreFull : S3Refusal;
  return new Refusal(request, status, reason, readElement(text, 'Message') ?? '');
}

/** True if the same request may succeed a moment later. */
function mayPass(error: S3Refusal): boolean {
  // 501: a missing feature will still be missing a moment later.
  if (error instanceof StoreFull || error.status === 501) return false;
  return error.status >= 500 || error.status === 408 || error.status === 429 || passing.has(error.reason);
}

/** @param times other timeouts than the default, for tests */
export function openS3(options: S3Options, times: Partial<S3Times> = {}): S3Client {
  const { connect, head, body: bodyTimeout, timeoutMs, pause: longestPause } = { ...usualTimes, ...times };
  const pool = new Pool(new URL(options.endpoint).origin, { connect: { timeout: connect }, headersTimeout: head, bodyTimeout });
  const sign = createSigner(options);

  async function sendOnce(request: S3Request): Promise<S3Answer> {
    const { path, headers } = await sign(request);
    const { method, body = null } = request;
    const headersTimeout = (request.head ?? head) + (body?.length ?? 0) / slowest;
    const answer = await pool.request({ method, path, headers, body, headersTimeout });
    return { status: answer.statusCode, headers: toHeaders(answer.headers), body: answer.body };
  }

  /** @returns undefined after reporting a temporary failure to `failed` */
  async function tryOnce<T>(
    request: S3Request,
    take: (answer: S3Answer) => T | Promise<T>,
    failed: (error: unknown) => void,
  ): Promise<{ taken: T } | undefined> {
    try {
      const answer = await sendOnce(request);
      if (answer.status < 300) return { taken: await take(answer) };
      const refusal = await readRefusal(request, answer);
      if (!mayPass(refusal)) throw refusal;
      failed(refusal);
    } catch (error) {
      if (error instanceof TypeError || error instanceof MissingBytes || (error instanceof S3Refusal && !mayPass(error))) throw error;
      failed(error);
    }
    return undefined;
  }

  async function send<T>(request: S3Request, take: (answer: S3Answer) => T | Promise<T>): Promise<T> {
    let end: number | undefined;
    let reason: unknown;
    for (let pause = firstPause; ; pause = Math.min(longestPause, pause * 2)) {
      const done = await tryOnce(request, take, (error) => (reason = error));
      if (done) return done.taken;
      end ??= performance.now() + timeoutMs;
      if (performance.now() + pause > end) {
        const message = reason instanceof Error ? reason.message : String(reason);
        throw new StoreUnavailable(`the store of the contents is away: ${message}`, { cause: reason });
      }
      // Jitter: clients do not retry at the same moment.
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  const readAnswer = ({ body }: S3Answer): Promise<string> => readText(body);
  return {
    send: <T>(request: S3Request, take: (answer: S3Answer) => T | Promise<T> = readAnswer as never) => send(request, take),
    close: () => pool.destroy(),
  };
}
