import { once } from 'node:events';
import { Agent, request as send, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import { readAll, streamOf, type ByteStream, type HttpResponse } from '../../../src/api/message.ts';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import { writeError } from '../../../src/server/http/response.ts';
import type { Service } from '../../../src/server/http/serve.ts';

const listeners: Listener[] = [];
const log: string[] = [];

afterEach(async () => {
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
  log.length = 0;
});

async function serve(handle: Service): Promise<Listener> {
  const listener = await listen({ handle, host: '127.0.0.1', port: 0, log: (line) => void log.push(line) });
  listeners.push(listener);
  return listener;
}

function response(body: ByteStream | string, status = 200): HttpResponse {
  const length = typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  return { status, headers: length, body: typeof body === 'string' ? streamOf(Buffer.from(body)) : body };
}

function createPromise<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Sends raw bytes and gives everything that comes back. */
async function sendRaw({ port }: Listener, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  const answer = await text(socket);
  socket.destroy();
  return answer;
}

test('a request that is broken off after its answer began gets no second one', async () => {
  const listener = await serve(async () => response('no such thing', 404));
  for (const rest of [
    'Content-Length: 500\r\n\r\nabc',
    'Transfer-Encoding: chunked\r\n\r\n5\r\nabc',
    'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nzz\r\n',
  ]) {
    const socket = connect({ port: listener.port, allowHalfOpen: true });
    let answer = '';
    socket.on('data', (piece: Buffer) => (answer += piece.toString()));
    socket.write(`DELETE /a HTTP/1.1\r\nHost: x\r\n${rest}`);
    await expect.poll(() => answer).toContain('no such thing');
    socket.end();
    await once(socket, 'close');
    expect(answer.match(/HTTP\/1\.1 /gu)).toHaveLength(1);
  }
});

test('what is not HTTP gets 400 as JSON, and the service goes on', async () => {
  const listener = await serve(async (_, { refusal }) => (refusal === undefined ? response('ok') : writeError(refusal)));
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET / HTTP/1.1\r\nbad header\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
    '\u0016\u0003\u0001',
  ]) {
    const answer = await sendRaw(listener, bytes);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /u);
    expect(answer).toContain('"code":"BadRequest"');
  }
  expect(await sendRaw(listener, `GET / HTTP/1.1\r\nHost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /u);
  expect(await sendRaw(listener, 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).toContain('ok');
});

test('100 Continue is sent when the body is first read, not before', async () => {
  const head = 'PUT /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\nConnection: close\r\n\r\n';
  const reading = await serve(async (request) => response(Buffer.from(await readAll(request.body)).toString()));
  const socket = connect(reading.port, '127.0.0.1');
  socket.write(head);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('hello');
  expect(await text(socket)).toMatch(/\r\n\r\nhello$/u);

  const refusing = await serve(async () => response('no', 403));
  const answer = await sendRaw(refusing, head);
  expect(answer).toMatch(/^HTTP\/1\.1 403 /u);
  expect(answer).not.toContain('100 Continue');
});

test('a refusal reaches a client that is still sending a large body', async () => {
  const listener = await serve(async () => response('{"code":"DirectoryDoesNotExist"}', 404));
  const piece = Buffer.alloc(1024 * 1024);
  let sent = 0;
  async function* body(): AsyncGenerator<Uint8Array> {
    for (; sent < 40; sent += 1) yield piece;
  }
  const outgoing = send({ port: listener.port, host: '127.0.0.1', method: 'PUT', path: '/a', headers: { 'transfer-encoding': 'chunked' } });
  Readable.from(body()).pipe(outgoing);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(incoming.statusCode).toBe(404);
  expect(await text(incoming)).toContain('DirectoryDoesNotExist');
  outgoing.destroy();
});

test('a connection is kept for the next request', async () => {
  const listener = await serve(async (request) => response(`${(await readAll(request.body)).length}`));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<number | undefined>();
  for (let index = 0; index < 5; index += 1) {
    const outgoing = send({ port: listener.port, host: '127.0.0.1', method: 'POST', agent }).end('x'.repeat(index));
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
    ports.add(incoming.socket.localPort);
    expect(await text(incoming)).toBe(String(index));
  }
  expect(ports.size).toBe(1);
  agent.destroy();
});

test('a response that fails in the middle, or is shorter than announced, breaks the connection', async () => {
  async function* fail(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('half');
    throw new Error('disk trouble');
  }
  const failing = await serve(async () => response(fail()));
  const short = await serve(async () => ({ status: 200, headers: { 'content-length': '10' }, body: streamOf(Buffer.from('half')) }));
  for (const listener of [failing, short]) {
    const outgoing = send({ port: listener.port, host: '127.0.0.1' }).end();
    const read = async (): Promise<string> => {
      const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
      return text(incoming);
    };
    await expect(read()).rejects.toThrow(/aborted|socket hang up/u);
  }
  expect(log.join('\n')).toContain('disk trouble');
});

test('reading stops when the client goes away', async () => {
  let ended = false;
  let pieces = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        pieces += 1;
        yield Buffer.alloc(100_000);
      }
    } finally {
      ended = true;
    }
  }
  const listener = await serve(async () => response(endless()));
  const socket = connect(listener.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await once(socket, 'data');
  socket.pause();
  // The client reads nothing more, so sooner or later nothing more is produced.
  let before = -1;
  const stands = (): boolean => before === (before = pieces);
  await expect.poll(stands, { interval: 100 }).toBe(true);
  socket.destroy();
  await expect.poll(() => ended).toBe(true);
});

test.each(['end', 'destroy', 'resetAndDestroy'] as const)(
  'a body that breaks off (%s) fails where it is read, and nowhere else',
  async (leave) => {
    for (const [framing, body] of [
      ['Content-Length: 100', 'half'],
      ['Transfer-Encoding: chunked', '9\r\nhalf'],
    ]) {
      const [entered, failed] = [createPromise<undefined>(), createPromise<unknown>()];
      const refusals: unknown[] = [];
      const listener = await serve(async (request, { refusal }) => {
        if (refusal !== undefined) refusals.push(refusal);
        entered.resolve(undefined);
        await readAll(request.body).catch(failed.resolve);
        return response('late');
      });
      const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
      socket.write(`PUT / HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n${body}`);
      await entered.promise;
      socket[leave]();
      expect(await failed.promise).toMatchObject({ code: 'ECONNRESET' });
      expect(refusals).toEqual([]);
    }
  },
);

test('a port in use is one clear line', async () => {
  const { port } = await serve(async () => response('ok'));
  await expect(listen({ handle: async () => response('ok'), host: '127.0.0.1', port, log: () => undefined })).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use`,
  );
});

test('closing lets a request finish', async () => {
  const entered = createPromise<undefined>();
  const listener = await serve(async () => {
    entered.resolve(undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return response('finished');
  });
  const outgoing = send({ port: listener.port, host: '127.0.0.1' }).end();
  await entered.promise;
  const closing = listener.close(60_000);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  expect(await text(incoming)).toBe('finished');
  await closing;
});
