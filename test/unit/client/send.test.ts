import { createServer as createSecure } from 'node:https';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createNet, type AddressInfo, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import { createAuthority, createServerCertificate } from '../../../src/auth/authority.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import { NetworkError } from '../../../src/base/errors.ts';
import type { Sender, SendOptions } from '../../../src/http/send.ts';

/** Limits that no busy machine reaches: what is about a limit has its own. */
const options: SendOptions = { connectTimeout: 60_000, idleTimeout: 60_000, ca: undefined, insecure: false, connections: 4 };
let authority = '';
let own = { certificate: '', key: '' };
let secure = '';
let plain = '';
const closers: (() => void)[] = [];

const large = Buffer.alloc(12 * 1024 * 1024, 'x');

/** What the server does with each path. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? '';
  if (path === '/echo') {
    response.writeHead(200, { 'x-method': request.method ?? '', 'x-length': request.headers['content-length'] ?? 'chunked' });
    request.pipe(response);
  } else if (path === '/cut') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('short', () => response.destroy());
  } else if (path === '/cut-chunked') {
    response.writeHead(200);
    response.write('short', () => response.destroy());
  } else if (path === '/large') {
    response.end(large);
  } else if (path === '/slow') {
    setTimeout(() => response.writeHead(204).end(), 80);
  } else if (path === '/patient') {
    let size = 0;
    request.on('end', () => response.writeHead(204).end());
    request.on('data', ({ length }: Buffer) => {
      size += length;
      // What waits on its way at the end is not to take long.
      if (size > large.length * 0.75) return;
      request.pause();
      setTimeout(() => request.resume(), 5);
    });
  } else if (path === '/early') {
    response.writeHead(204, { connection: 'close' }).end(() => request.destroy());
  } else if (path === '/silent') {
    request.resume();
  } else if (path === '/stall') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('short');
  } else if (path === '/refuse') {
    // Answers before the body is read, as a service does that refuses the object.
    response.writeHead(404, { 'content-type': 'application/json', connection: 'close' });
    response.end('{"code":"DirectoryDoesNotExist","message":"no"}');
    request.resume();
  } else {
    response.writeHead(204, {
      'x-twice': ['a', 'b'],
      ...('isSessionReused' in request.socket && { 'x-resumed': String((request.socket as TLSSocket).isSessionReused()) }),
    });
    response.end();
  }
}

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  const made = await createAuthority('Test');
  authority = made.certificate;
  own = await createServerCertificate(made, ['localhost']);
  secure = `https://localhost:${await listen(createSecure({ cert: own.certificate, key: own.key }, answer))}`;
  plain = `http://127.0.0.1:${await listen(createServer(answer))}`;
});
afterAll(() => closers.forEach((close) => close()));

describe('a connection that is prepared', () => {
  const useMemory = (): { sessions: NonNullable<SendOptions['sessions']>; kept: Buffer[] } => {
    const kept: Buffer[] = [];
    const read = (): { session: Buffer; age: number } | undefined => kept[0] && { session: kept[0], age: 0 };
    return { kept, sessions: () => ({ read, write: (session) => void kept.unshift(session) }) };
  };
  /** Whether the service says that the session was resumed. */
  const ask = async (url: string, given: Partial<SendOptions>, isKept: () => boolean = () => true): Promise<string | undefined> => {
    const sender = createSocketSender({ ...options, ca: authority, ...given });
    sender.prepare?.(new URL(url));
    const { headers, body } = await sender.send({ method: 'GET', url: new URL(url), headers: {} });
    await readAll(body);
    // The session comes after the greetings; the response may be first.
    await new Promise((done) => {
      setTimeout(done, 20);
    });
    await expect.poll(isKept).toBe(true);
    sender.close();
    return headers['x-resumed'];
  };

  test('resumes the session of the one before, which is kept once', async () => {
    const { sessions, kept } = useMemory();
    const first = await ask(secure, { sessions }, () => kept.length > 0);
    expect([first, await ask(secure, { sessions }), kept.length]).toEqual(['false', 'true', 1]);
  });

  test('is checked anew when the service does not know the session any more', async () => {
    const { sessions, kept } = useMemory();
    const other = await createAuthority('Other');
    const { certificate, key } = await createServerCertificate(other, ['localhost']);
    const stranger = `https://localhost:${await listen(createSecure({ cert: certificate, key }, answer))}`;
    await ask(secure, { sessions }, () => kept.length > 0);
    await expect(ask(stranger, { sessions })).rejects.toThrow('is not signed by a trusted authority');
    expect(await ask(stranger, { sessions, ca: other.certificate }, () => kept.length === 2)).toBe('false');
  });

  test('keeps no session of a service that is not checked', async () => {
    const { sessions, kept } = useMemory();
    await ask(secure, { sessions, ca: undefined, insecure: true });
    expect(kept).toEqual([]);
  });

  test('fails as the request that uses it, and the next one connects by itself', async () => {
    const sender = createSocketSender({ ...options, ca: authority });
    const url = new URL('https://localhost:1');
    sender.prepare?.(url);
    for (const _ of [1, 2])
      await expect(sender.send({ method: 'GET', url, headers: {} })).rejects.toThrow('nothing is listening at localhost:1');
    sender.close();
  });

  test('that was closed before it was used is replaced', async () => {
    const sender = createSocketSender({ ...options, ca: authority });
    let meet: (socket: Socket) => void = () => undefined;
    const server = createSecure({ cert: own.certificate, key: own.key }, answer).once('secureConnection', (socket) => meet(socket));
    const url = new URL(`https://localhost:${await listen(server)}`);
    const connected = new Promise<Socket>((done) => (meet = done));
    sender.prepare?.(url);
    (await connected).destroy();
    await new Promise((done) => {
      setTimeout(done, 50);
    });
    expect((await sender.send({ method: 'GET', url, headers: {} })).status).toBe(204);
    sender.close();
  });

  test('is given up with the request that waits for it', async () => {
    const hole = createNet(() => undefined);
    await new Promise<void>((done) => {
      hole.listen(0, '127.0.0.1', done);
    });
    const url = new URL(`https://localhost:${(hole.address() as AddressInfo).port}`);
    const sender = createSocketSender({ ...options, ca: authority });
    sender.prepare?.(url);
    const sent = sender.send({ method: 'GET', url, headers: {}, signal: AbortSignal.timeout(50) });
    await expect(sent).rejects.toThrow('aborted due to timeout');
    sender.close();
    hole.close();
  });
});

describe('sending', () => {
  const open = (given: Partial<SendOptions> = {}): Sender => {
    const sender = createSocketSender({ ...options, ca: authority, ...given });
    closers.push(() => sender.close());
    return sender;
  };
  const text = async (body: AsyncIterable<Uint8Array>): Promise<string> => Buffer.from(await readAll(body)).toString();

  test('bytes at hand and streams arrive whole, over TLS and without', async () => {
    const { send } = open();
    for (const base of [secure, plain]) {
      const url = new URL('/echo', base);
      const known = await send({ method: 'PUT', url, headers: { 'content-length': '5' }, body: Buffer.from('hello') });
      expect([known.status, known.headers['x-length'], await text(known.body)]).toEqual([200, '5', 'hello']);
      const stream = await send({ method: 'POST', url, headers: {}, body: streamOf(Buffer.from('hel'), Buffer.from('lo')) });
      expect([stream.headers['x-length'], await text(stream.body)]).toEqual(['chunked', 'hello']);
    }
  });

  test('a large stream comes back byte for byte', async () => {
    const piece = Buffer.alloc(256 * 1024, 'abcdefgh');
    async function* many(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 24; at += 1) yield piece;
    }
    const reply = await open().send({ method: 'PUT', url: new URL('/echo', secure), headers: {}, body: many() });
    let size = 0;
    for await (const part of reply.body) size += part.length;
    expect(size).toBe(24 * piece.length);
  });

  test('many requests at once share the connections: none is given up for waiting, no listener stays', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => void warnings.push(warning);
    process.on('warning', note);
    const { send } = open({ connections: 2, connectTimeout: 1000 });
    const ask = async (): Promise<number> => {
      const reply = await send({ method: 'GET', url: new URL('/slow', secure), headers: {} });
      await text(reply.body);
      return reply.status;
    };
    expect(new Set(await Promise.all(Array.from({ length: 40 }, ask)))).toEqual(new Set([204]));
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });

  test('headers that come twice are joined; an empty reply has an empty body', async () => {
    const reply = await open().send({ method: 'GET', url: new URL('/', plain), headers: {} });
    expect([reply.status, reply.headers['x-twice'], await text(reply.body)]).toEqual([204, 'a, b', '']);
  });

  test.each(['/cut', '/cut-chunked'])('a reply that ends early is an error: %s', async (path) => {
    const reply = await open().send({ method: 'GET', url: new URL(path, plain), headers: {} });
    await expect(readAll(reply.body)).rejects.toThrow('closed the connection before the response was complete');
  });

  test.each([
    ['/silent', 'before the head of the reply'],
    ['/stall', 'in mid-body'],
  ])('silence ends in an error: %s (%s)', async (path) => {
    const attempt = async (): Promise<unknown> =>
      await readAll((await open({ idleTimeout: 200 }).send({ method: 'GET', url: new URL(path, plain), headers: {} })).body);
    await expect(attempt()).rejects.toThrow('sent no data for too long');
  });

  test('a refusal that comes while the body is still being sent is read', async () => {
    const piece = Buffer.alloc(256 * 1024);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 4000; at += 1) yield piece;
    }
    const reply = await open().send({ method: 'PUT', url: new URL('/refuse', plain), headers: {}, body: endless() });
    expect([reply.status, await text(reply.body)]).toEqual([404, '{"code":"DirectoryDoesNotExist","message":"no"}']);
  });

  test('success that is told before the body is sent is none', async () => {
    const piece = Buffer.alloc(256 * 1024);
    async function* long(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 40; at += 1, await sleep(5)) yield piece;
    }
    const headers = { 'content-length': String(40 * piece.length) };
    const sent = open().send({ method: 'PUT', url: new URL('/early', plain), headers, body: long() });
    await expect(sent.then(({ body }) => readAll(body))).rejects.toThrow(NetworkError);
  });

  test('an unknown authority is refused, and accepted when told so', async () => {
    await expect(open({ ca: undefined }).send({ method: 'GET', url: new URL('/', secure), headers: {} })).rejects.toThrow(
      'is not signed by a trusted authority',
    );
    expect((await open({ ca: undefined, insecure: true }).send({ method: 'GET', url: new URL('/', secure), headers: {} })).status).toBe(
      204,
    );
  });

  test('a closed port and an unknown host are named', async () => {
    await expect(open().send({ method: 'GET', url: new URL('http://127.0.0.1:1'), headers: {} })).rejects.toThrow(
      'nothing is listening at 127.0.0.1:1',
    );
    await expect(open().send({ method: 'GET', url: new URL('https://no-such-host.invalid'), headers: {} })).rejects.toThrow(
      'no-such-host.invalid',
    );
  });

  test('what fails in the source of a body is that failure itself: whoever began it may know it', async () => {
    const failure = new Error('disk broke');
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('x');
      throw failure;
    }
    const sent = open().send({ method: 'PUT', url: new URL('/echo', plain), headers: {}, body: failing() });
    expect(await sent.then(({ body }) => readAll(body)).catch((error: unknown) => error)).toBe(failure);
  });

  test.each([{ 'x-a': 'b\r\nx-c: d' }, { 'x-a': 'snow\u2603' }, { 'x a': 'b' }])(
    'a header that would not arrive as it is is not sent: %j',
    async (headers) => {
      await expect(open().send({ method: 'GET', url: new URL('/', plain), headers })).rejects.toThrow(/header/);
    },
  );

  test('who reads slowly is not silence', async () => {
    const { body } = await open({ idleTimeout: 2000 }).send({ method: 'GET', url: new URL('/large', secure), headers: {} });
    let size = 0;
    for await (const part of body) {
      if (size === 0) await sleep(2400);
      size += part.length;
    }
    expect(size).toBe(large.length);
  });

  test('a large body that goes slowly is not silence', async () => {
    const url = new URL('/patient', secure);
    expect((await open({ idleTimeout: 2000 }).send({ method: 'PUT', url, headers: {}, body: large })).status).toBe(204);
  });

  test('a signal ends a request', async () => {
    const signal = AbortSignal.timeout(50);
    await expect(open().send({ method: 'GET', url: new URL('/silent', plain), headers: {}, signal })).rejects.toThrow(/timeout|aborted/);
  });
});
