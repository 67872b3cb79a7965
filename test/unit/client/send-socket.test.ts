import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import type { Sender, SendOptions } from '../../../src/http/send.ts';

/** What goes over a connection, byte for byte; what both senders do is in send.test.ts. */

/** Limits that no busy machine reaches: what is about a limit has its own. */
const options: SendOptions = { connectTimeout: 60_000, idleTimeout: 60_000, ca: undefined, insecure: false, connections: 4 };
const closers: (() => void)[] = [];
afterAll(() => closers.forEach((close) => close()));

/** The port of a server on this machine, which is closed at the end. */
async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  closers.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A server that says what it is told to, and what it was sent on each of its connections. */
async function script(
  ...responses: readonly (string | ((socket: Socket) => void))[]
): Promise<{ url: URL; heard: string[]; sockets: Socket[] }> {
  const heard: string[] = [];
  const sockets: Socket[] = [];
  const left = [...responses];
  const server = createServer((socket) => {
    const at = sockets.push(socket) - 1;
    heard[at] = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      heard[at] += bytes.toString('latin1');
      if (heard[at]?.endsWith('\r\n\r\n') !== true) return;
      const next = left.shift();
      if (typeof next === 'string') socket.write(next);
      else next?.(socket);
    });
  });
  closers.push(() => sockets.forEach((socket) => socket.destroy()));
  return { url: new URL(`http://127.0.0.1:${await listen(server)}/x?y=z`), heard, sockets };
}
const open = (given: Partial<SendOptions> = {}): Sender => {
  const sender = createSocketSender({ ...options, ...given });
  closers.push(() => sender.close());
  return sender;
};
const get = async ({ send }: Sender, url: URL, headers = {}): Promise<string> => {
  const { status, body } = await send({ method: 'GET', url, headers });
  return `${status} ${Buffer.from(await readAll(body)).toString()}`;
};
const ok = (text: string): string => `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\n\r\n${text}`;

test('says what it wants in the plainest words, and serves one request after the other', async () => {
  const { url, heard } = await script(ok('one'), ok('two'));
  const sender = open();
  expect([await get(sender, url, { Accept: 'x' }), await get(sender, url)]).toEqual(['200 one', '200 two']);
  const head = `GET /x?y=z HTTP/1.1\r\nhost: ${url.host}\r\n`;
  expect(heard).toEqual([`${head}accept: x\r\nconnection: keep-alive\r\n\r\n${head}connection: keep-alive\r\n\r\n`]);
});

test.each([
  ['says so', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 3\r\n\r\none'],
  ['has no patience', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1, max=100\r\ncontent-length: 3\r\n\r\none'],
  ['speaks HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\none'],
  ['says more than it was asked', `${ok('one')}${ok('bad')}`],
])('is not used again when the service %s', async (_, first) => {
  const { url, heard } = await script(first, ok('two'));
  const sender = open();
  expect([await get(sender, url), await get(sender, url), heard.length]).toEqual(['200 one', '200 two', 2]);
});

test('is given up when something comes that nobody asked for', async () => {
  const { url, sockets } = await script(ok('one'), ok('two'));
  const sender = open();
  const first = await get(sender, url);
  const gone = new Promise((done) => sockets[0]?.on('close', done));
  sockets[0]?.write(ok('bad'));
  await gone;
  expect([first, await get(sender, url)]).toEqual(['200 one', '200 two']);
});

test('waits for the response after what comes in advance of it', async () => {
  const { url } = await script(`HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${ok('one')}`);
  expect(await get(open(), url)).toBe('200 one');
});

test('without a length, takes the end of the connection for the end of the body, and an early end for none', async () => {
  const whole = (socket: Socket): void => void socket.end('HTTP/1.1 200 OK\r\n\r\nall of it');
  const { url } = await script(whole, (socket) => socket.end('HTTP/1.1 200'));
  const sender = open();
  expect(await get(sender, url)).toBe('200 all of it');
  await expect(get(sender, url)).rejects.toThrow('closed the connection before the response was complete');
});

test.each([
  ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello', 'a response that is not HTTP'],
  ['SSH-2.0-OpenSSH\r\n', 'a response that is not HTTP'],
  [`HTTP/1.1 200 OK\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 'headers that are too large'],
])('refuses %j', async (response, message) => {
  const { url } = await script(response);
  await expect(get(open(), url)).rejects.toThrow(message);
});

test('tells a connection that could not be opened from one that broke after the request', async () => {
  const broken = await script((socket) => socket.resetAndDestroy());
  await expect(get(open(), broken.url)).rejects.toMatchObject({ code: 'ECONNRESET', isUnsent: false });
  const closed = createServer();
  const url = new URL(`http://127.0.0.1:${await listen(closed)}`);
  await new Promise((done) => closed.close(done));
  await expect(get(open(), url)).rejects.toMatchObject({ code: 'ECONNREFUSED', isUnsent: true });
  const proxy = { url, variable: 'http_proxy' };
  await expect(get(open({ proxy }), broken.url)).rejects.toMatchObject({ code: 'ECONNREFUSED', isUnsent: true });
});

test.each([
  ['5', 'longer'],
  ['7', 'shorter'],
])('sends no body that is %s bytes long when it is %s than that', async (length, word) => {
  const { url, heard, sockets } = await script();
  const sent = open().send({
    method: 'PUT',
    url,
    headers: { 'content-length': length },
    body: streamOf(Buffer.from('abc'), Buffer.from('def')),
  });
  await expect(sent).rejects.toThrow(`the body is ${word} than its Content-Length`);
  await expect.poll(() => sockets[0]?.destroyed).toBe(true);
  expect(heard[0]?.endsWith(`\r\n\r\nabc${word === 'longer' ? '' : 'def'}`)).toBe(true);
});

describe('a response that is whole before the body of the request has gone', () => {
  /** A server that says this at the head of the first request, and answers those that begin with GET. */
  async function answerEarly(response: string): Promise<{ url: URL; connections: () => number }> {
    let count = 0;
    const server = createServer((socket) => {
      count += 1;
      socket.on('error', () => undefined);
      if (count === 1) socket.once('data', () => socket.write(response));
      socket.on('data', (bytes) => bytes.includes('GET ') && socket.write(ok('two')));
    });
    return { url: new URL(`http://127.0.0.1:${await listen(server)}`), connections: () => count };
  }
  async function* slowly(failure?: Error): AsyncGenerator<Uint8Array> {
    yield Buffer.from('abc');
    await sleep(1200);
    if (failure) throw failure;
    yield Buffer.from('def');
  }
  const put = async ({ send }: Sender, url: URL, body: AsyncGenerator<Uint8Array>, wait = 0, headers = {}): Promise<string> => {
    const response = await send({ method: 'PUT', url, headers, body });
    await sleep(wait);
    return `${response.status} ${Buffer.from(await readAll(response.body)).toString()}`;
  };

  test('ends when it has, however long that takes; the connection goes on, unless more came', async () => {
    const outcomes: unknown[] = [];
    for (const response of [ok('one'), `${ok('one')}${ok('bad')}`]) {
      const { url, connections } = await answerEarly(response);
      const sender = open({ idleTimeout: 1000 });
      outcomes.push(await put(sender, url, slowly()), await get(sender, url), connections());
    }
    expect(outcomes).toEqual(['200 one', '200 two', 1, '200 one', '200 two', 2]);
  });

  test('waits for no source that has given all that was announced; its end is nothing to the next request', async () => {
    const { url, connections } = await answerEarly(ok('one'));
    let finish: () => void = () => undefined;
    const held = new Promise<void>((done) => (finish = done));
    async function* source(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('abc');
      await held;
    }
    const sender = open();
    const first = await put(sender, url, source(), 0, { 'content-length': '3' });
    const next = get(sender, url);
    process.nextTick(finish);
    expect([first, await next, connections()]).toEqual(['200 one', '200 two', 1]);
  });

  test('is none when the rest of the body cannot be had; a refusal is one', async () => {
    const source = (): AsyncGenerator<Uint8Array> => slowly(new Error('disk broke'));
    const taken = await answerEarly(ok('one'));
    await expect(put(open(), taken.url, source())).rejects.toThrow('disk broke');
    const refused = await answerEarly(ok('no').replace('200 OK', '404 Not Found'));
    expect(await put(open(), refused.url, source(), 1400)).toBe('404 no');
  });
});

test('goes on sending to a service that takes its time, and gives up one that takes nothing', async () => {
  const piece = Buffer.alloc(8 * 1024 * 1024);
  const slow = (socket: Socket): void => {
    const timer = setInterval(() => (socket.isPaused() ? socket.resume() : socket.pause()), 100);
    socket.on('close', () => clearInterval(timer));
  };
  const take = async (treat: (socket: Socket) => void): Promise<number> => {
    let size = 0;
    const server = createServer((socket) => {
      treat(socket);
      socket
        .on('error', () => undefined)
        .on('data', (bytes) => {
          size += bytes.length;
          if (size > 2 * piece.length) socket.end('HTTP/1.1 204 No Content\r\n\r\n');
        });
      treat(socket);
    });
    const url = new URL(`http://127.0.0.1:${await listen(server)}`);
    return (await open({ idleTimeout: 2000 }).send({ method: 'PUT', url, headers: {}, body: streamOf(piece, piece) })).status;
  };
  expect(await take(slow)).toBe(204);
  await expect(take((socket) => void socket.pause())).rejects.toThrow('sent no data for too long');
});
