import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { NetworkError, quietly, UsageError } from '../base/errors.ts';
import { createFailure, toNetworkError } from './network-error.ts';
import type { Proxy, SendOptions } from './send.ts';
import { TimeLimit } from './time-limit.ts';

/** Tunnels through an HTTP proxy given in the environment. The proxy sees the host name and encrypted bytes. */

/** Maximum size of the response to CONNECT, bytes. */
const largestHead = 16 * 1024;

/** The address without user name and password, for messages. */
function hidePassword(address: string): string {
  return address.replace(/^([a-z\d+.-]*:?\/\/)?[^/]*@/i, '$1');
}

function parseProxy(address: string, variable: string): Proxy {
  // As in curl, an address without a scheme means http.
  const whole = /^[a-z][a-z\d+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const credentials = url && quietly(() => `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`, undefined);
  if (url !== undefined && credentials === undefined) {
    throw new UsageError(`${variable}: the user name or password of "${hidePassword(address)}" contains a "%" that encodes nothing`, {
      hint: 'write %25 for a percent sign',
    });
  }
  if (url !== undefined && ['http:', 'https:'].includes(url.protocol) && url.hostname !== '')
    return { url, variable, ...(url.username !== '' && { credentials }) };
  throw new UsageError(`${variable}: "${hidePassword(address)}" is not the address of an HTTP proxy`, {
    hint: `write the address as http://HOST:PORT, or use no proxy: unset ${variable}`,
  });
}

/** A host as URLs spell it, without the brackets of an IPv6 address. */
function spellHost(host: string): string {
  const address = host.includes(':') ? `http://[${host}]` : '';
  return (URL.canParse(address) ? new URL(address).hostname : host).replace(/^\[|\]$/g, '');
}

/**
 * True if an entry of `no_proxy` matches a host: `*`, a name, a domain or an address, each with an optional port. An IPv6 address has
 * brackets if a port follows.
 */
function fitsEntry(entry: string, { hostname: host, port, protocol }: URL): boolean {
  if (entry === '*') return true;
  const text = entry.toLowerCase().replace(/^\*?\./, '');
  const [, address, plain, wanted] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(text) ?? [];
  const name = spellHost(address ?? plain ?? text);
  const hostname = spellHost(host.replace(/^\[|\]$/g, ''));
  if (wanted !== undefined && wanted !== (port === '' ? (protocol === 'https:' ? '443' : '80') : port)) return false;
  return name !== '' && (hostname === name || hostname.endsWith(`.${name}`));
}

/** The proxy for requests to a URL; undefined when the environment has none. @throws {UsageError} for an invalid proxy address */
export function findProxy(url: URL, env: Readonly<Record<string, string | undefined>>): Proxy | undefined {
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const variable = names.find((name) => (env[name] ?? '') !== '');
  if (variable === undefined) return undefined;
  const excepted = (env['no_proxy'] ?? env['NO_PROXY'] ?? '').split(/[\s,]+/).filter((entry) => entry !== '');
  return excepted.some((entry) => fitsEntry(entry, url)) ? undefined : parseProxy(env[variable] ?? '', variable);
}

/** The error of a proxy, as distinct from one of the service. */
function blame({ url, variable }: Proxy, error: unknown): unknown {
  const known = toNetworkError(error, url);
  if (!(known instanceof NetworkError)) return known;
  return new NetworkError(`the proxy ${url.host} (${variable}) failed: ${known.message}`, {
    code: known.code,
    isUnsent: true,
    cause: error,
    hint: `check ${variable}; list hosts to reach without a proxy in no_proxy`,
  });
}

/** The error for a proxy that refuses the tunnel. */
function explainStatus(proxy: Proxy, target: string, status: number, head: string): NetworkError {
  const { url, variable } = proxy;
  const [, scheme = ''] = /^proxy-authenticate:[\t ]*([\w-]{1,40})/im.exec(head) ?? [];
  if (status === 407) {
    const [what, hint] =
      url.username === ''
        ? ['requires a user name and password', `add them to the address: ${variable}=http://NAME:PASSWORD@${url.host}`]
        : ['rejected the user name and password', `check ${variable}`];
    return new NetworkError(`the proxy ${url.host} ${what}${scheme === '' ? '' : ` (${scheme})`}`, { code: 'ProxyRefused', hint });
  }
  return new NetworkError(`the proxy ${url.host} (${variable}) refused a tunnel to ${target} with status ${status}`, {
    code: 'ProxyRefused',
    hint: `list hosts to reach without a proxy in no_proxy`,
  });
}

function writeConnect({ credentials }: Proxy, target: string): string {
  const authorization = credentials === undefined ? '' : `proxy-authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`;
  return `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${authorization}\r\n`;
}

/** Parses the response to CONNECT. @returns undefined while it is incomplete */
function readStatus(received: Buffer): { status: number; head: string; rest: Buffer } | undefined {
  const text = received.toString('latin1');
  if (!'HTTP/1.'.startsWith(text.slice(0, 7))) throw createFailure('HPE_INVALID_CONSTANT', 'it does not begin like a response');
  const end = text.indexOf('\r\n\r\n');
  if ((end === -1 ? text.length : end) > largestHead) throw createFailure('HPE_HEADER_OVERFLOW', 'the headers are too large');
  if (end === -1) return undefined;
  const [, digits] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: |\r|$)/.exec(text) ?? [];
  if (digits === undefined) throw createFailure('HPE_INVALID_CONSTANT', 'the status line is malformed');
  return { status: Number(digits), head: text.slice(0, end), rest: received.subarray(end + 4) };
}

/** Where the host of a URL is reached. */
export function locate({ protocol, hostname, port }: URL): { host: string; port: number; isSecure: boolean } {
  const isSecure = protocol === 'https:';
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port === '' ? (isSecure ? 443 : 80) : port), isSecure };
}

/** The name for TLS server name indication, which does not allow IP addresses: empty for them. */
export function nameServer(host: string): string {
  return /^\d+(\.\d+){3}$|:/.test(host) ? '' : host;
}

/** Waits until a socket is connected. */
export function waitUntilOpen(socket: Socket, event: 'connect' | 'secureConnect', connectTimeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = new TimeLimit(connectTimeout, () => socket.destroy(createFailure('ETIMEDOUT', 'connecting')));
    // This listener stays: errors of an idle connection are reported by the next request on it.
    socket.on('error', reject);
    socket.once('close', () => {
      limit.end();
      reject(createFailure('ECONNRESET', 'closed'));
    });
    socket.once(event, () => {
      limit.end();
      resolve();
    });
  });
}

function connectProxy({ url }: Proxy): Socket {
  const { host, port, isSecure } = locate(url);
  return isSecure ? connectSecure({ host, port, ALPNProtocols: ['http/1.1'] }) : connectPlain({ host, port });
}

/** Requests a tunnel to the host of a URL. @throws {NetworkError} that names the proxy, also on timeout */
function openTunnel(proxy: Proxy, url: URL, { connectTimeout }: Pick<SendOptions, 'connectTimeout'>): Promise<Socket> {
  const target = `${url.hostname}:${locate(url).port}`;
  return new Promise((resolve, reject) => {
    const socket = connectProxy(proxy);
    let received = Buffer.alloc(0);
    const settle = (end: () => void): void => {
      limit.end();
      socket.off('data', read).off('error', fail).off('close', close);
      end();
    };
    const fail = (error: unknown): void =>
      settle(() => {
        socket.on('error', () => undefined).destroy();
        reject(error instanceof NetworkError ? error : (blame(proxy, error) as Error));
      });
    const close = (): void => fail(createFailure('ECONNRESET', 'closed'));
    const limit = new TimeLimit(connectTimeout, () => fail(createFailure('ETIMEDOUT', 'connecting')));
    function read(bytes: Buffer): void {
      received = Buffer.concat([received, bytes]);
      try {
        const answer = readStatus(received);
        if (answer === undefined) return;
        if (answer.status < 200 || answer.status >= 300) throw explainStatus(proxy, target, answer.status, answer.head);
        // The service must not send anything before the request.
        if (answer.rest.length > 0) throw createFailure('HPE_STRICT', 'extra bytes follow the response');
        settle(() => {
          socket.pause();
          resolve(socket);
        });
      } catch (error) {
        fail(error);
      }
    }
    socket.on('data', read).on('error', fail).on('close', close);
    socket.once(proxy.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => socket.write(writeConnect(proxy, target)));
  });
}

/** Opens a connection to the host of a URL through a proxy, with TLS for https. */
export async function openThrough(proxy: Proxy, url: URL, options: SendOptions): Promise<Socket> {
  const tunnel = await openTunnel(proxy, url, options);
  if (url.protocol !== 'https:') return tunnel;
  const { host } = locate(url);
  const trust = { rejectUnauthorized: !options.insecure, ...(options.ca !== undefined && { ca: options.ca }) };
  const socket = connectSecure({ socket: tunnel, servername: nameServer(host), host, ALPNProtocols: ['http/1.1'], ...trust });
  await waitUntilOpen(socket, 'secureConnect', options.connectTimeout);
  return socket;
}
