import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import { createTestStorage, type TestStorage } from '../storage/harness.ts';

/** Requests as bytes on a connection, to the real services. */

let service: TestStorage;
const listeners: Listener[] = [];
const ports = { compute: 0, storage: 0 };
const object = '/demo/stor/object';

beforeAll(async () => {
  service = await createTestStorage();
  for (const name of ['compute', 'storage'] as const) {
    const handle = service.handlers[name];
    const listener = await listen({ handle, host: '127.0.0.1', port: 0, trusted: true, log: () => undefined });
    listeners.push(listener);
    ports[name] = listener.port;
  }
});
afterAll(async () => {
  await Promise.all(listeners.map((listener) => listener.close(0)));
  await service.close();
});

/** Sends bytes over a connection of their own; all that comes back until the service ends it. */
async function exchange(bytes: string | Buffer, port = ports.storage): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(bytes);
  const answer = await Promise.race([text(socket), sleep(8000).then(() => 'hangs')]);
  socket.destroy();
  return answer;
}

function statusesOf(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/gu)].map(([, status]) => Number(status));
}

/** The lines of a signed request up to its headers' end. */
function sign(line: string, ...headers: string[]): string {
  const signed = Object.entries(service.signature).map((pair) => pair.join(': '));
  return [`${line} HTTP/1.1`, 'Host: storage.test', ...signed, ...headers, '', ''].join('\r\n');
}

async function contentOf(target: string): Promise<string> {
  return (await service.ask('GET', target)).text;
}

describe('headers', () => {
  test.each([501, 1200, 2500])('%i lines in front of a condition: 431, nothing is overwritten', async (count) => {
    await service.put(object, 'first');
    const lines = Array.from({ length: count }, (_, number) => `a${number % 10}:`);
    const request = sign(`PUT ${object}`, 'Connection: close', ...lines, 'If-None-Match: *', 'Content-Length: 6');
    const answer = await exchange(`${request}second`);
    expect(statusesOf(answer)).toEqual([431]);
    expect(answer).toContain('"code":"RequestHeaderFieldsTooLarge"');
    expect(await contentOf(object)).toBe('first');
  });

  test('500 lines are read to the last', async () => {
    await service.put(object, 'first');
    const head = sign(`PUT ${object}`, 'Connection: close', 'If-None-Match: *', 'Content-Length: 6');
    const filling = Array.from({ length: 502 - head.split('\r\n').length }, () => 'a:').map((line) => `${line}\r\n`);
    const answer = await exchange(head.replace('If-None-Match', `${filling.join('')}If-None-Match`) + 'second');
    expect(statusesOf(answer)).toEqual([412]);
  });

  test('two Host headers: 400', async () => {
    const answer = await exchange(sign(`GET ${object}`, 'Host: other.test', 'Connection: close'));
    expect(statusesOf(answer)).toEqual([400]);
  });

  test.each(['compute', 'storage'] as const)('no Host header: 400 of the %s service; HTTP/1.0 needs none', async (name) => {
    for (const [line, ...lines] of [['GET /demo HTTP/1.1'], ['PUT /demo HTTP/1.1', 'Expect: 100-continue', 'Content-Length: 5']]) {
      const answer = await exchange([line, ...lines, '', ''].join('\r\n'), ports[name]);
      expect(statusesOf(answer)).toEqual([400]);
      expect(answer).toContain('{"code":"BadRequest","message":"the request has no Host header');
      expect(answer).toMatch(/^(?:x-)?request-id: /mu);
    }
    const old = await exchange('GET /demo HTTP/1.0\r\n\r\n', ports[name]);
    expect(old).not.toContain('no Host header');
  });

  test('an expectation other than 100-continue: 417 with the headers of every response', async () => {
    const answer = await exchange(sign(`PUT ${object}`, 'Expect: 200-ok', 'Connection: close', 'Content-Length: 0'));
    expect(statusesOf(answer)).toEqual([417]);
    expect(answer).toMatch(/x-request-id: /u);
    expect(answer).toContain('"code":"ExpectationFailed"');
  });
});

describe('bodies', () => {
  test.each(['gzip, chunked', 'chunked, chunked', 'identity, chunked', 'xchunked, chunked'])(
    'Transfer-Encoding: %s: 501 or 400, nothing is stored',
    async (coding) => {
      await service.put(object, 'first');
      const request = sign(`PUT ${object}`, `Transfer-Encoding: ${coding}`, 'Connection: close');
      const [status = 0] = statusesOf(await exchange(`${request}6\r\nsecond\r\n0\r\n\r\n`));
      expect([400, 501]).toContain(status);
      expect(await contentOf(object)).toBe('first');
    },
  );

  test('gzip, chunked is 501', async () => {
    const request = sign(`PUT ${object}`, 'Transfer-Encoding: gzip, chunked', 'Connection: close');
    expect(statusesOf(await exchange(`${request}6\r\nsecond\r\n0\r\n\r\n`))).toEqual([501]);
  });
});

test('a request that asks for another protocol, with another behind it: answered, and no connection hangs', async () => {
  const first = sign(`GET ${object}`, 'Connection: Upgrade', 'Upgrade: h2c');
  expect(statusesOf(await exchange(first + sign(`GET ${object}`)))).toEqual([200]);
  const tunnel = await exchange('CONNECT storage.test:443 HTTP/1.1\r\nHost: storage.test\r\n\r\n');
  expect(statusesOf(tunnel)).toEqual([]);
});

describe('the log', () => {
  test('says who asked and from where, and cuts long targets', async () => {
    const before = service.log.length;
    await exchange(sign(`GET ${object}?${'x'.repeat(8000)}`, 'Connection: close'));
    const [line = ''] = service.log.slice(before);
    expect(line).toMatch(/^storage GET \/demo\/stor\/object\?x+\.\.\. 200 [0-9a-f-]{36} demo 127\.0\.0\.1$/u);
    expect(line.length).toBeLessThan(1200);
  });

  test('has no signature, however its parameter is spelled', async () => {
    await service.storage('GET', `${object}?%73ignature=sesame&Signature=sesame&pass%77ord=sesame`, {
      signing: false,
    });
    await service.storage('GET', `${object}?%73ignature=sesame&Signature=sesame&pass%77ord=sesame`);
    expect(service.log.join('\n')).not.toContain('sesame');
  });

  test('a thousand refusals of anonymous callers are a few lines and a count', async () => {
    const before = service.log.length;
    const requests = `GET /demo/stor/${'x'.repeat(4000)} HTTP/1.1\r\nHost: storage.test\r\n\r\n`;
    await Promise.all(
      Array.from({ length: 20 }, () => exchange(requests.repeat(50) + requests.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))),
    );
    const lines = service.log.slice(before);
    expect(lines.length).toBeLessThan(40);
    expect(lines.join('\n').length).toBeLessThan(50_000);
    expect(lines.join('\n')).toMatch(/storage \d+ more requests without a valid signature were rejected/u);
  });
});
