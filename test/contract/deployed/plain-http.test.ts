import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepareTls } from '../../../src/server/http/certificates.ts';
import { listen, type Listener } from '../../../src/server/http/listen.ts';
import { createTestService, signAs, signHeaders, signUrl, type TestService } from '../../support/service.ts';

/** A port of TLS takes plain HTTP for GET by signed URL (object storage, sections 1 and 5) and for nothing else. */

let service: TestService;
let dir: string;
const listeners: Listener[] = [];
const ports = { compute: 0, storage: 0 };
beforeAll(async () => {
  service = await createTestService();
  dir = await mkdtemp(join(tmpdir(), 'cloud-plain-'));
  await service.storage('PUT', '/demo/stor/secret', { body: Buffer.from('the secret') });
  await service.storage('PUT', '/demo/public/open', { body: Buffer.from('open') });
  const tls = await prepareTls(dir, ['localhost'], Date.now());
  for (const name of ['compute', 'storage'] as const) {
    const listener = await listen({ handle: service.handlers[name], tls, host: '127.0.0.1', port: 0, log: () => undefined });
    listeners.push(listener);
    ports[name] = listener.port;
  }
});
afterAll(async () => {
  await Promise.all(listeners.map((listener) => listener.close(0)));
  await service.close();
  await rm(dir, { recursive: true, force: true });
});

async function send(port: number, request: string, isTls = false): Promise<string> {
  const socket = isTls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1');
  socket.write(request);
  return text(socket);
}

const write = (method: string, target: string, headers: Readonly<Record<string, string>> = {}): string => {
  const lines = Object.entries({ host: 'storage.test', connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
};

describe('the port of the object storage', () => {
  const signed = (method = 'GET'): string => signUrl('storage', { ...signAs('storage', service.key, 'demo'), method }, '/demo/stor/secret');

  test('GET by signed URL is answered over plain HTTP as over TLS', async () => {
    for (const isTls of [false, true]) {
      const response = await send(ports.storage, write('GET', signed()), isTls);
      expect(response).toMatch(/^HTTP\/1\.1 200 OK\r\n/u);
      expect(response).toMatch(/\r\n\r\nthe secret$/u);
    }
  });

  test.each([
    ['HEAD by signed URL', () => write('HEAD', signed('HEAD'))],
    ['PUT by signed URL', () => write('PUT', signed('PUT'), { 'content-length': '0' })],
    ['what is public', () => write('GET', '/demo/public/open')],
    [
      'a signature in the header',
      () =>
        write('GET', '/demo/stor/secret', signHeaders('storage', { ...signAs('storage', service.key, 'demo') }) as Record<string, string>),
    ],
    ['no signature', () => write('GET', '/demo/stor/secret')],
    ['a signed URL that was changed', () => write('GET', signed().replace('secret', 'other'))],
  ])('%s is refused, never redirected', async (_, request) => {
    const response = await send(ports.storage, request());
    expect(response).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/u);
    expect(response).not.toMatch(/\nlocation:/iu);
    expect(response).not.toContain('the secret');
  });

  test('what is neither HTTP nor TLS is 400, and the service goes on', async () => {
    expect(await send(ports.storage, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /u);
    expect(await send(ports.storage, write('GET', signed()))).toContain('the secret');
  });

  test('a connection that ends before its first byte harms nothing', async () => {
    const socket = connect(ports.storage, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.end();
    expect(await text(socket)).toBe('');
    expect(await send(ports.storage, write('GET', signed()), true)).toContain('the secret');
  });
});

test('the port of the compute service says that it speaks HTTPS', async () => {
  for (const target of ['/my', '/--ping', signUrl('compute', signAs('compute', service.key, 'demo'), '/demo')]) {
    const response = await send(ports.compute, write('GET', target, { 'accept-version': '~9' }));
    expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/u);
    expect(response).toContain('this port requires HTTPS');
  }
});
