import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { AwsV4Signer } from 'aws4fetch';
import { Pool } from 'undici';
import { readAll } from '../../../api/message.ts';
import { StoreUnavailable } from '../unavailable.ts';
import type { S3Options } from './options.ts';
import { readElement } from './xml.ts';

/** Milliseconds. */
export interface S3Times {
  /** To connect, for the head of an answer, and between two pieces of its body. */
  readonly connect: number;
  readonly head: number;
  readonly body: number;
  /** After the first failure: how long a request is tried again, and the longest pause between. */
  readonly patience: number;
  readonly pause: number;
}

const usualTimes: S3Times = { connect: 2000, head: 8000, body: 8000, patience: 5000, pause: 1000 };

/** Pause before a request is tried for the second time, milliseconds; each further one is twice as long. */
const firstPause = 50;

/** Bytes in a millisecond that a store takes at least: so much longer may it take to answer. */
const slowest = 512;

/** Most bytes of an answer that is no content. */
const mostText = 16 * 1024 * 1024;

/** A request about a bucket, or an object in it. Each may be sent more than once. */
export interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Key of an object; the bucket itself when absent. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Milliseconds for the head of the answer, where the store has more to do than usual. */
  readonly head?: number;
}

/** An answer whose body is still to be read, or destroyed. */
export interface S3Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readable;
}

/** What the store says against a request, which would say the same another time. */
export class S3Refusal extends Error {
  readonly status: number;
  /** As S3 names it, or empty. */
  readonly reason: string;

  constructor(request: S3Request, status: number, reason: string, message: string) {
    super(
      `the store of the contents refuses ${request.method} ${request.key ?? 'of its bucket'}: ${status} ${reason} ${message}`.trimEnd(),
    );
    this.status = status;
    this.reason = reason;
  }
}

/** The store has no room. */
class StoreFull extends S3Refusal {
  readonly code = 'ENOSPC';
}

/** Other bytes than were stored: asking again gives the same. */
export class MissingBytes extends Error {}

/** Reasons that pass by themselves, beside what the status says. */
const passing: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'OperationAborted', 'InternalError', 'ServiceUnavailable']);
const full: ReadonlySet<string> = new Set(['QuotaExceeded', 'EntityTooLargeForQuota', 'InsufficientStorage', 'XMinioStorageFull']);

/** Sends requests to one bucket. */
export interface S3Client {
  /**
   * Sends a request and takes its answer, again and again for a while where the store is away or too busy, or breaks off.
   * @param take what is wanted of the answer: its text, where nothing else is. Whatever it throws counts as a failure that may pass
   * @throws {StoreUnavailable} when it stays so; {S3Refusal} for any other status from 300 on, whose `code` is `ENOSPC` where there is no room.
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

/** Signs requests to a bucket, each for its own time. */
function createSigner({ endpoint, region, credentials, ...place }: S3Options) {
  const origin = new URL(endpoint);
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const cache = new Map<string, ArrayBuffer>();
  // Where others could change a body on its way, its signature is of the body too.
  const isProtected = origin.protocol === 'https:' || isLoopback(origin);
  return async ({ method, key, query = {}, headers = {}, body }: S3Request): Promise<{ path: string; headers: Record<string, string> }> => {
    const url = new URL(key === undefined ? `/${place.bucket}` : `/${place.bucket}/${place.prefix}${key}`, origin);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const payload = isProtected
      ? 'UNSIGNED-PAYLOAD'
      : createHash('sha256')
          .update(body ?? '')
          .digest('hex');
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
    // Its own encoding of the query is the one that is signed.
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

/** Whether the same request may succeed a moment later. */
function mayPass(error: S3Refusal): boolean {
  // What a store does not implement it does not implement a moment later.
  if (error instanceof StoreFull || error.status === 501) return false;
  return error.status >= 500 || error.status === 408 || error.status === 429 || passing.has(error.reason);
}

/** @param times where they are others than the usual ones, for tests */
export function openS3(options: S3Options, times: Partial<S3Times> = {}): S3Client {
  const { connect, head, body: bodyTimeout, patience, pause: longestPause } = { ...usualTimes, ...times };
  const pool = new Pool(new URL(options.endpoint).origin, { connect: { timeout: connect }, headersTimeout: head, bodyTimeout });
  const sign = createSigner(options);

  async function sendOnce(request: S3Request): Promise<S3Answer> {
    const { path, headers } = await sign(request);
    const { method, body = null } = request;
    const headersTimeout = (request.head ?? head) + (body?.length ?? 0) / slowest;
    const answer = await pool.request({ method, path, headers, body, headersTimeout });
    return { status: answer.statusCode, headers: toHeaders(answer.headers), body: answer.body };
  }

  /** @returns undefined after `failed` was told of a failure that may pass */
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
      end ??= performance.now() + patience;
      if (performance.now() + pause > end) {
        const message = reason instanceof Error ? reason.message : String(reason);
        throw new StoreUnavailable(`the store of the contents is away: ${message}`, { cause: reason });
      }
      // Not all at the same moment.
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  }

  const readAnswer = ({ body }: S3Answer): Promise<string> => readText(body);
  return {
    send: <T>(request: S3Request, take: (answer: S3Answer) => T | Promise<T> = readAnswer as never) => send(request, take),
    close: () => pool.destroy(),
  };
}
