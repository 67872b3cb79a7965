import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Headers } from '../../src/api/message.ts';
import type { ServiceName } from '../../src/api/operation.ts';
import { useLocal } from '../support/sandbox.ts';
import { createRsaKey, signHeaders, signText, type TestKey } from '../support/service.ts';

/** Hostile bytes for both services, in generated tables. Nothing private is shown, nothing is done, nothing hangs, and both still answer. */

const user = useLocal('--http');
const secret = 'SECRET-CONTENT';
const marker = 'MARKER-CONTENT';
const stranger = createRsaKey();
let key: TestKey;
let keyId = '';

beforeAll(async () => {
  const privateKey = createPrivateKey(readFileSync(user.local.keyFile));
  key = { privateKey, line: '', fingerprint: user.local.keyId };
  keyId = `/demo/keys/${user.local.keyId}`;
  const made = await user.shell(
    `printf ${secret} | cloud stor put -q - secret && printf ${marker} | cloud stor put -q - /demo/public/marker`,
  );
  if (made.code !== 0) throw new Error(made.stderr);
});

const host = 'attacked.test';
/** Longest time for an answer. */
const limit = 10_000;

/** Sends bytes and the end of the connection; all that comes back. */
async function exchange(bytes: string | Buffer, service: ServiceName = 'storage'): Promise<string> {
  const port = Number(new URL(service === 'compute' ? user.local.computeUrl : user.local.storUrl).port);
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  socket.end(bytes);
  const answer = await Promise.race([text(socket).catch(() => ''), sleep(limit, 'HANGS', { ref: false })]);
  socket.destroy();
  expect(answer).not.toBe('HANGS');
  return answer;
}

function write(line: string, headers: Headers | readonly string[], body = ''): string {
  const lines = Array.isArray(headers) ? (headers as readonly string[]) : Object.entries(headers).map((pair) => pair.join(': '));
  return [`${line} HTTP/1.1`, `Host: ${host}`, 'Connection: close', ...lines, '', body].join('\r\n');
}

function statusesOf(answer: string): number[] {
  return [...answer.matchAll(/^HTTP\/1\.1 (\d{3})/gmu)].map(([, status]) => Number(status));
}

const targets = { compute: '/my/keys', storage: '/demo/stor/secret' } as const;

describe('signatures in headers', () => {
  const services = ['compute', 'storage'] as const;
  const sign = (service: ServiceName, more: { key?: TestKey; keyId?: string; date?: string } = {}): Headers => ({
    ...signHeaders(service, { key, keyId, ...more }),
    ...(service === 'compute' && { 'accept-version': '~9' }),
  });

  test.each(services)('%s: the right one is accepted', async (service) => {
    expect(statusesOf(await exchange(write(`GET ${targets[service]}`, sign(service)), service))).toEqual([200]);
  });

  const ids = (id: string): string[] =>
    [
      [
        '',
        '/',
        '//',
        '/demo',
        '/demo/keys',
        '/demo/keys/',
        `/demo/keys/${id}/`,
        `/demo//keys/${id}`,
        `/other/keys/${id}`,
        `/DEMO/keys/${id}x`,
      ],
      [`/demo/keys/../keys/${id}`, `/demo/users/x/keys/${id}`, `/demo/x/keys/${id}`, `/demo%2Fkeys/${id}`, `/demo/keys/${id}%00`],
      [`/demo/keys/${id.toUpperCase()}:00`, `/__proto__/keys/${id}`, `/constructor/keys/${id}`, '/demo/keys/*', "/demo/keys/' or 1=1 --"],
      ['/demo/keys/%', `/demo/keys/${'a'.repeat(5000)}`],
    ].flat();
  const damages: Readonly<Record<string, (authorization: string) => string>> = {
    'another algorithm': (all) => all.replace('rsa-sha256', 'ecdsa-sha256'),
    'no algorithm': (all) => all.replace('rsa-sha256', 'none'),
    'a shared secret': (all) => all.replace('rsa-sha256', 'hmac-sha256'),
    'a signature cut': (all) => all.replace(/(.{8})("?)$/u, '$2'),
    'a signature changed': (all) => all.replace(/(.)(.{10}"?)$/u, (_, letter: string, rest: string) => (letter === 'A' ? 'B' : 'A') + rest),
    'an empty signature': (all) => all.replace(/[A-Za-z0-9+/=]{100,}/u, ''),
    'zeros for a signature': (all) => all.replace(/[A-Za-z0-9+/=]{100,}/u, Buffer.alloc(256).toString('base64')),
    'another scheme': (all) => all.replace('Signature', 'Bearer'),
    'the parameters twice': (all) => `${all},${all.replace('Signature ', '')}x`,
    'a list of other headers': (all) => all.replace('algorithm=', 'headers="host x-date constructor",algorithm='),
  };
  const offsets = [301, -301, 86_400, -86_400, 1e9];

  test('whoever has another key gets nothing, by any name of a key', async () => {
    for (const service of services) {
      for (const id of [...ids(user.local.keyId), ...ids(stranger.fingerprint), keyId]) {
        const answer = await exchange(write(`GET ${targets[service]}`, sign(service, { key: stranger, keyId: id })), service);
        const [status = 0] = statusesOf(answer);
        expect([service, id, status >= 400 && status < 500, answer.includes(secret)]).toEqual([service, id, true, false]);
      }
    }
  });

  test('a damaged signature, another date or method of signing gets nothing', async () => {
    for (const service of services) {
      for (const [name, damage] of Object.entries(damages)) {
        const { authorization = '', ...rest } = sign(service);
        const damaged = damage(authorization);
        expect([name, damaged]).not.toEqual([name, authorization]);
        const [status = 0] = statusesOf(await exchange(write(`GET ${targets[service]}`, { ...rest, authorization: damaged }), service));
        expect([service, name, status >= 400 && status < 500]).toEqual([service, name, true]);
      }
      for (const offset of offsets) {
        const date = new Date(Date.now() + offset * 1000).toUTCString();
        const [status = 0] = statusesOf(await exchange(write(`GET ${targets[service]}`, sign(service, { date })), service));
        expect([service, offset, status >= 400 && status < 500]).toEqual([service, offset, true]);
        // The date of the signature is not the one that is sent.
        const moved = { ...sign(service, { date }), date: new Date().toUTCString() };
        const [second = 0] = statusesOf(await exchange(write(`GET ${targets[service]}`, moved), service));
        expect([service, offset, second >= 400 && second < 500]).toEqual([service, offset, true]);
      }
    }
  });
});

describe('signed URLs', () => {
  const pairsOf = (expires = Math.floor(Date.now() / 1000) + 60): [string, string][] => [
    ['algorithm', 'rsa-sha256'],
    ['expires', String(expires)],
    ['keyId', encodeURIComponent(keyId)],
  ];
  const join = (pairs: readonly (readonly [string, string])[]): string => pairs.map((pair) => pair.join('=')).join('&');
  const signUrl = (pairs: readonly (readonly [string, string])[], path = targets.storage, signer = key): string => {
    const signature = signText(signer, `GET\n${host}\n${path}\n${join(pairs)}`);
    return `${path}?${join(pairs)}&signature=${encodeURIComponent(signature)}`;
  };

  test('the right one is accepted, for GET alone', async () => {
    expect(await exchange(write(`GET ${signUrl(pairsOf())}`, []))).toContain(secret);
    for (const method of ['PUT', 'DELETE', 'POST', 'HEAD', 'OPTIONS']) {
      const [status = 0] = statusesOf(await exchange(write(`${method} ${signUrl(pairsOf())}`, ['Content-Length: 0'])));
      expect([method, status >= 400 && status < 500]).toEqual([method, true]);
    }
  });

  test('another path, parameter, value, order, host, key or time gets nothing', async () => {
    const url = signUrl(pairsOf());
    const paths = [
      '/demo/stor/other',
      '/demo//stor/secret',
      '/demo/stor/%73ecret',
      '/demo/stor/./secret',
      '/DEMO/stor/secret',
      '/demo/stor/secret/',
    ];
    const without = pairsOf().flatMap(([name], _, all) => [
      signUrl(all.filter(([each]) => each !== name)),
      url.replace(new RegExp(`${name}=[^&]*&`, 'u'), ''),
      `${url}&${name}=x`,
      url.replace(`${name}=`, `${name.toUpperCase()}=`),
      url.replace(new RegExp(`${name}=[^&]*`, 'u'), `${name}=`),
    ]);
    const cases = [
      paths.map((path) => url.replace(targets.storage, path)),
      without,
      [
        `${url}&a=1`,
        `${url}&method=PUT`,
        `${url}&role=administrator`,
        `${url}&limit=1`,
        url.replace(/&signature=.*/u, ''),
        url.replace('signature=', 'signature=A'),
        url.replace(/.$/u, ''),
      ],
      ['NaN', '1e99', '-1', '0x7fffffff', '%209999999999', '9'.repeat(30)].map((odd) => url.replace(/expires=\d+/u, `expires=${odd}`)),
      [signUrl(pairsOf(Math.floor(Date.now() / 1000) - 1)), signUrl(pairsOf(), targets.storage, stranger)],
      ['hmac-sha256', 'none', 'rsa-md5'].map((name) =>
        signUrl(pairsOf().map((pair) => (pair[0] === 'algorithm' ? ['algorithm', name] : pair))),
      ),
    ].flat();
    expect(cases.length).toBeGreaterThan(36);
    for (const target of cases) {
      const answer = await exchange(write(`GET ${target}`, []));
      const [status = 0] = statusesOf(answer);
      expect([target, status >= 400 && status < 500, answer.includes(secret)]).toEqual([target, true, false]);
    }
    expect(await exchange(write(`GET ${url}`, []).replace(host, 'other.test'))).not.toContain(secret);
  });
});

describe('framing', () => {
  const smuggled = `GET /demo/public/marker HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const size = smuggled.length;
  const lengths = [`+${size}`, '-1', '0x10', `${size}, 0`, `${size} 0`, `${size}.0`, '1e2', ' ', '9'.repeat(40)].map(
    (value) => `Content-Length: ${value}\r\n`,
  );
  const codings = [
    'identity',
    'gzip, chunked',
    'xchunked',
    'chunked, identity',
    '"chunked"',
    'chunked\u000b',
    '\u000bchunked',
    'chunked;q=1',
    ',',
  ].map((value) => `Transfer-Encoding: ${value}\r\n`);
  const both = [
    `Content-Length: ${size}\r\nTransfer-Encoding: chunked\r\n`,
    `Transfer-Encoding: chunked\r\nContent-Length: ${size}\r\n`,
    `Content-Length: 0\r\nContent-Length: ${size}\r\n`,
    `Content-Length: ${size}\r\nContent-Length: 0\r\n`,
    `Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n`,
    `Content-Length : ${size}\r\n`,
    `Transfer-Encoding : chunked\r\n`,
    ` Content-Length: ${size}\r\n`,
    `X: y\r\n Transfer-Encoding: chunked\r\n`,
    `X: y\n\nContent-Length: ${size}\r\n`,
    `X: y\rContent-Length: ${size}\r\n`,
    `X\0: y\r\nContent-Length: ${size}\r\n`,
    `X: \0\r\nContent-Length: ${size}\r\n`,
    `Content-Length\u00a0: ${size}\r\n`,
  ];
  const head = (headers: string): string => `PUT /demo/stor/x HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`;
  const chunkSizes = ['0x5', '-1', '+5', ' 5', 'FFFFFFFFFFFFFFFFF', '5\n', '', 'g', '5 5', '\u00a05'];
  const cases = [
    ...lengths.map((header) => head(header) + smuggled),
    ...codings.map((header) => head(header) + smuggled),
    ...both.map((headers) => head(headers) + smuggled),
    ...both.map((headers) => head(headers) + `0\r\n\r\n${smuggled}`),
    ...chunkSizes.map((digits) => `${head('Transfer-Encoding: chunked\r\n')}${digits}\r\n${smuggled}\r\n0\r\n\r\n`),
    ...['HTTP/1.2', 'HTTP/0.9', 'HTTP/2.0', 'http/1.1', 'HTTP/1.1 x'].map(
      (version) => `PUT /x ${version}\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n${smuggled}`,
    ),
  ];

  test('that two readers could understand in two ways: refused, and what hides in the body is no request', async () => {
    expect(cases.length).toBeGreaterThan(48);
    // Bodies of the right length hide nothing either, and the marker is there.
    expect(await exchange(smuggled)).toContain(marker);
    for (const bytes of [
      head(`Content-Length: ${size}\r\n`) + smuggled,
      `${head('Transfer-Encoding: chunked\r\n')}${size.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      ...cases,
    ]) {
      for (const service of ['storage', 'compute'] as const) {
        const answer = await exchange(Buffer.from(bytes, 'latin1'), service);
        const statuses = statusesOf(answer);
        expect([bytes, statuses.every((status) => status >= 400 && status < 600 && status !== 500), answer.includes(marker)]).toEqual([
          bytes,
          true,
          false,
        ]);
      }
    }
  });
});

test('no spelling of a public path shows what is private', async () => {
  const dots = ['..', '.%2e', '%2e.', '%2e%2e', '%252e%252e', '..;', '..%00', '..%c0%af', '%ef%bc%8e%ef%bc%8e'];
  const slashes = ['/', '//', '%2f', '%5c', '\\'];
  const spellings = dots.flatMap((dot) => slashes.map((slash) => `/demo/public${slash}${dot}${slash}stor${slash}secret`));
  const others = [
    '/demo/public/./../stor/secret',
    '/demo/stor/secret?/public/',
    '/demo/stor/secret#/public',
    '/public/../demo/stor/secret',
    '//demo/stor/secret',
  ];
  const hosts = [`http://${host}/demo/public/../stor/secret`, `http://demo/public/@${host}/demo/stor/secret`, 'http:///demo/stor/secret'];
  for (const target of [...spellings, ...others, ...hosts]) {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      const answer = await exchange(write(`${method} ${target}`, []));
      expect([method, target, statusesOf(answer).every((status) => status >= 400 && status < 500), answer.includes(secret)]).toEqual([
        method,
        target,
        true,
        false,
      ]);
    }
  }
});

test('no value of a request becomes a header of a response', async () => {
  const signed = signHeaders('storage', { key, keyId });
  for (const end of ['\r\n', '\n', '\r', '%0d%0a', '%0a', '\u010d\u010a', '\u0085']) {
    const odd = `x${end}X-Injected: yes${end}${end}body`;
    const writes = [
      write('PUT /demo/stor/split', { ...signed, 'm-a': odd, 'content-length': '0' }),
      write('PUT /demo/stor/split', { ...signed, 'content-type': `text/plain${odd}`, 'content-length': '0' }),
      write('PUT /demo/stor/split', { ...signed, 'content-disposition': `attachment; filename="${odd}"`, 'content-length': '0' }),
      write('PUT /demo/stor/split', { ...signed, 'access-control-allow-origin': odd, 'content-length': '0' }),
      write('GET /demo/stor/secret', { ...signed, origin: odd, 'x-request-id': odd }),
      write(`GET /demo/uploads/${odd.replaceAll(/\s/gu, '')}`, signed),
    ];
    for (const bytes of writes) {
      const answers = [await exchange(Buffer.from(bytes, 'latin1')), await exchange(write('GET /demo/stor/split', signed))];
      for (const answer of answers) expect([bytes, /^x-injected:/imu.test(answer.split('\r\n\r\n', 1)[0] ?? '')]).toEqual([bytes, false]);
    }
  }
});

test('deep JSON and names that every object has are refused in time, without an internal error', async () => {
  const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];
  const deep = ['['.repeat(400_000), `${'['.repeat(200_000)}${']'.repeat(200_000)}`, `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`];
  const bodies = [
    ...deep.map((json) => `{"name":${json},"phases":${json},"objectPath":${json},"key":${json}}`),
    ...names.map((name) => `{"${name}":{"name":"x"},"name":"${name}"}`),
  ];
  const requests: [ServiceName, string][] = [
    ...(['/my/keys', '/my/users', '/my/roles', '/my/policies'] as const).map((path): [ServiceName, string] => ['compute', path]),
    ...(['/demo/jobs', '/demo/uploads'] as const).map((path): [ServiceName, string] => ['storage', path]),
  ];
  for (const [service, path] of requests) {
    const signed = { ...signHeaders(service, { key, keyId }), 'content-type': 'application/json', 'accept-version': '~9' };
    for (const body of bodies) {
      const started = performance.now();
      const answer = await exchange(write(`POST ${path}`, { ...signed, 'content-length': String(Buffer.byteLength(body)) }, body), service);
      const [status = 0] = statusesOf(answer);
      expect([path, body.slice(0, 60), status >= 200 && status < 500, performance.now() - started < limit]).toEqual([
        path,
        body.slice(0, 60),
        true,
        true,
      ]);
    }
    for (const name of names) {
      for (const target of [`${path}/${name}`, `${path}?${name}=1`, `${path}?state=${name}&sort=${name}&limit=${name}`]) {
        const [status = 0] = statusesOf(await exchange(write(`GET ${target}`, signed), service));
        expect([target, status >= 200 && status < 500]).toEqual([target, true]);
      }
    }
  }
});

test('nothing of it is an internal error, and both services still answer', async () => {
  const { stdout } = await user.cloud(['local', 'logs']);
  expect(stdout).not.toMatch(/internal error|failed:/u);
  expect((await user.cloud(['ping'])).code).toBe(0);
  expect((await user.cloud(['stor', 'cat', 'secret'])).stdout).toBe(secret);
});
