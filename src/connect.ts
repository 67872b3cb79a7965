import { readFileSync } from 'node:fs';
import { readUrl } from './addresses.ts';
import type { Operations, ServiceName } from './api/operation.ts';
import type { PresignedRequest } from './cli/command.ts';
import { CurlPrinted, printCurl } from './cli/curl.ts';
import { createTrace } from './cli/trace.ts';
import { createClient, isLoopback, type Authorize, type Client, type ClientOptions } from './client/client.ts';
import { pause } from './client/retry.ts';
import type { Outgoing, Sender, SendOptions, SessionMemory } from './client/send.ts';
import { readCount, readFlag, type Sources } from './config/settings.ts';
import { askOnce, openCache, type Cache } from './config/cache.ts';
import { UsageError } from './errors.ts';
import { lazily } from './lazily.ts';
import { parseLimit } from './output/units.ts';
import { createSignings, type SigningOptions } from './sign.ts';
import type { World } from './world.ts';

/** What connections are made from. */
export interface ConnectOptions extends SigningOptions {
  verbose: number;
  curl: boolean;
  warn: (message: string) => void;
}

/** Connections of one run of the program: made when first used, shared by all clients. */
export interface Connections {
  /** @param bulk connections at most of the sender for bulk; that for few requests when absent */
  client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T>;
  /** Makes a URL that needs no further signature. */
  presign(service: ServiceName, request: PresignedRequest): Promise<string>;
  /** An answer that the same service never gives otherwise: asked for once a day. */
  remember: <T>(name: string, ask: () => Promise<T>) => Promise<T>;
  close(): void;
}

/** Connections to a host: of commands that make a few requests, and at most. */
const fewConnections = 8;
const mostConnections = 64;

/** Milliseconds of silence after which a connection is given up. */
const usualTimeout = 60_000;

/** Longest time that an answer is kept which never changes, milliseconds. */
const answerLife = 24 * 3_600_000;

/** Longest time that a TLS session is tried again, milliseconds: services commonly keep theirs for five minutes. */
const sessionLife = 280_000;

/**
 * The TLS sessions of earlier runs. Which authorities were trusted belongs to a session: it is never resumed where others are. What another release of
 * OpenSSL cannot read, it would report when the key is read.
 */
function openSessions(folder: string, { env, now, release }: World, ca: string | undefined): (url: URL) => SessionMemory {
  const cache = openCache(folder, JSON.stringify([release, env['NODE_EXTRA_CA_CERTS'] ?? '', ca ?? '']), now, sessionLife);
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
    return readFileSync(settings.ca.value, 'utf8');
  } catch (error) {
    throw new UsageError(`${settings.ca.value} (${settings.ca.source}): cannot be read`, {
      cause: error,
      hint: 'give a PEM file with --ca',
    });
  }
}

/** Whether requests to this host go through the proxy that the environment names; never to this machine itself. */
function usesProxy(url: URL, env: World['env']): boolean {
  if (isLoopback(url)) return false;
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  return names.some((name) => env[name] !== undefined && env[name] !== '');
}

/** Makes the connections of one run. Nothing is read, loaded or sent before the first request. */
export function createConnections(options: ConnectOptions): Connections {
  const { world, paths, settings, verbose, curl, warn } = options;
  const signings = createSignings(options);
  const senders = new Map<string, Promise<Sender>>();
  const authority = lazily(() => readAuthority(settings()));

  function sendOptions(values: Sources, connections: number): SendOptions {
    const insecure = values.insecure !== undefined && readFlag(values.insecure);
    if (insecure && senders.size === 0)
      warn('TLS certificates are not checked (--insecure): anybody on the way can read and change what is sent');
    const idleTimeout = values.timeout ? parseLimit(values.timeout.value) : usualTimeout;
    const ca = authority();
    return {
      connectTimeout: Math.min(10_000, idleTimeout),
      idleTimeout,
      ca,
      insecure,
      sessions: openSessions(`${paths.cache}/tls`, world, ca),
      connections,
    };
  }

  function loadSender(url: URL, bulk: number | undefined): Promise<Sender> {
    const throughProxy = usesProxy(url, world.env);
    const kind = `${bulk ?? 'few'} ${throughProxy}`;
    const known = senders.get(kind);
    if (known) return known;
    const sending = sendOptions(settings(), Math.min(bulk ?? fewConnections, mostConnections));
    const loading =
      bulk !== undefined || throughProxy
        ? import('./client/send-undici.ts').then(({ createUndiciSender }) => createUndiciSender(sending, throughProxy))
        : import('./client/send-socket.ts').then(({ createSocketSender }) => createSocketSender(sending));
    senders.set(kind, loading);
    return loading;
  }

  function client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T> {
    const values = settings();
    const url = readUrl(values, service);
    const signing = signings.find(service);
    let prepared = bulk !== undefined || curl;
    /** Connects while the signature is made: loading what signs takes as long as the greetings. */
    const authorize: Authorize = async (result) => {
      if (!prepared) {
        prepared = true;
        const sender = await loadSender(url, bulk);
        sender.prepare?.(url, result === 'bytes');
        // What is to be sent first goes out in the next turn: the service answers while the signature is made.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return await signing.authorize();
    };
    const send = async (outgoing: Outgoing) => {
      if (curl)
        throw new CurlPrinted(
          printCurl(outgoing, { ca: values.ca?.value, insecure: values.insecure !== undefined && readFlag(values.insecure) }),
        );
      const sent = (await loadSender(url, bulk)).send(outgoing);
      // What most replies are shown with is loaded while the service works.
      if (bulk === undefined) setImmediate(() => void import('./output/render.ts'));
      const reply = await sent;
      if (reply.status < 400) signing.remember();
      return reply;
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
      retry: { retries: values.retries ? readCount(values.retries) : 0, base: 200, most: 20_000, sleep: pause, random: Math.random },
      now: world.now,
      // Reading leaves nothing half done: unless more is going on, the process may end at once.
      interruption: (reads) => (reads && bulk === undefined && !world.heedsSignals() ? undefined : world.interrupted),
      ...(values.maxTime && { maxTime: parseLimit(values.maxTime.value) }),
      ...(verbose > 0 && { trace: createTrace(verbose, (line) => void world.stderr.stream.write(`${line}\n`)) }),
    };
    return createClient(table, clientOptions);
  }

  /** Whose answers they are: another service at the same address has another authority, another account another key. */
  function openAnswers(values: Sources): Cache {
    const connection = [readUrl(values, 'compute').href, authority(), values.keyId?.value, values.keyFile?.value];
    return openCache(`${paths.cache}/answers`, JSON.stringify(connection), world.now, answerLife);
  }

  async function remember<T>(name: string, ask: () => Promise<T>): Promise<T> {
    return await askOnce(openAnswers(settings()), name, ask);
  }

  return {
    client,
    presign: signings.presign,
    remember,
    // Later: a program that exits now has its connections closed without taking the time for it.
    close: () =>
      void setImmediate(() => {
        for (const sender of senders.values()) sender.then((open) => open.close()).catch(() => undefined);
      }),
  };
}
