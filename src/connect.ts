import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operations, ServiceName } from './api/operation.ts';
import type { Signer } from './auth/signer.ts';
import type { PresignedRequest } from './cli/command.ts';
import { CurlPrinted, printCurl } from './cli/curl.ts';
import { askSecret, canAsk } from './cli/prompt.ts';
import { createTrace } from './cli/trace.ts';
import { checkTransport, createClient, isLoopback, type Client, type ClientOptions } from './client/client.ts';
import type { Outgoing, Sender, SendOptions, SessionMemory } from './client/send.ts';
import type { Paths } from './config/paths.ts';
import { kebab, readCount, readFlag, settings as settingTable, type Sources } from './config/settings.ts';
import { openCache } from './config/cache.ts';
import { readJsonFile, writeFileAtomically } from './config/files.ts';
import type { ApiError } from './errors.ts';
import { UsageError } from './errors.ts';
import { parseLimit } from './output/units.ts';
import type { World } from './world.ts';

/** What connections are made from. */
export interface ConnectOptions {
  world: World;
  paths: Paths;
  settings: () => Sources;
  /** Login that signs. */
  signer: () => string | undefined;
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
  close(): void;
}

/** Connections to a host: of commands that make a few requests, and at most. */
const fewConnections = 8;
const mostConnections = 64;

/** What is missing, and how to say it: once where there is a profile, with the way to begin where there is none. */
export function explainMissing(settings: Sources, name: 'url' | 'storUrl' | 'account', words: string): UsageError {
  const profile = Object.values(settings).find(({ source }) => source.startsWith('profile '));
  if (profile) {
    const chosen = profile.source.slice('profile '.length);
    return new UsageError(`${profile.source} has no ${words}`, {
      hint: `cloud profile edit ${chosen} --${kebab(name)} ${settingTable[name].placeholder}`,
    });
  }
  return new UsageError(`no ${words} is known: there is no profile yet`, {
    hint: 'make a profile, which asks for what it needs: cloud profile create NAME\nor try everything on this machine: cloud local start',
  });
}

/** The value of a setting that a request cannot do without. */
function requireSetting(settings: Sources, name: 'url' | 'storUrl', words: string): string {
  const found = settings[name];
  if (found === undefined) throw explainMissing(settings, name, words);
  return found.value;
}

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

function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal?.addEventListener('abort', done);
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

function readUrl(settings: Sources, service: ServiceName): URL {
  const name = service === 'compute' ? 'url' : 'storUrl';
  const text = requireSetting(settings, name, service === 'compute' ? 'address of the compute service' : 'address of the object storage');
  if (!URL.canParse(text)) throw new UsageError(`${settings[name]?.source ?? name}: "${text}" is not a URL`);
  const url = new URL(text);
  if (url.username !== '' || url.password !== '')
    throw new UsageError(`${settings[name]?.source ?? name}: the URL holds a name or password, which these services do not take`, {
      hint: 'requests are signed with a key: leave out what stands before the @',
    });
  checkTransport(url, settings.allowHttp !== undefined && readFlag(settings.allowHttp));
  return url;
}

/** Whether requests to this host go through the proxy that the environment names; never to this machine itself. */
function usesProxy(url: URL, env: World['env']): boolean {
  if (isLoopback(url)) return false;
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  return names.some((name) => env[name] !== undefined && env[name] !== '');
}

/** Makes the connections of one run. Nothing is read, loaded or sent before the first request. */
export function createConnections({ world, paths, settings, signer: signerLogin, verbose, curl, warn }: ConnectOptions): Connections {
  const senders = new Map<string, Promise<Sender>>();
  const signers = new Map<string, Promise<Signer>>();

  function sendOptions(values: Sources, connections: number): SendOptions {
    const insecure = values.insecure !== undefined && readFlag(values.insecure);
    if (insecure && senders.size === 0)
      warn('TLS certificates are not checked (--insecure): anybody on the way can read and change what is sent');
    const idleTimeout = parseLimit(values.timeout?.value ?? '60s');
    const ca = readAuthority(values);
    return {
      connectTimeout: Math.min(10_000, idleTimeout),
      idleTimeout,
      ca,
      insecure,
      sessions: openSessions(join(paths.cache, 'tls'), world, ca),
      connections,
    };
  }

  function loadSender(url: URL, bulk: number | undefined): Promise<Sender> {
    const throughProxy = usesProxy(url, world.env);
    const kind = `${bulk ?? 'few'} ${throughProxy}`;
    const known = senders.get(kind);
    if (known) return known;
    const options = sendOptions(settings(), Math.min(bulk ?? fewConnections, mostConnections));
    const loading =
      bulk !== undefined || throughProxy
        ? import('./client/send-undici.ts').then(({ createUndiciSender }) => createUndiciSender(options, throughProxy))
        : import('./client/send-https.ts').then(({ createHttpsSender }) => createHttpsSender(options));
    senders.set(kind, loading);
    return loading;
  }

  function loadSigner(service: ServiceName): Promise<Signer> {
    const values = settings();
    const keyId = (service === 'storage' ? values.storKeyId : undefined) ?? values.keyId;
    const id = `${keyId?.value ?? ''} ${values.keyFile?.value ?? ''}`;
    const known = signers.get(id);
    if (known) return known;
    const loading = import('./auth/find.ts').then(({ findSigner }) =>
      findSigner({
        sshDir: paths.ssh,
        ...(keyId && { keyId: keyId.value }),
        ...(values.keyFile && { keyFile: values.keyFile.value }),
        ...(world.env['SSH_AUTH_SOCK'] !== undefined && { agentSocket: world.env['SSH_AUTH_SOCK'] }),
        ...(canAsk(world) && { askPassphrase: (path: string) => askSecret(world, `Passphrase of ${path}`) }),
      }),
    );
    signers.set(id, loading);
    return loading;
  }

  /** Who signs for a service: the key, whether the service takes it, and the path by which it is known there. */
  async function identify(service: ServiceName): Promise<{ login: string; signer: Signer; keyId: string }> {
    const values = settings();
    const login = signerLogin();
    if (login === undefined) throw explainMissing(values, 'account', 'account');
    const [signer, { assertUsable }, { writeKeyId }] = await Promise.all([
      loadSigner(service),
      import('./auth/signer.ts'),
      import('./auth/key-id.ts'),
    ]);
    assertUsable(signer, service, { ecdsa: values.storEcdsa !== undefined && readFlag(values.storEcdsa) });
    // An empty one takes back the sub-user of a profile: the account itself signs.
    const user = values.user?.value ? { user: values.user.value } : undefined;
    return { login, signer, keyId: writeKeyId(service, { account: login, ...user, key: signer.publicKey.fingerprints.md5 }) };
  }

  async function presignUrl(service: ServiceName, { methods, path, query = [], lifetime }: PresignedRequest): Promise<string> {
    const [{ login, signer, keyId }, { presign }] = await Promise.all([identify(service), import('./auth/presign.ts')]);
    const { origin, host, pathname } = readUrl(settings(), service);
    const target = await presign({
      service,
      signer,
      keyId,
      methods,
      host,
      path: pathname.replace(/\/+$/, '') + path,
      user: login,
      expires: (world.now() + lifetime) / 1000,
      query,
    });
    return origin + target;
  }

  /** Signs for one service; with an ECDSA key the later header form is tried when the first is refused, and remembered for the host. */
  function createSigning(service: ServiceName) {
    const memory = join(paths.state, 'signing.json');
    const host = (): string => readUrl(settings(), service).host;
    let form: 'legacy' | 'draft' | undefined;
    let usesCurve = false;
    let making: Promise<{ headers: () => Promise<{ date: string; authorization: string }> }> | undefined;

    async function make() {
      const values = settings();
      const [{ signer, keyId }, { createAuthorizer }] = await Promise.all([identify(service), import('./auth/authorization.ts')]);
      usesCurve = signer.publicKey.type === 'ecdsa';
      if (usesCurve && service === 'compute') form ??= readJsonFile(memory)?.[host()] === 'draft' ? 'draft' : 'legacy';
      const window = values.signWindow === undefined ? 0 : Math.min(240, readCount(values.signWindow));
      return createAuthorizer({ signer, service, keyId, now: world.now, window, form: form ?? 'legacy' });
    }

    function tryOtherForm(error: ApiError, authorization: string): boolean {
      const refused = error.status === 401 || (error.status === 400 && error.code === 'InvalidHeader');
      if (!refused || service !== 'compute' || !usesCurve || authorization.includes('signature="')) return false;
      // Of several requests at once, the first that is refused changes the form for all.
      if (form === 'legacy') [form, making] = ['draft', undefined];
      return true;
    }

    /** Keeps the form that a host accepted after it had refused the other. */
    function remember(): void {
      if (form === 'draft' && readJsonFile(memory)?.[host()] !== 'draft') {
        writeFileAtomically(memory, `${JSON.stringify({ ...readJsonFile(memory), [host()]: 'draft' }, null, 2)}\n`);
      }
    }

    return { authorize: async () => (await (making ??= make())).headers(), tryOtherForm, remember };
  }

  const signings = new Map<ServiceName, ReturnType<typeof createSigning>>();

  /** The same for all clients of a service: one signature serves all requests of a second. */
  function findSigning(service: ServiceName): ReturnType<typeof createSigning> {
    const signing = signings.get(service) ?? createSigning(service);
    signings.set(service, signing);
    return signing;
  }

  function client<T extends Operations>(table: T, service: ServiceName, bulk?: number): Client<T> {
    const values = settings();
    const url = readUrl(values, service);
    const signing = findSigning(service);
    let prepared = bulk !== undefined || curl;
    /** Connects while the signature is made: loading what signs takes as long as the greetings. */
    const authorize: typeof signing.authorize = async () => {
      if (!prepared) {
        prepared = true;
        const sender = await loadSender(url, bulk);
        sender.prepare?.(url);
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
      if (bulk === undefined) void import('./output/render.ts');
      const reply = await sent;
      if (reply.status < 400) signing.remember();
      return reply;
    };
    const options: ClientOptions = {
      endpoint: {
        service,
        url,
        authorize,
        roles: values.role?.value.split(',').filter((name) => name !== '') ?? [],
        apiVersion: values.apiVersion?.value ?? '*',
        tryOtherForm: signing.tryOtherForm,
      },
      send,
      retry: { retries: values.retries ? readCount(values.retries) : 0, base: 200, most: 20_000, sleep, random: Math.random },
      now: world.now,
      signal: world.interrupted,
      ...(values.maxTime && { maxTime: parseLimit(values.maxTime.value) }),
      ...(verbose > 0 && { trace: createTrace(verbose, (line) => void world.stderr.stream.write(`${line}\n`)) }),
    };
    return createClient(table, options);
  }

  return {
    client,
    presign: presignUrl,
    close: () => {
      for (const sender of senders.values()) sender.then((open) => open.close()).catch(() => undefined);
    },
  };
}
