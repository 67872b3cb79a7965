import { describe, expect, test } from 'vitest';
import { compute } from '../../../src/api/compute.ts';
import { readAll, streamOf, type HttpResponse } from '../../../src/api/message.ts';
import { storage as operations } from '../../../src/api/storage.ts';
import { createClient, type ClientOptions } from '../../../src/client/client.ts';
import { checkTransport } from '../../../src/client/transport.ts';
import { readSkew } from '../../../src/client/response.ts';
import { backOff, readRetryAfter } from '../../../src/client/retry.ts';
import type { Outgoing } from '../../../src/http/send.ts';
import { NetworkError, type ApiError } from '../../../src/base/errors.ts';

type Answer = { status: number; headers?: Record<string, string>; body?: string } | Error;

/** A client whose requests are answered from a list, the last answer again and again. */
function setUp(answers: Answer[], options: Partial<ClientOptions> & { service?: 'compute' | 'storage' } = {}) {
  const sent: Outgoing[] = [];
  const waits: number[] = [];
  const results: unknown[] = [];
  let signatures = 0;
  const client: ClientOptions = {
    endpoint: {
      service: options.service ?? 'compute',
      url: new URL('https://cloud.example.com/base/'),
      authorize: (result) => {
        results.push(result);
        return Promise.resolve({ date: 'now', authorization: `signature ${(signatures += 1)}` });
      },
      roles: [],
      apiVersion: '~9',
    },
    send: (outgoing): Promise<HttpResponse> => {
      sent.push(outgoing);
      const answer = answers[Math.min(sent.length, answers.length) - 1] ?? new Error('no answer');
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve({ status: answer.status, headers: answer.headers ?? {}, body: streamOf(Buffer.from(answer.body ?? '')) });
    },
    retry: { retries: 3, base: 100, most: 1000, random: () => 0, sleep: (wait) => Promise.resolve(void waits.push(wait)) },
    now: () => 0,
    ...options,
  };
  return {
    sent,
    waits,
    results,
    retry: client.retry,
    endpoint: client.endpoint,
    compute: createClient(compute, client),
    storage: createClient(operations, client),
  };
}

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const value of values) all.push(value);
  return all;
}

const refusal = (status: number, code = 'Busy', headers = {}): Answer => ({
  status,
  headers,
  body: JSON.stringify({ code, message: 'later' }),
});
const account = { id: '1', login: 'jill', email: 'jill@example.com', created: 'then', updated: 'now' };
const key = { name: 'k', fingerprint: 'aa', key: 'ssh-rsa AAAA' };
const list: Answer = { status: 200, body: '[]' };
const cut = new NetworkError('cut', { code: 'ECONNRESET' });

describe('what is tried again', () => {
  test.each([420, 429, 500, 502, 503, 504])('a read after %i, each time signed afresh', async (status) => {
    const { compute, sent } = setUp([refusal(status), list]);
    expect(await compute.listKeys({ account: 'my' })).toEqual([]);
    expect(sent.map(({ headers }) => headers['authorization'])).toEqual(['signature 1', 'signature 2']);
  });

  test.each([400, 401, 403, 404, 409, 449, 501])('nothing after %i', async (status) => {
    const { compute, sent } = setUp([refusal(status)]);
    await expect(compute.listKeys({ account: 'my' })).rejects.toMatchObject({ status });
    expect(sent).toHaveLength(1);
  });

  test('any request like the declared ones: throttled, and refused in one form of the signature; the last refusal is the response', async () => {
    const endpoint = { ...setUp([]).endpoint, tryOtherForm: ({ status }: ApiError) => status === 401 };
    const { compute, sent } = setUp([refusal(420), refusal(401, 'InvalidCredentials'), list], { endpoint });
    expect((await compute.request({ method: 'HEAD', target: '/my/keys' })).status).toBe(200);
    expect(sent).toHaveLength(3);
    const failing = setUp([refusal(503), refusal(404, 'ResourceNotFound')]);
    const response = await failing.compute.request({ method: 'GET', target: '/my/keys/none' });
    expect([response.status, Buffer.from(await readAll(response.body)).toString()]).toEqual([
      404,
      '{"code":"ResourceNotFound","message":"later"}',
    ]);
    expect(failing.sent).toHaveLength(2);
    const creation = setUp([refusal(503)]);
    expect((await creation.compute.request({ method: 'POST', target: '/my/keys', body: Buffer.from('{}') })).status).toBe(503);
    expect(creation.sent).toHaveLength(1);
  });

  test('a broken connection: what is idempotent, but no creation', async () => {
    expect(await setUp([cut, cut, list]).compute.listKeys({ account: 'my' })).toEqual([]);
    const creation = setUp([cut]);
    await expect(creation.compute.createKey({ account: 'my', key: 'k' })).rejects.toThrow('cut');
    expect(creation.sent).toHaveLength(1);
    const update = setUp([cut, { status: 200, body: JSON.stringify(account) }]);
    await update.compute.updateAccount({ account: 'my', email: 'a@b.c' });
    expect(update.sent).toHaveLength(2);
  });

  test.each(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'])('no creation after %s of an open connection', async (code) => {
    const creation = setUp([new NetworkError('lost', { code })]);
    await expect(creation.compute.createKey({ account: 'my', key: 'k' })).rejects.toMatchObject({
      code,
      hint: 'the change may have been applied; check before retrying',
    });
    expect(creation.sent).toHaveLength(1);
  });

  test('a creation that was throttled, since nothing was done; not one that failed', async () => {
    const throttled = setUp([refusal(420, 'RequestThrottled'), { status: 201, body: JSON.stringify(key) }]);
    await throttled.compute.createKey({ account: 'my', key: 'k' });
    expect(throttled.sent).toHaveLength(2);
    const failed = setUp([refusal(503)]);
    await expect(failed.compute.createKey({ account: 'my', key: 'k' })).rejects.toMatchObject({ status: 503 });
    expect(failed.sent).toHaveLength(1);
    const broken = setUp([refusal(500)]);
    await expect(broken.compute.createKey({ account: 'my', key: 'k' })).rejects.toMatchObject({ status: 500 });
    expect(broken.sent).toHaveLength(1);
    const written = setUp([refusal(500), { status: 204 }]);
    await written.compute.deleteKey({ account: 'my', key: 'k' });
    expect(written.sent).toHaveLength(2);
  });

  test('a response that is cut is read again', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('[');
      throw cut;
    }
    let first = true;
    const { compute } = setUp([list], {
      send: () => {
        const body = first ? broken() : streamOf(Buffer.from('[]'));
        first = false;
        return Promise.resolve({ status: 200, headers: {}, body });
      },
    });
    expect(await compute.listKeys({ account: 'my' })).toEqual([]);
  });

  test('a stream that cannot be read again is sent once', async () => {
    const { storage, sent } = setUp([cut], { service: 'storage' });
    await expect(storage.putObject({ account: 'demo', path: 'stor/a', body: streamOf(Buffer.from('x')) })).rejects.toThrow('cut');
    expect(sent).toHaveLength(1);
    const again = setUp([cut, { status: 204 }], { service: 'storage' });
    await again.storage.putObject({ account: 'demo', path: 'stor/a', body: streamOf() }, { body: () => streamOf(Buffer.from('x')) });
    expect(again.sent).toHaveLength(2);
  });

  test('waiting doubles, is jittered, and follows Retry-After', async () => {
    const { compute, waits } = setUp([refusal(503), refusal(503), refusal(503, 'Busy', { 'retry-after': '1' }), list]);
    await compute.listKeys({ account: 'my' });
    expect(waits).toEqual([50, 100, 1000]);
    const policy = { retries: 3, base: 100, most: 1000, random: () => 1, sleep: () => Promise.resolve() };
    expect([1, 2, 3, 4, 5].map((attempt) => backOff(policy, attempt, undefined))).toEqual([100, 200, 400, 800, 1000]);
    expect(backOff(policy, 1, 99_000)).toBe(99_000);
    expect(readRetryAfter('Thu, 01 Jan 1970 00:00:09 GMT', 4000)).toBe(5000);
    for (const value of ['soon', 'Infinity', '0x10', '1e3', '-1', '0.7', '9'.repeat(400), '', undefined])
      expect(readRetryAfter(value, 0), value).toBe(undefined);
  });

  test('a longer wait than the user allows ends the request at once and says when to try again', async () => {
    const asked = refusal(503, 'Busy', { 'retry-after': '600' });
    const { compute, sent, waits } = setUp([asked, list]);
    await expect(compute.listKeys({ account: 'my' })).rejects.toMatchObject({
      status: 503,
      hint: 'the service asks for a retry in 600 s; to wait that long: --max-time 600s',
    });
    expect([sent.length, waits]).toEqual([1, []]);
    const patient = setUp([asked, list], { maxTime: 700_000 });
    expect(await patient.compute.listKeys({ account: 'my' })).toEqual([]);
    expect(patient.waits).toEqual([600_000]);
    // No response, which would not say when to try again.
    const hint = expect.stringContaining('--max-time 600s') as string;
    await expect(setUp([asked]).compute.request({ method: 'GET', target: '/my/keys' })).rejects.toMatchObject({ status: 503, hint });
  });

  test('a service that restarts is waited for; one that never responded, or is silent, is not waited for as long', async () => {
    const down = new NetworkError('down', { code: 'ECONNREFUSED', isUnsent: true });
    const retry = { ...setUp([]).retry, retries: 9, earlyRetries: 3 };
    const restarted = setUp([list, ...Array.from({ length: 9 }, () => down), list], { retry });
    await restarted.compute.listKeys({ account: 'my' });
    expect(await restarted.compute.listKeys({ account: 'my' })).toEqual([]);
    const absent = setUp([down], { retry });
    await expect(absent.compute.listKeys({ account: 'my' })).rejects.toThrow('down');
    expect(absent.sent).toHaveLength(4);
    const silent = setUp([list, new NetworkError('silent', { code: 'IDLE' })], { retry });
    await silent.compute.listKeys({ account: 'my' });
    await expect(silent.compute.listKeys({ account: 'my' })).rejects.toMatchObject({ exitCode: 6 });
    expect(silent.sent).toHaveLength(5);
    // Of a creation nothing can have been done.
    const creation = setUp([down, { status: 201, body: JSON.stringify(key) }], { retry });
    await creation.compute.createKey({ account: 'my', key: 'k' });
    expect(creation.sent).toHaveLength(2);
  });

  test('it ends: the last failure is told', async () => {
    const { compute, sent } = setUp([refusal(503)]);
    await expect(compute.listKeys({ account: 'my' })).rejects.toMatchObject({ status: 503, code: 'Busy', message: 'later' });
    expect(sent).toHaveLength(4);
  });
});

describe('what is sent', () => {
  test('the base path, the version, the roles of each service', async () => {
    const given = setUp([list]);
    await given.compute.listKeys({ account: 'my' });
    expect(given.sent[0]?.url.href).toBe('https://cloud.example.com/base/my/keys');
    expect(given.sent[0]?.headers).toEqual({
      accept: 'application/json',
      'accept-version': '~9',
      date: 'now',
      authorization: 'signature 1',
    });
    const endpoint = {
      service: 'compute' as const,
      url: new URL('https://x'),
      authorize: () => Promise.resolve({ date: '', authorization: '' }),
      apiVersion: '*',
    };
    const roles = setUp([list], { endpoint: { ...endpoint, roles: ['a b', 'c'] } });
    await roles.compute.listImages({ account: 'my', os: 'linux' });
    expect(roles.sent[0]?.url.search).toBe('?os=linux&as-role=a%20b%2Cc');
    const stored = setUp([{ status: 204 }], { endpoint: { ...endpoint, service: 'storage', roles: ['a', 'c'] } });
    await stored.storage.deleteObject({ account: 'demo', path: 'stor/a' });
    expect(stored.sent[0]?.headers['role']).toBe('a,c');
  });

  test('an object’s headers alone, over a connection and with an interruption like those of a result that is no download', async () => {
    const reads: boolean[] = [];
    const interruption = (isRead: boolean): undefined => void reads.push(isRead);
    const { storage, results } = setUp([{ status: 200 }], { service: 'storage', interruption });
    await storage.answer(operations.getObject, { account: 'demo', path: 'stor/a' }, { head: true });
    await storage.getObject({ account: 'demo', path: 'stor/a' });
    expect({ results, reads }).toEqual({ results: ['empty', 'bytes'], reads: [true, false] });
  });
});

describe('what is read', () => {
  test('deployed names become the specification’s', async () => {
    const { compute } = setUp([{ status: 200, body: JSON.stringify({ ...account, triton_cns_enabled: true }) }]);
    expect(await compute.getAccount({ account: 'my' })).toEqual({ ...account, cloud_cns_enabled: true });
    const throttled = setUp([refusal(429, 'TooManyRequestsError')], {
      retry: { retries: 0, base: 1, most: 1, random: () => 0, sleep: () => Promise.resolve() },
    });
    await expect(throttled.compute.getAccount({ account: 'my' })).rejects.toMatchObject({ code: 'RequestThrottled' });
  });

  test('a redirection that the operation does not expect is an error; the expected one is a result', async () => {
    const moved: Answer = { status: 302, headers: { location: 'https://dc-2' }, body: '{"code":"ResourceMoved","message":"see there"}' };
    await expect(setUp([moved]).compute.listKeys({ account: 'my' })).rejects.toThrow('redirects to https://dc-2');
    const { headers } = await setUp([moved]).compute.answer(compute.getDatacenter, { account: 'my', name: 'dc-2' });
    expect(headers['location']).toBe('https://dc-2');
  });

  test('a redirection releases its connection, whatever its body', async () => {
    let isClosed = false;
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) yield Buffer.from('x');
      } finally {
        isClosed = true;
      }
    }
    const send = () => Promise.resolve({ status: 302, headers: { location: 'https://dc-2' }, body: endless() });
    await expect(setUp([], { send }).compute.listKeys({ account: 'my' })).rejects.toThrow('redirects to https://dc-2');
    expect(isClosed).toBe(true);
  });

  test('a stream of records is read across pieces; a broken line is an error', async () => {
    const records = '{"name":"ä","type":"object","mtime":"x"}\n{"name":"b","type":"directory","mtime":"x"}\n';
    const bytes = Buffer.from(records);
    const { storage } = setUp([list], {
      service: 'storage',
      send: () =>
        Promise.resolve({ status: 200, headers: {}, body: streamOf(...Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))) }),
    });
    const listing = await storage.listDirectory({ account: 'demo', path: 'stor' });
    expect((await collect(listing.records)).map(({ name }) => name)).toEqual(['ä', 'b']);
    const html = setUp([{ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }], { service: 'storage' });
    const wrong = await html.storage.listDirectory({ account: 'demo', path: 'stor' });
    await expect(collect(wrong.records)).rejects.toThrow('is not JSON (text/html)');
  });

  test('a web page that answers a PUT with 200 is no success', async () => {
    const { storage } = setUp([{ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }], { service: 'storage' });
    await expect(storage.putObject({ account: 'demo', path: 'stor/a', body: Buffer.from('x') })).rejects.toThrow('text/html');
  });
});

test('plain HTTP goes to this machine only, unless the profile allows it', () => {
  for (const url of ['https://x', 'http://localhost:1', 'http://127.0.0.1', 'http://127.8.9.1', 'http://[::1]:8'])
    checkTransport(new URL(url), false);
  for (const url of ['http://x', 'http://127.0.0.1.example.com', 'http://localhost.example.com', 'http://10.0.0.1', 'ftp://localhost']) {
    expect(() => checkTransport(new URL(url), false)).toThrow(
      new URL(url).protocol === 'http:' ? 'is not protected by TLS' : 'not an https URL',
    );
  }
  checkTransport(new URL('http://x'), true);
});

test.each([
  [0, 0],
  [999, 0],
  [1000, 1],
  [-1, -1],
  [-60_000, -60],
])('a clock that shows %i ms after the date of a response is %i s ahead', (elapsed, skew) => {
  const date = Date.UTC(2026, 0, 1);
  expect(readSkew({ headers: { date: new Date(date).toUTCString() } }, () => date + elapsed)).toBe(skew);
});
