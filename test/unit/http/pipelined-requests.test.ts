import { setMaxListeners } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { readAll, type HttpResponse } from '../../../src/api/message.ts';
import type { CreateHeaders, ListedRequest, Sender, SendOptions } from '../../../src/http/send.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import { createRandom } from '../../support/random.ts';
import { createDraw } from '../../support/random-values.ts';
import { scale, seed } from '../../support/scale.ts';

/**
 * Requests for small objects that share connections: whatever a service or a proxy makes of them, each gets its own object or an error, and
 * the objects that the service has are all received.
 */

/** Writes the responses to the requests that have arrived together on a connection, in order. */
type Behaviour = (names: string[], socket: Socket, connection: number) => void;

const open: (Server | Sender)[] = [];
afterEach(() => {
  for (const each of open.splice(0)) each.close();
});

const contentOf = (name: string): string => `content of ${name}`.repeat(3);

function describeObject(name: string, etag = `etag-${name}`): string {
  const content = contentOf(name);
  return `HTTP/1.1 200 OK\r\nETag: ${etag}\r\nContent-Length: ${content.length}\r\n\r\n${content}`;
}

const answerAll: Behaviour = (names, socket) => void socket.write(names.map((name) => describeObject(name)).join(''));

/** A service that behaves in these ways to several requests at once and to single ones; the groups in which they arrived. */
async function serve(behave: Behaviour, behaveToOne = answerAll): Promise<{ url: string; groups: string[][] }> {
  const groups: string[][] = [];
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    const connection = connections;
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (!text.endsWith('\r\n\r\n')) return;
      const names = [...text.matchAll(/^GET \/(\S+)/gm)].map(([, name = '']) => name);
      text = '';
      groups.push(names);
      (names.length > 1 ? behave : behaveToOne)(names, socket, connection);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, groups };
}

function createSender(options: Partial<SendOptions> = {}): Sender {
  const sender = createSocketSender({
    connectTimeout: 60_000,
    idleTimeout: 60_000,
    ca: undefined,
    insecure: false,
    connections: 18,
    ...options,
  });
  open.push(sender);
  return sender;
}

/** The headers that all requests have. */
const createHeaders: CreateHeaders = () => Promise.resolve({});

/** Requests an object together with others, and by itself where that is necessary; its content and etag. */
async function fetchObject(sender: Sender, url: string, name: string, more: Partial<ListedRequest> = {}): Promise<string> {
  const known = { etag: `etag-${name}`, size: contentOf(name).length };
  const request = { url: new URL(url), target: `/${name}`, ...known, signal: undefined, ...more };
  const listed = await sender.sendListed(request, createHeaders);
  return listed ? await printObject(listed) : await fetchAlone(sender, url, name, request.signal);
}

async function fetchAlone(sender: Sender, url: string, name: string, signal?: AbortSignal): Promise<string> {
  return await printObject(await sender.send({ method: 'GET', url: new URL(`/${name}`, url), headers: {}, signal }));
}

async function printObject({ status, headers, body }: HttpResponse): Promise<string> {
  return `${status} ${headers['etag']} ${Buffer.from(await readAll(body)).toString()}`;
}

const names = (count: number, from = 0): string[] => Array.from({ length: count }, (_, number) => `n${from + number}`);
const wanted = (name: string): string => `200 etag-${name} ${contentOf(name)}`;

async function fetchAll(sender: Sender, url: string, all: readonly string[]): Promise<void> {
  expect(await Promise.all(all.map((name) => fetchObject(sender, url, name)))).toEqual(all.map(wanted));
}

test('requests of one turn share connections, each with at most eight', async () => {
  const { url, groups } = await serve(answerAll);
  const sender = createSender();
  await fetchAll(sender, url, names(20));
  expect(groups.flat()).toHaveLength(20);
  expect(groups.length).toBeLessThan(8);
  expect(Math.max(...groups.map((group) => group.length))).toBe(8);
  await fetchAll(sender, url, names(20, 20));
});

test('requests with the same etag, or with signals of their own, are not sent together', async () => {
  const { url, groups } = await serve(answerAll);
  const sender = createSender();
  const twice = [fetchObject(sender, url, 'a'), fetchObject(sender, url, 'a')];
  expect(await Promise.all(twice)).toEqual([wanted('a'), wanted('a')]);
  const own = names(4).map((name) => fetchObject(sender, url, name, { signal: new AbortController().signal }));
  expect(await Promise.all(own)).toEqual(names(4).map(wanted));
  expect(groups.map((group) => group.length)).toEqual([1, 1, 1, 1, 1, 1]);
});

test('a service that takes long for each request gets fewer together', async () => {
  const { url, groups } = await serve((all, socket) => {
    const [first = '', ...rest] = all.map((name) => describeObject(name));
    socket.write(first);
    for (const [at, text] of rest.entries()) setTimeout(() => socket.write(text), 5 * (at + 1));
  });
  const sender = createSender();
  for (let round = 0; round < 4; round += 1) await fetchAll(sender, url, names(16, round * 16));
  expect(groups[0]?.length).toBe(8);
  expect(groups.at(-1)?.length).toBe(1);
});

test('a sender with few connections leaves each request its own', async () => {
  const { url, groups } = await serve(answerAll);
  await fetchAll(createSender({ connections: 3 }), url, names(6));
  expect(groups.map((group) => group.length)).toEqual([1, 1, 1, 1, 1, 1]);
});

describe('with a service that does not support it, every request gets its own object', () => {
  const close = (text: string, socket: Socket): void => void socket.end(text);
  const objects = (all: readonly string[]): string[] => all.map((name) => describeObject(name));
  /** What it does, and whether requests are sent together again after that. */
  const behaviours: [string, Behaviour, 'again'?][] = [
    ['closes after the first response', ([first = ''], socket) => close(describeObject(first), socket)],
    [
      'announces to close, and answers all',
      (all, socket) => close(objects(all).join('').replaceAll('ETag', 'Connection: close\r\nETag'), socket),
      'again',
    ],
    ['closes without a response', (_, socket) => void socket.destroy()],
    ['cuts the second response off', (all, socket) => close(objects(all).join('').slice(0, -5), socket)],
    ['answers in another order', (all, socket) => void socket.write(objects([...all].reverse()).join(''))],
    ['answers the first request twice', (all, socket) => void socket.write(objects([all[0] ?? '', ...all]).join(''))],
    ['answers one request too few', (all, socket) => close(objects(all.slice(1)).join(''), socket)],
    [
      'begins with a response that nobody asked for',
      (all, socket) =>
        void socket.write(
          objects(['another', ...all])
            .join('')
            .replace('another', 'n1'),
        ),
    ],
    [
      'refuses all but the first',
      ([first = ''], socket) => close(`${describeObject(first)}HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n`, socket),
    ],
    ['answers in another protocol', (_, socket) => void socket.write('SSH-2.0-x\r\n\r\n')],
    [
      'states another length',
      (all, socket) => void socket.write(objects(all).join('').replaceAll('Content-Length: ', 'Content-Length: 1')),
    ],
    [
      'sends the body in chunks',
      (all, socket) => void socket.write(objects(all).join('').replaceAll('Content-Length', 'Transfer-Encoding: chunked\r\nX')),
    ],
    ['leaves the etag out', (all, socket) => void socket.write(objects(all).join('').replaceAll('ETag', 'X-Tag'))],
    [
      'answers with a status that says something else',
      (all, socket) => void socket.write(objects(all).join('').replaceAll('200 OK', '203 OK')),
    ],
  ];
  test.each(behaviours)('one that %s', async (_, behave, again) => {
    const { url, groups } = await serve(behave);
    const sender = createSender();
    await fetchAll(sender, url, names(16));
    const before = groups.length;
    await fetchAll(sender, url, names(8, 16));
    expect(groups[0]?.length).toBe(8);
    expect(groups.slice(before).some((group) => group.length > 1)).toBe(again !== undefined);
  });
});

test('a response that follows the last one answers no later request', async () => {
  const { url } = await serve((all, socket) => void socket.write([...all, 'forged'].map((name) => describeObject(name)).join('')));
  const sender = createSender();
  await fetchAll(sender, url, names(16));
  const own = await Promise.all(names(4, 16).map((name) => fetchAlone(sender, url, name)));
  expect(own).toEqual(names(4, 16).map(wanted));
});

test('an object that has changed since the listing is received as it is now', async () => {
  const { url } = await serve((all, socket) => void socket.write(all.map((name) => describeObject(name, 'newer')).join('')));
  expect(await Promise.all(names(4).map((name) => fetchObject(createSender(), url, name)))).toEqual(names(4).map(wanted));
});

test('silence after some responses: the others are sent one by one, long before the idle timeout', async () => {
  const { url, groups } = await serve((all, socket) => void socket.write(describeObject(all[0] ?? '')));
  await fetchAll(createSender({ idleTimeout: 3_600_000 }), url, names(16));
  expect(groups.filter((group) => group.length > 1)).toEqual([names(8), names(8, 8)]);
});

test('a service that is silent to single requests too fails them', async () => {
  const { url } = await serve(
    () => undefined,
    () => undefined,
  );
  const sender = createSender({ idleTimeout: 200 });
  for (const result of await Promise.allSettled(names(8).map((name) => fetchObject(sender, url, name))))
    expect((result as PromiseRejectedResult).reason).toMatchObject({ code: 'IDLE' });
});

test('an interruption ends requests at once, those that wait for a connection too', async () => {
  const interruption = new AbortController();
  setMaxListeners(0, interruption.signal);
  const { url } = await serve((_, socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    interruption.abort(new Error('interrupted'));
  });
  const sender = createSender({ connections: 6 });
  const sent = names(30).map((name) => fetchObject(sender, url, name, { signal: interruption.signal }));
  for (const result of await Promise.allSettled(sent)) expect(String((result as PromiseRejectedResult).reason)).toContain('interrupted');
});

test('an interruption before requests are sent ends them, on connections that are idle too', async () => {
  const { url, groups } = await serve(() => undefined);
  const sender = createSender();
  await fetchAll(sender, url, names(1));
  const interruption = new AbortController();
  const sent = names(8, 1).map((name) => fetchObject(sender, url, name, { signal: interruption.signal }));
  interruption.abort(new Error('interrupted'));
  for (const result of await Promise.allSettled(sent)) expect(String((result as PromiseRejectedResult).reason)).toContain('interrupted');
  expect(groups).toEqual([['n0']]);
});

test('a connection that the service closes while requests are signed: they are sent on others', async () => {
  const accepted: Socket[] = [];
  const { url } = await serve(answerAll, (all, socket, connection) => {
    accepted.push(socket);
    answerAll(all, socket, connection);
  });
  const sender = createSender();
  await fetchAll(sender, url, names(8));
  await fetchAll(sender, url, names(1, 8));
  const request = { url: new URL(url), target: '/n9', etag: 'etag-n9', size: contentOf('n9').length, signal: undefined };
  const listed = await sender.sendListed(request, async () => {
    for (const socket of accepted) socket.destroy();
    await sleep(50);
    return {};
  });
  expect(listed).toBeUndefined();
  await fetchAll(sender, url, names(8, 9));
});

test('when no connection can be opened, each request fails with that error', async () => {
  const { url } = await serve(answerAll);
  for (const each of open.splice(0)) each.close();
  const sender = createSender();
  for (const result of await Promise.allSettled(names(8).map((name) => fetchObject(sender, url, name))))
    expect((result as PromiseRejectedResult).reason).toMatchObject({ code: 'ECONNREFUSED' });
});

/** A proxy before the service; `begin` gets the functions that open and refuse each tunnel. */
async function tunnel(url: string, begin: (accept: () => void, refuse: () => void) => void): Promise<Partial<SendOptions>> {
  const port = Number(new URL(url).port);
  const server = createHttpServer().on('connect', (_, socket: Socket) => {
    socket.on('error', () => undefined);
    const accept = (): void => {
      const target = connect(port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      target.on('error', () => socket.destroy());
      socket.pipe(target).pipe(socket);
    };
    begin(accept, () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(server);
  return { proxy: { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), variable: 'HTTP_PROXY' } };
}

test('the requests of a connection that cannot be opened are sent one by one', async () => {
  const { url, groups } = await serve(answerAll);
  let tunnels = 0;
  const sender = createSender(await tunnel(url, (accept, refuse) => ((tunnels += 1) === 1 ? refuse() : accept())));
  await fetchAll(sender, url, names(64));
  expect(groups.filter((group) => group.length === 1)).toHaveLength(8);
});

test('requests that cannot be sent together open their connections at once', async () => {
  const { url } = await serve(answerAll);
  const held: (() => void)[] = [];
  // Opens no tunnel before all have been asked for.
  const through = await tunnel(url, (accept) => {
    if (held.push(accept) === 16) for (const each of held) each();
  });
  const sender = createSender(through);
  const all = Array.from({ length: 16 }, () => fetchObject(sender, url, 'a'));
  expect(await Promise.all(all)).toEqual(all.map(() => wanted('a')));
});

test('responses may arrive in any pieces, and connections may break anywhere', async () => {
  const { below } = createDraw(createRandom(seed));
  const { url } = await serve((all, socket) => {
    let rest = all.map((name) => describeObject(name)).join('');
    if (below(4) === 0) rest = rest.slice(0, below(rest.length));
    const isCut = rest.length < all.map((name) => describeObject(name)).join('').length;
    const writeMore = (): void => {
      const length = 1 + below(200);
      socket.write(rest.slice(0, length));
      rest = rest.slice(length);
      if (rest !== '') setImmediate(writeMore);
      else if (isCut) socket.destroy();
    };
    writeMore();
  });
  for (let round = 0; round < scale(30, 1000); round += 1) await fetchAll(createSender(), url, names(16, round * 16));
});

test('what cannot be signed is left to requests of their own, which report the error', async () => {
  const { url, groups } = await serve(answerAll);
  const sender = createSender();
  for (const createBad of [() => Promise.reject(new Error('locked')), () => Promise.resolve({ role: 'a\nb' })]) {
    const requests = names(4).map((name) => ({ url: new URL(url), target: `/${name}`, etag: `etag-${name}`, size: 1, signal: undefined }));
    const results = await Promise.all(requests.map(async (request) => await sender.sendListed(request, createBad)));
    expect(results).toEqual([undefined, undefined, undefined, undefined]);
  }
  expect(groups).toEqual([]);
});
