import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll } from '../../../src/api/message.ts';
import { NetworkError } from '../../../src/base/errors.ts';
import type { Send, Sender, SendOptions } from '../../../src/http/send.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import { openPeer } from '../../../src/server/peers/client.ts';
import { secretFile } from '../../../src/server/peers/peers.ts';
import { startTunnelProxy } from '../../support/tunnel-proxy.ts';

/**
 * Responses as bytes, each read by every way of sending: the same status, headers and body, or an error with the same code. What can be read in two
 * ways is refused, because a body that ends early looks whole.
 */

const options: SendOptions = { connectTimeout: 60_000, idleTimeout: 60_000, ca: undefined, insecure: false, connections: 4 };

/** What is read: `STATUS BODY` and the value of the header `x`, or the kind of an error. */
type Expected = string;
const cut = 'error: cut';
const notHttp = 'error: not HTTP';
const tooLarge = 'error: headers too large';

const lines = (...all: string[]): string => all.join('\r\n');

/** The bytes of each response, to GET unless a method is named, and what becomes of it. */
const cases: [name: string, bytes: string, expected: Expected, method?: string][] = [
  ['a length', lines('HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['chunks', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '1', 'o', '1', 'k', '0', '', ''), '200 ok'],
  ['neither: the end of the connection', lines('HTTP/1.1 200 OK', '', 'ok'), '200 ok'],
  ['204 with a length', lines('HTTP/1.1 204 No Content', 'Content-Length: 5', '', ''), '204 '],
  ['304 with a length', lines('HTTP/1.1 304 Not Modified', 'Content-Length: 5', '', ''), '304 '],
  ['HEAD with a length', lines('HTTP/1.1 200 OK', 'Content-Length: 5', '', ''), '200 ', 'HEAD'],
  ['204 with chunks announced', lines('HTTP/1.1 204 No Content', 'Transfer-Encoding: chunked', '', ''), '204 '],
  ['an unsolicited 100', lines('HTTP/1.1 100 Continue', '', 'HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['a 103', lines('HTTP/1.1 103 Early Hints', 'Link: <x>', '', 'HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['an unsolicited 101', lines('HTTP/1.1 101 Switching Protocols', 'Upgrade: x', 'Connection: upgrade', '', ''), notHttp],
  ['a 101 that offers nothing', lines('HTTP/1.1 101 Switching Protocols', '', 'HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'), notHttp],
  [
    '51 interim responses',
    `${lines('HTTP/1.1 103 Early Hints', '', '').repeat(51)}${lines('HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok')}`,
    notHttp,
  ],
  ['status 099', lines('HTTP/1.1 099 Odd', 'Content-Length: 2', '', 'ok'), notHttp],
  ['status 1000', lines('HTTP/1.1 1000 Odd', 'Content-Length: 2', '', 'ok'), notHttp],
  ['status 999', lines('HTTP/1.1 999 Odd', 'Content-Length: 2', '', 'ok'), '999 ok'],
  ['no reason', lines('HTTP/1.1 200 ', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['no space before the reason', lines('HTTP/1.1 200', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['gzip, chunked', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: gzip, chunked', '', '2', 'ok', '0', '', ''), notHttp],
  ['chunked, gzip', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked, gzip', '', '2', 'ok', '0', '', ''), notHttp],
  ['identity as a transfer-encoding', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: identity', '', 'ok'), notHttp],
  ['chunked in capitals', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: CHUNKED', '', '2', 'ok', '0', '', ''), '200 ok'],
  [
    'a length with chunks',
    lines('HTTP/1.1 200 OK', 'Content-Length: 2', 'Transfer-Encoding: chunked', '', '2', 'ok', '0', '', ''),
    notHttp,
  ],
  [
    'chunks with a length',
    lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', 'Content-Length: 2', '', '2', 'ok', '0', '', ''),
    notHttp,
  ],
  ['two lengths', lines('HTTP/1.1 200 OK', 'Content-Length: 2', 'Content-Length: 3', '', 'oks'), notHttp],
  ['the same length twice', lines('HTTP/1.1 200 OK', 'Content-Length: 2', 'Content-Length: 2', '', 'ok'), notHttp],
  ['two lengths in one line', lines('HTTP/1.1 200 OK', 'Content-Length: 2, 2', '', 'ok'), notHttp],
  ['a length of +2', lines('HTTP/1.1 200 OK', 'Content-Length: +2', '', 'ok'), notHttp],
  ['a length of -2', lines('HTTP/1.1 200 OK', 'Content-Length: -2', '', 'ok'), notHttp],
  ['a length of 0x2', lines('HTTP/1.1 200 OK', 'Content-Length: 0x2', '', 'ok'), notHttp],
  ['an empty length', lines('HTTP/1.1 200 OK', 'Content-Length: ', '', 'ok'), notHttp],
  ['a length of 20 digits', lines('HTTP/1.1 200 OK', `Content-Length: ${'9'.repeat(20)}`, '', 'ok'), notHttp],
  ['HTTP/1.0 with a length', lines('HTTP/1.0 200 OK', 'Content-Length: 2', '', 'ok'), '200 ok'],
  ['HTTP/1.0 without', lines('HTTP/1.0 200 OK', '', 'ok'), '200 ok'],
  ['HTTP/1.0 with chunks', lines('HTTP/1.0 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', '0', '', ''), notHttp],
  ['HTTP/2.0', lines('HTTP/2.0 200 OK', 'Content-Length: 2', '', 'ok'), notHttp],
  ['HTTP/1.2', lines('HTTP/1.2 200 OK', 'Content-Length: 2', '', 'ok'), notHttp],
  ['an extension of a chunk', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2;a=b;c="d e"', 'ok', '0', '', ''), '200 ok'],
  ['trailers', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', '0', 'x: y', '', ''), '200 ok'],
  ['a chunk that is cut', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '5', 'ok'), cut],
  ['chunks without an end', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', ''), cut],
  ['a chunk that is longer than its size', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '1', 'ok', '0', '', ''), notHttp],
  ['a size of a chunk that is not a number', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', 'zz', 'ok', '0', '', ''), notHttp],
  ['a size of a chunk of 20 digits', lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', 'f'.repeat(20), 'ok'), notHttp],
  ['a body that is shorter than its length', lines('HTTP/1.1 200 OK', 'Content-Length: 5', '', 'ok'), cut],
  ['bytes after a body', lines('HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok more'), '200 ok'],
  ['a second response', lines('HTTP/1.1 200 OK', 'Content-Length: 2', '', 'okHTTP/1.1 200 OK', 'Content-Length: 4', '', 'evil'), '200 ok'],
  ['a header', lines('HTTP/1.1 200 OK', 'X: y', 'Content-Length: 2', '', 'ok'), '200 ok y'],
  ['a header twice', lines('HTTP/1.1 200 OK', 'X: y', 'x: z', 'Content-Length: 2', '', 'ok'), '200 ok y, z'],
  ['space around a value', lines('HTTP/1.1 200 OK', 'X: \t y \t ', 'Content-Length: 2', '', 'ok'), '200 ok y'],
  ['bytes above 127 in a value', lines('HTTP/1.1 200 OK', 'X: \u00e4', 'Content-Length: 2', '', 'ok'), '200 ok \u00e4'],
  ['a folded line', lines('HTTP/1.1 200 OK', 'X: y', ' z', 'Content-Length: 2', '', 'ok'), notHttp],
  ['a header without a colon', lines('HTTP/1.1 200 OK', 'X', 'Content-Length: 2', '', 'ok'), notHttp],
  ['a header without a name', lines('HTTP/1.1 200 OK', ': y', 'Content-Length: 2', '', 'ok'), notHttp],
  ['space before a colon', lines('HTTP/1.1 200 OK', 'X : y', 'Content-Length: 2', '', 'ok'), notHttp],
  ['NUL in a value', lines('HTTP/1.1 200 OK', 'X: y\0z', 'Content-Length: 2', '', 'ok'), notHttp],
  ['NUL in the reason', lines('HTTP/1.1 200 O\0K', 'Content-Length: 2', '', 'ok'), notHttp],
  ['a bare CR in a value', lines('HTTP/1.1 200 OK', 'X: y\rz', 'Content-Length: 2', '', 'ok'), notHttp],
  ['LF alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok', notHttp],
  ['LF alone after a header', 'HTTP/1.1 200 OK\r\nX: y\nContent-Length: 2\r\n\r\nok', notHttp],
  ['an empty line first', lines('', 'HTTP/1.1 200 OK', 'Content-Length: 2', '', 'ok'), notHttp],
  ['20 KB of headers', lines('HTTP/1.1 200 OK', `X: ${'y'.repeat(20_000)}`, 'Content-Length: 2', '', 'ok'), tooLarge],
  [
    '20 KB of trailers',
    lines('HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', '', '2', 'ok', '0', `x: ${'y'.repeat(20_000)}`, '', ''),
    tooLarge,
  ],
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n', notHttp],
  ['nothing', '', cut],
  ['a cut status line', 'HTTP/1.1 2', cut],
  ['cut headers', lines('HTTP/1.1 200 OK', 'Content-'), cut],
  ['only interim responses', lines('HTTP/1.1 103 Early Hints', '', ''), cut],
];

let server: Server;
let bytes = '';
let url = new URL('http://localhost');
let dir = '';
let tunnel: Awaited<ReturnType<typeof startTunnelProxy>>;

beforeAll(async () => {
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  tunnel = await startTunnelProxy();
  dir = mkdtempSync(join(tmpdir(), 'cloud-raw-'));
  writeFileSync(join(dir, 'run.json'), JSON.stringify({ computeUrl: url.href }));
  writeFileSync(secretFile(dir), 'secret');
});
afterAll(() => {
  server.close();
  tunnel.close();
  rmSync(dir, { recursive: true });
});

function describeError(error: unknown): string {
  const known = error instanceof NetworkError ? error : (error as Error).cause;
  if (!(known instanceof NetworkError)) return `another error: ${String(error)}`;
  if (known.message.endsWith('closed the connection before the response was complete')) return cut;
  if (known.message.endsWith('headers that are too large')) return tooLarge;
  return known.code.startsWith('HPE_') && known.message.endsWith('a response that is not HTTP')
    ? notHttp
    : `${known.code}: ${known.message}`;
}

async function readWith(send: Send, method: string): Promise<string> {
  try {
    const { status, headers, body } = await send({ method, url, headers: {} });
    const text = Buffer.from(await readAll(body)).toString('latin1');
    return `${status} ${text}${headers['x'] === undefined ? '' : ` ${headers['x']}`}`;
  } catch (error) {
    return describeError(error);
  }
}

describe.each<[string, () => Sender]>([
  ['directly', () => createSocketSender(options)],
  ['through a proxy', () => createSocketSender({ ...options, proxy: tunnel.proxy })],
])('read %s', (_, create) => {
  test.each(cases)('%s', async (_name, given, expected, method = 'GET') => {
    bytes = given;
    const sender = create();
    try {
      expect(await readWith(sender.send, method)).toBe(expected);
    } finally {
      sender.close();
    }
  });
});

/** The client of other local services reads files of status 200 and 404; other statuses are no answer of a local service. */
describe('read by the client of other local services', () => {
  test.each(cases.filter(([, , , method]) => method === undefined))('%s', async (_, given, expected) => {
    bytes = given;
    const read = async (): Promise<string> => {
      try {
        return `200 ${Buffer.from(await readAll(openPeer('other', dir).readFile('one'))).toString('latin1')}`;
      } catch (error) {
        return describeError(error);
      }
    };
    const status = /^[1-9]\d\d/.exec(expected)?.[0] ?? '200';
    const body = expected.replace(/^(200 ok).*$/u, '$1');
    if (status === '200') expect(await read()).toBe(body);
    else expect(await read()).toContain(`it answered ${status}`);
  });
});
