import { readClock } from '../base/clock.ts';
import type { World } from '../base/world.ts';
import { readUrl } from './endpoints.ts';
import type { HttpResponse } from '../api/message.ts';
import type { Operations, ServiceName } from '../api/operation.ts';
import { CurlPrinted, printCurl } from './curl.ts';
import { createTrace } from './trace.ts';
import type { Notices } from './voice.ts';
import { createClient, type Authorize, type Client } from '../client/client.ts';
import { pause, type RetryPolicy } from '../client/retry.ts';
import type { Send, Sender, SendListed } from '../http/send.ts';
import { readCount, readFlag, type Sources } from '../config/settings.ts';
import { askOnce, openCache, type Cache } from '../config/cache.ts';
import { UsageError, type ApiError } from '../base/errors.ts';
import { lazily } from '../base/lazily.ts';
import { mostConnections, readLimit, Senders, type SenderOptions } from './senders.ts';
import { createSignings, type Signing, type SigningOptions } from './sign.ts';

export interface ConnectOptions extends SigningOptions, SenderOptions {
  verbose: number;
  curl: boolean;
  trace: (line: string) => void;
  notices: Notices;
}

/** How long a constant response is cached, milliseconds. */
const answerLife = 24 * 3_600_000;

/** Retries where longer waiting is unlikely to help, and of work of several retried requests, unless the user sets a number. */
const fewRetries = 3;

/**
 * Limits the rate at which requests of the whole program start. An interruption ends the waiting: the requests that follow are those that
 * undo something.
 * @throws {UsageError} for a rate of 0
 */
function createPace({ maxRequestsPerSecond: rate }: Sources, world: World): () => Promise<void> | undefined {
  if (rate === undefined) return () => undefined;
  const count = readCount(rate);
  if (count === 0)
    throw new UsageError(`${rate.source}: a rate of 0 requests per second would send nothing`, {
      hint: 'for no limit, leave out --max-requests-per-second',
    });
  let next = readClock();
  return async () => {
    const now = readClock();
    next = Math.max(now, next) + 1000 / count;
    await pause(next - 1000 / count - now, world.heedsSignals() ? world.interrupted : undefined);
  };
}

/** The default of ten retries within about 30 s outlasts the restart of a service. */
function readRetries({ retries }: Sources): RetryPolicy {
  const few = retries?.source === 'default' && { earlyRetries: fewRetries, workRetries: fewRetries };
  return { retries: retries ? readCount(retries) : 0, ...few, base: 200, most: 6400, sleep: pause, random: Math.random };
}

/**
 * Signs each request when its turn comes. `connect` is called during the first signature: loading the modules that sign takes as long as
 * the handshakes.
 */
function createAuthorize(
  signing: Signing,
  takeTurn: () => Promise<void> | undefined,
  connect?: (mayBeLong: boolean) => Promise<void>,
): Authorize {
  let isFirst = true;
  return async (result) => {
    const turn = takeTurn();
    if (turn) await turn;
    if (isFirst && connect) {
      isFirst = false;
      await connect(result === 'bytes');
      // The first bytes are sent in the next turn of the event loop: the service responds while the signature is made.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return await signing.authorize();
  };
}

/** The cache is keyed by service and user: another service at the same address has another authority, another account another key. */
function openAnswers({ world, paths, settings, reportUnusedCache }: ConnectOptions, authority: string | undefined): Cache {
  const values = settings();
  const connection = JSON.stringify([readUrl(values, 'compute').href, authority, values.keyId?.value, values.keyFile?.value]);
  return openCache({
    top: paths.cache,
    name: 'answers',
    connection,
    now: world.now,
    freshness: answerLife,
    reportUnused: reportUnusedCache,
  });
}

function findRequestId({ headers }: HttpResponse): string | undefined {
  return headers['request-id'] ?? headers['x-request-id'];
}

/** Creates the connections of one run, shared by all clients. Nothing is read, loaded or sent before the first request. */
export function createConnections(options: ConnectOptions) {
  const { world, settings, verbose, curl, trace, notices } = options;
  const signings = createSignings(options);
  const senders = new Senders(options);
  const pace = lazily(() => createPace(settings(), world));
  /** Request ids of the 404 responses of the compute service: the error itself does not tell the service. */
  const absentInCompute = new Set<string | undefined>();

  /** @param bulk maximum connections of a sender for bulk transfers; absent: the sender for few requests */
  function client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T> {
    const values = settings();
    const url = readUrl(values, service);
    const signing = signings.find(service);
    let loaded: Sender | undefined;
    const findSender = lazily(async () => (loaded = await senders.load(url, bulk)));
    const connect = async (mayBeLong: boolean) => (await findSender()).prepare?.(url, mayBeLong);
    const guard = senders.guard(url);
    const sendNow: Send = (outgoing) => (loaded ? loaded.send(outgoing) : findSender().then(({ send }) => send(outgoing)));
    const send: Send = async (outgoing) => {
      if (curl) throw new CurlPrinted(printCurl(outgoing, { ca: values.ca?.value, insecure: readFlag(values.insecure) }));
      const isSentSoon = outgoing.body === undefined || outgoing.body instanceof Uint8Array;
      const stopWatching = isSentSoon ? notices.watch(url.host) : undefined;
      // Loads the module that shows most results while the service works.
      if (bulk === undefined) setImmediate(() => void import('../output/render.ts'));
      try {
        const response = await guard.send(outgoing, sendNow);
        if (response.status < 400) signing.remember();
        if (response.status === 404 && service === 'compute') absentInCompute.add(findRequestId(response));
        return response;
      } finally {
        stopWatching?.();
      }
    };
    const noteListed = (response: HttpResponse | undefined): HttpResponse | undefined => {
      if (response) guard.noteResponse();
      return response;
    };
    const sendListed: SendListed = (request, headers) => {
      // With a limited rate, each request waits for its turn.
      if (curl || values.maxRequestsPerSecond !== undefined) return undefined;
      return loaded?.sendListed(request, headers)?.then(noteListed);
    };
    return createClient(table, {
      endpoint: {
        service,
        url,
        authorize: createAuthorize(signing, () => pace()(), bulk === undefined && !curl ? connect : undefined),
        roles: values.role?.value.split(',').filter((name) => name !== '') ?? [],
        apiVersion: values.apiVersion?.value ?? '*',
        tryOtherForm: signing.tryOtherForm,
      },
      send,
      sendListed,
      retry: readRetries(values),
      onRetry: notices.retry,
      now: world.now,
      // Interrupting a read leaves nothing half done: unless other work is in progress, the process may end immediately.
      interruption: (reads) => (reads && bulk === undefined && !world.heedsSignals() ? undefined : world.interrupted),
      ...(values.maxTime && { maxTime: readLimit(values.maxTime) }),
      ...(verbose > 0 && { trace: createTrace(verbose, trace) }),
    });
  }

  return {
    client,
    /** The URL of a service, and a `send` that neither signs nor retries. */
    forward: (service: ServiceName): { url: URL; send: Send } => {
      const url = readUrl(settings(), service);
      return { url, send: async (outgoing) => (await senders.load(url, mostConnections)).send(outgoing) };
    },
    presign: signings.presign,
    signer: options.signer,
    isOfCompute: ({ requestId }: ApiError): boolean => requestId !== undefined && absentInCompute.has(requestId),
    /** Caches a response that never changes at the same service: it is requested at most once a day. */
    remember: async <T>(name: string, ask: () => Promise<T>): Promise<T> =>
      await askOnce(openAnswers(options, senders.authority()), name, ask),
    // Deferred: when the program exits now, its connections are closed without the time that this takes.
    close: (): void => void setImmediate(() => senders.close()),
  };
}
