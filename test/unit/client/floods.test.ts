import { afterAll, describe, expect, test } from 'vitest';
import { readAll, streamOf } from '../../../src/api/message.ts';
import { readResult } from '../../../src/client/response.ts';
import { createSocketSender } from '../../../src/http/sockets.ts';
import type { SendOptions } from '../../../src/http/send.ts';
import { startTunnelProxy } from '../../support/tunnel-proxy.ts';
import { startBadService, writeForever, type Misdeed } from '../../support/bad-service.ts';

/** Replies that bring much and are nothing: more of what costs than of what counts. */

const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const usual: SendOptions = { connectTimeout: 30_000, idleTimeout: 30_000, ca: undefined, insecure: false, connections: 2 };

describe.each(['directly', 'through a proxy'])('%s', (way) => {
  /** Sends a request of a large body, or of none, to a service that does this, and reads what it answers. */
  async function ask(misdeed: Misdeed, { body, ...limits }: Partial<SendOptions> & { body?: Uint8Array } = {}): Promise<Uint8Array> {
    const service = await startBadService(misdeed);
    const tunnel = way === 'directly' ? undefined : await startTunnelProxy();
    const sender = createSocketSender({ ...usual, ...limits, proxy: tunnel?.proxy });
    closing.push(
      service.close,
      () => sender.close(),
      () => tunnel?.close(),
    );
    const method = body === undefined ? 'GET' : 'PUT';
    const response = await sender.send({ method, url: new URL(service.url), headers: {}, ...(body && { body: streamOf(body) }) });
    return await readAll(response.body);
  }

  test.each([undefined, Buffer.alloc(1000)])('interim responses without end are an error after 50 of them', async (body) => {
    let sent = 0;
    const flood: Misdeed = async (socket) => {
      while (!socket.destroyed && sent < 2000) {
        sent += 1;
        socket.write('HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n');
        await new Promise((next) => void setTimeout(next, 2));
      }
    };
    await expect(ask(flood, body && { body })).rejects.toThrow('a response that is not HTTP');
    expect(sent).toBeLessThan(2000);
  });

  test('some interim responses are none too many', async () => {
    const polite: Misdeed = (socket) => {
      for (let at = 0; at < 40; at += 1) socket.write('HTTP/1.1 102 Processing\r\n\r\n');
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    };
    expect(Buffer.from(await ask(polite)).toString()).toBe('ok');
  });

  test('silence counts from the end of the request, whatever comes in advance of the response', async () => {
    let sent = 0;
    const drip: Misdeed = async (socket) => {
      for (; !socket.destroyed && sent < 49; sent += 1) {
        socket.write('HTTP/1.1 102 Processing\r\n\r\n');
        await new Promise((next) => void setTimeout(next, 150));
      }
    };
    await expect(ask(drip, { idleTimeout: 600, body: Buffer.alloc(10) })).rejects.toThrow('sent no data for too long');
    expect(sent).toBeLessThan(40);
  });

  test('trailers that come without end are silence', async () => {
    const trailers: Misdeed = async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n');
      for (let at = 0; !socket.destroyed && at < 100; at += 1) {
        socket.write('x-a: b\r\n');
        await new Promise((next) => void setTimeout(next, 100));
      }
    };
    await expect(ask(trailers, { idleTimeout: 500 })).rejects.toThrow(/sent no data for too long|not HTTP/u);
  });

  test('chunks of one byte without end are an error, in little memory', async () => {
    const before = process.memoryUsage().rss;
    const flood: Misdeed = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      return writeForever(socket, '1\r\nx\r\n'.repeat(10_000));
    };
    await expect(ask(flood)).rejects.toThrow('a response that is not HTTP');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('small chunks of a small body arrive whole and in order', async () => {
    const text = Array.from({ length: 5000 }, (_, at) => `${at},`).join('');
    const chunks = text.split('').map((letter, at) => (at % 1000 === 0 ? letter.repeat(2000) : letter));
    const small: Misdeed = (socket) => {
      const body = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('');
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`);
    };
    expect(Buffer.from(await ask(small)).toString()).toBe(chunks.join(''));
  });
});

describe('JSON', () => {
  const origin = { url: new URL('https://cloud.example.com'), now: () => 0 };
  const read = (text: string): Promise<unknown> =>
    readResult('json', { status: 200, headers: {}, body: streamOf(Buffer.from(text)) }, origin);
  const most = 16 * 1024 * 1024;

  test.each([
    ['more than 16 MiB', `["${'x'.repeat(most)}"]`],
    ['16 MiB of empty records', `[${'{},'.repeat(most / 3 - 10)}{}]`],
    ['16 MiB of numbers', `[${'1,'.repeat(most / 2 - 10)}1]`],
  ])('%s is too large', async (_, text) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'ReplyTooLarge' });
  });

  test('16 MiB of images are read', async () => {
    const image = { id: 'x'.repeat(36), name: 'name', tags: { a: 'b' }, description: ', '.repeat(300), files: [{ size: 1 }] };
    const list = Array.from({ length: 15_000 }, () => image);
    expect(await read(JSON.stringify(list))).toHaveLength(15_000);
  });
});
