import type { Paths } from '../config/paths.ts';
import { naming } from '../base/error-copies.ts';
import { readFlag, type Sourced, type Sources } from '../config/settings.ts';
import { openCache } from '../config/cache.ts';
import { lazily } from '../base/lazily.ts';
import { UsageError } from '../base/errors.ts';
import { readUserFile, UntrustedFile } from '../base/private-files.ts';
import type { World } from '../base/world.ts';
import { isLoopback } from '../client/transport.ts';
import { SilenceGuard } from '../http/silent-service.ts';
import { readRunningClock } from '../http/time-limit.ts';
import { findProxy } from '../http/proxy.ts';
import type { Sender, SendOptions, SessionMemory } from '../http/send.ts';
import { parseLimit } from '../output/units.ts';

export interface SenderOptions {
  world: World;
  paths: Paths;
  settings: () => Sources;
  warn: (message: string) => void;
  /** Called with the reason why the cache is not used. */
  reportUnusedCache: (problem: string) => void;
}

/** Maximum connections to a host: for commands with few requests, and for bulk transfers. */
const fewConnections = 8;
export const mostConnections = 64;

/** Default idle timeout, milliseconds. */
const usualTimeout = 60_000;

/** Maximum age of a TLS session to resume, milliseconds: services commonly keep theirs for five minutes. */
const sessionLife = 280_000;

/**
 * The TLS sessions of earlier runs. A session is only resumed with the certificate authorities that were trusted when it was created, and
 * with the same release of OpenSSL: another one might not be able to read it, and would report that error when the key is read.
 */
function openSessions({ world, paths, reportUnusedCache }: SenderOptions, ca: string | undefined): (url: URL) => SessionMemory {
  const { env, now, release } = world;
  const connection = JSON.stringify([release, env['NODE_EXTRA_CA_CERTS'] ?? '', ca ?? '']);
  const cache = openCache({ top: paths.cache, reportUnused: reportUnusedCache, name: 'tls', connection, now, freshness: sessionLife });
  return ({ host }) => ({
    read: () => {
      const { session, since } = (cache.read(host) ?? {}) as { session?: string; since?: number };
      return session === undefined ? undefined : { session: Buffer.from(session, 'base64'), age: now() - (since ?? 0) };
    },
    write: (session) => cache.write(host, { session: session.toString('base64'), since: now() }),
  });
}

function readAuthorityFile({ value: path, source }: Sourced): string {
  try {
    return readUserFile(path);
  } catch (error) {
    const reason = error instanceof UntrustedFile ? error.message : `${path}: cannot be read`;
    throw new UsageError(`${reason} (${source})`, { cause: error, hint: 'give a PEM file with --ca' });
  }
}

function readAuthority({ ca }: Sources): string | undefined {
  if (ca === undefined) return undefined;
  const text = readAuthorityFile(ca);
  // Without this check the service would seem to be untrusted, as if the file contained the certificate of another authority.
  if (/-----BEGIN (?:[A-Z\d]+ )?CERTIFICATE-----/.test(text)) return text;
  throw new UsageError(`${ca.value} contains no certificate in PEM format (${ca.source})`, {
    hint: `if it is in DER format: openssl x509 -inform DER -in ${ca.value} -out FILE.pem`,
  });
}

/** Reads a limit in milliseconds. @throws {UsageError} naming its source */
export function readLimit({ value, source }: Sourced): number {
  return naming(source, () => parseLimit(value));
}

function readIdleTimeout({ timeout }: Sources): number {
  return timeout ? readLimit(timeout) : usualTimeout;
}

/** The senders of one run of the program: created when first used, shared by all clients. */
export class Senders {
  /** The certificate authorities to trust instead of the system's, PEM. */
  readonly authority: () => string | undefined;
  readonly #options: SenderOptions;
  readonly #senders = new Map<string, Promise<Sender>>();
  readonly #guards = new Map<string, SilenceGuard>();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.authority = lazily(() => readAuthority(options.settings()));
  }

  /** The sender for this URL. @param bulk maximum connections of a sender for bulk transfers; absent: the sender for few requests */
  load(url: URL, bulk?: number): Promise<Sender> {
    // Requests to this machine never use a proxy.
    const proxy = isLoopback(url) ? undefined : findProxy(url, this.#options.world.env);
    const kind = `${bulk ?? 'few'} ${proxy?.url.href ?? ''}`;
    const known = this.#senders.get(kind);
    if (known) return known;
    const sending = this.#sendOptions(Math.min(bulk ?? fewConnections, mostConnections));
    const loading = import('../http/sockets.ts').then(({ createSocketSender }) => createSocketSender({ ...sending, proxy }));
    this.#senders.set(kind, loading);
    return loading;
  }

  #sendOptions(connections: number): SendOptions {
    const { settings, warn } = this.#options;
    const values = settings();
    const insecure = readFlag(values.insecure);
    if (insecure && this.#senders.size === 0)
      warn('TLS certificates are not checked (--insecure): anyone on the network path can read and change the data');
    const idleTimeout = readIdleTimeout(values);
    const ca = this.authority();
    return {
      connectTimeout: Math.min(10_000, idleTimeout),
      idleTimeout,
      ca,
      insecure,
      sessions: openSessions(this.#options, ca),
      connections,
    };
  }

  /** Fails all requests to a silent service, for all clients. */
  guard({ origin }: URL): SilenceGuard {
    const guard = this.#guards.get(origin) ?? new SilenceGuard(readIdleTimeout(this.#options.settings()), readRunningClock);
    this.#guards.set(origin, guard);
    return guard;
  }

  close(): void {
    for (const sender of this.#senders.values()) sender.then((open) => open.close()).catch(() => undefined);
  }
}
