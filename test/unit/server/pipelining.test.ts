import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { readAll, streamOf, type HttpResponse, type Request } from '../../../src/api/message.ts';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import { writeError } from '../../../src/server/http/response.ts';
import type { Service } from '../../../src/server/http/serve.ts';

const listeners: Listener[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(listeners.splice(0).map((listener) => listener.close(0)));
});

/** Serves what `handle` answers; requests that the listener refuses are refused. */
async function serve(handle: (request: Request) => Promise<HttpResponse>): Promise<Listener> {
  const service: Service = async (request, { refusal }) => (refusal === undefined ? handle(request) : writeError(refusal));
  const listener = await listen({ handle: service, host: '127.0.0.1', port: 0, log: () => undefined });
  listeners.push(listener);
  return listener;
}

function open({ port }: Listener): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

function answer(body: string): HttpResponse {
  return { status: 200, headers: { 'content-length': String(Buffer.byteLength(body)) }, body: streamOf(Buffer.from(body)) };
}

const get = (target: string, ...headers: string[]): string => [`GET ${target} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');

/** A body without end, and how many of its kind were begun and ended. */
function createEndless(): { begun: number; ended: number; body: () => AsyncGenerator<Uint8Array> } {
  const counts = {
    begun: 0,
    ended: 0,
    async *body(): AsyncGenerator<Uint8Array> {
      counts.begun += 1;
      try {
        for (;;) yield Buffer.alloc(100_000);
      } finally {
        counts.ended += 1;
      }
    },
  };
  return counts;
}

test('a request of a connection begins when the one before is answered; answers come in order', async () => {
  let [running, most] = [0, 0];
  const listener = await serve(async ({ target, body }) => {
    running += 1;
    most = Math.max(most, running);
    const sent = (await readAll(body)).length;
    await sleep(target.endsWith('0') ? 5 : 0);
    running -= 1;
    return answer(`${target} ${sent};`);
  });
  const socket = open(listener);
  const requests = Array.from({ length: 60 }, (_, number) =>
    number % 3 === 0 ? `PUT /${number} HTTP/1.1\r\nHost: x\r\nContent-Length: ${number}\r\n\r\n${'b'.repeat(number)}` : get(`/${number}`),
  );
  socket.write(requests.join('') + get('/last', 'Connection: close'));
  const bodies = [...(await text(socket)).matchAll(/\/(\w+) (\d+);/gu)].map(([, target, size]) => `${target} ${size}`);
  expect(bodies).toEqual([...requests.map((_, number) => `${number} ${number % 3 === 0 ? number : 0}`), 'last 0']);
  expect(most).toBe(1);
});

test('the end of a connection ends every answer, also those that wait for their turn', async () => {
  const endless = createEndless();
  const listener = await serve(async () => ({ status: 200, headers: {}, body: endless.body() }));
  const socket = open(listener);
  socket.write(get('/big').repeat(1000));
  await once(socket, 'data');
  socket.pause();
  await sleep(50);
  socket.destroy();
  await expect.poll(() => endless.ended).toBe(endless.begun);
  expect(endless.begun).toBe(1);
});

test('a connection that ends while its request is being handled leaves no open body behind', async () => {
  const endless = createEndless();
  let [begun, handled] = [0, 0];
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const listener = await serve(async () => {
    begun += 1;
    await held;
    handled += 1;
    const body = endless.body();
    await body.next();
    return { status: 200, headers: {}, body };
  });
  const socket = open(listener);
  socket.write(get('/'));
  await expect.poll(() => begun).toBe(1);
  socket.destroy();
  await sleep(70);
  release();
  await expect.poll(() => [handled, endless.ended]).toEqual([1, 1]);
});

test('more than 100 requests before the first answer: 400 in its turn, and the connection ends', async () => {
  let handled = 0;
  const listener = await serve(async () => {
    handled += 1;
    await sleep(1);
    return answer('ok');
  });
  const socket = open(listener);
  socket.write(get('/').repeat(1000));
  const answers = (await text(socket)).match(/HTTP\/1\.1 \d+/gu) ?? [];
  expect(answers).toEqual([...Array.from({ length: 101 }, () => 'HTTP/1.1 200'), 'HTTP/1.1 400']);
  expect(handled).toBe(101);
});

test('what is no request behind one that is: the answer to the first comes first', async () => {
  const listener = await serve(async ({ body }) => {
    await readAll(body);
    await sleep(20);
    return answer('first');
  });
  for (const bytes of [
    `${get('/')}nonsense\r\n\r\n`,
    `PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/9.9\r\n\r\n`,
    `${get('/')}PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
  ]) {
    const socket = open(listener);
    socket.write(bytes);
    const answers = await text(socket);
    expect([bytes, answers.match(/HTTP\/1\.1 \d+/gu)]).toEqual([bytes, ['HTTP/1.1 200', 'HTTP/1.1 400']]);
    expect(answers.indexOf('first')).toBeLessThan(answers.indexOf('HTTP/1.1 400'));
  }
});

test('a request for another protocol is answered as it is, and ends the connection: what was sent behind it hangs nowhere', async () => {
  const listener = await serve(async ({ target }) => answer(target));
  const socket = open(listener);
  socket.write(get('/a', 'Connection: Upgrade', 'Upgrade: websocket') + get('/b'));
  const answers = await text(socket);
  expect(answers).toContain('/a');
  expect(answers).toMatch(/connection: close/iu);
});
