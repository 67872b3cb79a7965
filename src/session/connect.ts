import { readUrl } from './endpoints.ts';
import type { Operations, ServiceName } from '../api/operation.ts';
import type { PresignedRequest } from '../cli/command.ts';
import { CurlPrinted, printCurl } from './curl.ts';
import { createTrace } from './trace.ts';
import type { Notices } from './voice.ts';
import { createClient, isLoopback, type Authorize, type Client, type ClientOptions } from '../client/client.ts';
import { findProxy } from '../http/proxy.ts';
import { pause, type RetryPolicy } from '../client/retry.ts';
import type { Outgoing, Send, Sender, SendOptions, SessionMemory } from '../http/send.ts';
import { createSilenceGuard } from '../http/silent-service.ts';
import { readCount, readFlag, type Sources } from '../config/settings.ts';
import { askOnce, openCache, type Cache, type CacheOptions } from '../config/cache.ts';
import { UsageError } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { parseLimit } from '../output/units.ts';
import { readUserFile, UntrustedFile } from '../base/private-files.ts';
import { createSignings, type SigningOptions } from './sign.ts';
import type { World } from '../base/world.ts';

export interface ConnectOptions extends SigningOptions {
  verbose: number;
  curl: boolean;
  warn: (message: string) => void;
  trace: (line: string) => void;
  notices: Notices;
  /** Called with the reason why the cache is not used. */
  refuseCache: (problem: string) => void;
}

/** Connections of one run of the program: opened when first used, shared by all clients. */
export interface Connections {
  /** @param bulk maximum connections of a sender for bulk transfers; absent: the sender for few requests */
  client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T>;
  /** The URL of a service, and a `send` that neither signs nor retries. */
  forward(service: ServiceName): { url: URL; send: Send };
  /** Creates a pre-signed URL. */
  presign(service: ServiceName, request: PresignedRequest): Promise<string>;
  /** Caches a response that never changes at the same service: it is requested at most once a day. */
  remember: <T>(name: string, ask: () => Promise<T>) => Promise<T>;
  close(): void;
}

/** Maximum connections to a host: for commands with few requests, and for bulk transfers. */
const fewConnections = 8;
const mostConnections = 64;

/** Default idle timeout, milliseconds. */
const usualTimeout = 60_000;

/** How long a constant response is cached, milliseconds. */
const answerLife = 24 * 3_600_000;

/** Maximum age of a TLS session to resume, milliseconds: services commonly keep theirs for five minutes. */
const sessionLife = 280_000;

/**
 * The TLS sessions of earlier runs. A session is only resumed with the certificate authorities that were trusted when it was created, and
 * with the same release of OpenSSL: another one might not be able to read it, and would report that error when the key is read.
 */
function openSessions(
  { env, now, release }: World,
  ca: string | undefined,
  place: Pick<CacheOptions, 'top' | 'refuse'>,
): (url: URL) => SessionMemory {
  const connection = JSON.stringify([release, env['NODE_EXTRA_CA_CERTS'] ?? '', ca ?? '']);
  const cache = openCache({ ...place, name: 'tls', connection, now, freshness: sessionLife });
  return ({ host }) => ({
    read: () => {
      const { session, since } = (cache.read(host) ?? {}) as { session?: string; since?: number };
      return session === undefined ? undefined : { session: Buffer.from(session, 'base64'), age: now() - (since ?? 0) };
    },
    write: (session) => cache.write(host, { session: session.toString('base64'), since: now() }),
  });
}

function readAuthority(settings: Sources): string | undefined {
  if (settings.ca === undefined) return undefined;
  try {
    return readUserFile(settings.ca.value);
  } catch (error) {
    const reason = error instanceof UntrustedFile ? error.message : `${settings.ca.value}: cannot be read`;
    throw new UsageError(`${reason} (${settings.ca.source})`, {
      cause: error,
      hint: 'give a PEM file with --ca',
    });
  }
}

/** Retries where longer waiting is unlikely to help, unless the user sets a number. */
const earlyRetries = 3;

/** @throws {UsageError} for a rate of 0 */
function readRequestRate({ maxRequestsPerSecond: rate }: Sources): number | undefined {
  if (rate === undefined) return undefined;
  const count = readCount(rate);
  if (count === 0)
    throw new UsageError(`${rate.source}: at 0 requests per second nothing would be sent`, {
      hint: 'for no limit, leave out --max-requests-per-second',
    });
  return count;
}

/** Limits the rate at which requests of the whole program start. */
function createPace(perSecond: number | undefined): (() => Promise<void>) | undefined {
  if (perSecond === undefined) return undefined;
  let next = performance.now();
  return async () => {
    const now = performance.now();
    next = Math.max(now, next) + 1000 / perSecond;
    await pause(next - 1000 / perSecond - now);
  };
}

/** The default of ten retries within about 30 s outlasts the restart of a service. */
function readRetries({ retries }: Sources): RetryPolicy {
  const early = retries?.source === 'default' && { earlyRetries };
  return { retries: retries ? readCount(retries) : 0, ...early, base: 200, most: 6400, sleep: pause, random: Math.random };
}

/** Creates the connections of one run. Nothing is read, loaded or sent before the first request. */
export function createConnections(options: ConnectOptions): Connections {
  const { world, paths, settings, verbose, curl, warn, trace, notices, refuseCache } = options;
  const signings = createSignings(options);
  const senders = new Map<string, Promise<Sender>>();
  const guards = new Map<string, (send: Send) => Send>();
  const authority = lazily(() => readAuthority(settings()));

  function readIdleTimeout({ timeout }: Sources): number {
    return timeout ? parseLimit(timeout.value) : usualTimeout;
  }

  /** Fails all requests to a silent service, for all clients. */
  function guard({ origin }: URL, values: Sources, send: Send): Send {
    const known = guards.get(origin) ?? createSilenceGuard(readIdleTimeout(values), () => performance.now());
    guards.set(origin, known);
    return known(send);
  }

  function sendOptions(values: Sources, connections: number): SendOptions {
    const insecure = values.insecure !== undefined && readFlag(values.insecure);
    if (insecure && senders.size === 0)
      warn('TLS certificates are not checked (--insecure): anybody on the way can read and change what is sent');
    const idleTimeout = readIdleTimeout(values);
    const ca = authority();
    return {
      connectTimeout: Math.min(10_000, idleTimeout),
      idleTimeout,
      ca,
      insecure,
      sessions: openSessions(world, ca, { top: paths.cache, refuse: refuseCache }),
      connections,
    };
  }

  function loadSender(url: URL, bulk: number | undefined): Promise<Sender> {
    // Requests to this machine never use a proxy.
    const proxy = isLoopback(url) ? undefined : findProxy(url, world.env);
    const kind = `${bulk ?? 'few'} ${proxy?.url.href ?? ''}`;
    const known = senders.get(kind);
    if (known) return known;
    const sending = sendOptions(settings(), Math.min(bulk ?? fewConnections, mostConnections));
    const loading = import('../http/sockets.ts').then(({ createSocketSender }) => createSocketSender({ ...sending, proxy }));
    senders.set(kind, loading);
    return loading;
  }

  const pace = lazily(() => createPace(readRequestRate(settings())));

  function client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T> {
    const values = settings();
    const url = readUrl(values, service);
    const signing = signings.find(service);
    const findSender = lazily(() => loadSender(url, bulk));
    let prepared = bulk !== undefined || curl;
    /** Connects while the signature is made: loading the modules that sign takes as long as the handshakes. */
    const authorize: Authorize = async (result) => {
      await pace()?.();
      if (!prepared) {
        prepared = true;
        const sender = await findSender();
        sender.prepare?.(url, result === 'bytes');
        // The first bytes are sent in the next turn of the event loop: the service responds while the signature is made.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return await signing.authorize();
    };
    const sendGuarded = guard(url, values, async (outgoing) => (await findSender()).send(outgoing));
    const send = async (outgoing: Outgoing) => {
      if (curl)
        throw new CurlPrinted(
          printCurl(outgoing, { ca: values.ca?.value, insecure: values.insecure !== undefined && readFlag(values.insecure) }),
        );
      const sent = sendGuarded(outgoing);
      const isSentSoon = outgoing.body === undefined || outgoing.body instanceof Uint8Array;
      const stopWatching = isSentSoon ? notices.watch(url.host) : () => undefined;
      // Loads the module that shows most results while the service works.
      if (bulk === undefined) setImmediate(() => void import('../output/render.ts'));
      const response = await sent.finally(stopWatching);
      if (response.status < 400) signing.remember();
      return response;
    };
    const clientOptions: ClientOptions = {
      endpoint: {
        service,
        url,
        authorize,
        roles: values.role?.value.split(',').filter((name) => name !== '') ?? [],
        apiVersion: values.apiVersion?.value ?? '*',
        tryOtherForm: signing.tryOtherForm,
      },
      send,
      retry: readRetries(values),
      onRetry: notices.retry,
      now: world.now,
      // Interrupting a read leaves nothing half done: unless other work is in progress, the process may end immediately.
      interruption: (reads) => (reads && bulk === undefined && !world.heedsSignals() ? undefined : world.interrupted),
      ...(values.maxTime && { maxTime: parseLimit(values.maxTime.value) }),
      ...(verbose > 0 && { trace: createTrace(verbose, trace) }),
    };
    return createClient(table, clientOptions);
  }

  /** The cache is keyed by service and user: another service at the same address has another authority, another account another key. */
  function openAnswers(values: Sources): Cache {
    const connection = [readUrl(values, 'compute').href, authority(), values.keyId?.value, values.keyFile?.value];
    return openCache({
      top: paths.cache,
      name: 'answers',
      connection: JSON.stringify(connection),
      now: world.now,
      freshness: answerLife,
      refuse: refuseCache,
    });
  }

  async function remember<T>(name: string, ask: () => Promise<T>): Promise<T> {
    return await askOnce(openAnswers(settings()), name, ask);
  }

  return {
    client,
    forward: (service) => {
      const url = readUrl(settings(), service);
      return { url, send: async (outgoing) => (await loadSender(url, mostConnections)).send(outgoing) };
    },
    presign: signings.presign,
    remember,
    // Deferred: when the program exits now, its connections are closed without the time that this takes.
    close: () =>
      void setImmediate(() => {
        for (const sender of senders.values()) sender.then((open) => open.close()).catch(() => undefined);
      }),
  };
}
