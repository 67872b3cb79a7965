import { readFileSync } from 'node:fs';
import type { Body, Headers } from '../../api/message.ts';
import type { ServiceName } from '../../api/operation.ts';
import { encodeQuery } from '../../client/request.ts';
import type { Context } from '../../cli/command.ts';
import { readFlag } from '../../config/settings.ts';
import { checkInterrupted, NetworkError } from '../../base/errors.ts';
import { lazily } from '../../base/lazily.ts';
import type { Sender } from '../../http/send.ts';
import { Mismatch } from './outcome.ts';
import { readResponse, type Response } from './response.ts';

/** A request of a check. */
export interface Given {
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: Headers;
  readonly body?: Body | string;
  readonly json?: unknown;
  /** Is sent with these headers only: neither signature nor version is added. */
  readonly isBare?: true;
  /** Is sent over plain HTTP; implies `isBare`. */
  readonly isPlain?: true;
}

/** Sends the requests of checks, and keeps the responses for the checks of every response. */
export interface Requests {
  send(service: ServiceName, method: string, path: string, given?: Given): Promise<Response>;
  readonly seen: Readonly<Record<ServiceName, readonly Response[]>>;
  readonly urls: Readonly<Record<ServiceName, URL | undefined>>;
  /** Path of a service's URL, which comes before the path of each request: empty, or `/name`. */
  prefix(service: ServiceName): string;
  close(): void;
}

/** Idle timeout of a connection, milliseconds. */
const usualTimeout = 60_000;

/** The same context without retries unless the user set a number of them: a retry would hide a failure. */
function withoutRetries(invocation: Context): Context {
  return invocation.settings().retries?.source === 'default' ? invocation.withOption('retries', '0') : invocation;
}

function toBody({ body, json }: Given): { body?: Body; headers: Headers } {
  if (json !== undefined) return { body: Buffer.from(JSON.stringify(json)), headers: { 'content-type': 'application/json' } };
  return { ...(body !== undefined && { body: typeof body === 'string' ? Buffer.from(body) : body }), headers: {} };
}

function readUrl(value: string | undefined): URL | undefined {
  return value === undefined ? undefined : new URL(value);
}

export function createRequests(invocation: Context): Requests {
  const context = withoutRetries(invocation);
  const { settings } = context;
  const seen: Record<ServiceName, Response[]> = { compute: [], storage: [] };
  const urls = { compute: readUrl(settings().url?.value), storage: readUrl(settings().storUrl?.value) };
  const bare = lazily(async (): Promise<Sender> => {
    const { createSocketSender } = await import('../../http/sockets.ts');
    const ca = settings().ca?.value;
    return createSocketSender({
      connectTimeout: 10_000,
      idleTimeout: usualTimeout,
      ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
      insecure: readFlag(settings().insecure),
      connections: 4,
    });
  });
  let opened: Promise<Sender> | undefined;
  const prefix = (service: ServiceName): string => urls[service]?.pathname.replace(/\/+$/u, '') ?? '';

  async function sendBare(service: ServiceName, method: string, target: string, given: Given): Promise<Response> {
    const base = urls[service];
    if (!base) throw new Mismatch(`no address for the ${service} service is known`);
    const url = new URL(base.origin + prefix(service) + target);
    if (given.isPlain) url.protocol = 'http:';
    const { body, headers } = toBody(given);
    opened ??= bare();
    const received = await (await opened).send({ method, url, headers: { ...headers, ...given.headers }, body });
    return readResponse(`${method} ${target}`, received);
  }

  async function sendSigned(service: ServiceName, method: string, target: string, given: Given): Promise<Response> {
    const { body, headers } = toBody(given);
    const length = body === undefined && method !== 'GET' && method !== 'HEAD' ? { 'content-length': '0' } : {};
    const client = service === 'compute' ? context.compute : context.storage;
    const received = await client.request({ method, target, headers: { ...length, ...headers, ...given.headers }, body, outlasts: true });
    return readResponse(`${method} ${target}`, received);
  }

  return {
    seen,
    urls,
    prefix,
    send: async (service, method, path, given = {}) => {
      const target = path + encodeQuery(given.query ?? {}).replace('?', path.includes('?') ? '&' : '?');
      // A request in progress is not aborted: it could create something that nobody removes.
      checkInterrupted(context.world.interrupted);
      const isBare = given.isBare === true || given.isPlain === true;
      try {
        const response = await (isBare ? sendBare : sendSigned)(service, method, target, given);
        if (!given.isPlain) seen[service].push(response);
        return response;
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        throw new Mismatch(`${method} ${target}: ${error.message}`, { cause: error });
      }
    },
    close: () => void opened?.then((sender) => sender.close()).catch(() => undefined),
  };
}
