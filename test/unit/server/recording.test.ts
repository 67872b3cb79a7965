import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { readAll, streamOf, type Headers, type HttpResponse, type Request } from '../../../src/api/message.ts';
import type { Outgoing } from '../../../src/http/send.ts';
import { createRecorder, type Recorder } from '../../../src/server/recording/recorder.ts';
import { openReplay } from '../../../src/server/recording/replay.ts';

/** What a recording holds of what passed, and what it answers. */

const folder = mkdtempSync(join(tmpdir(), 'cloud-recording-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const connection = { remoteAddress: '127.0.0.1', secure: true };
let files = 0;

/** A recorder in front of a cloud that answers as told, and the requests that reached it. */
function record(answer: (outgoing: Outgoing) => HttpResponse | Promise<HttpResponse>, bodyLimit = 1000) {
  const file = join(folder, `${(files += 1)}.jsonl`);
  const sent: Outgoing[] = [];
  const send = async (outgoing: Outgoing): Promise<HttpResponse> => {
    sent.push(outgoing);
    await readAll(outgoing.body);
    return await answer(outgoing);
  };
  const upstream = { url: new URL('https://cloud.example'), send };
  const header = { recording: 1, account: 'jill', computeUrl: 'https://a', storUrl: 'https://b', time: '2026-11-23T00:00:00Z' } as const;
  const recorder = createRecorder({ file, header, upstreams: { compute: upstream, storage: upstream }, bodyLimit, log: () => undefined });
  return { file, sent, recorder, read: () => readFileSync(file, 'utf8') };
}

const response = (body: string | Uint8Array, headers: Headers = {}, status = 200): HttpResponse => ({
  status,
  headers,
  body: streamOf(Buffer.from(body)),
});
const ask = (method: string, target: string, body?: string, headers: Headers = {}): Request => ({
  method,
  target,
  headers,
  body: body === undefined ? undefined : streamOf(Buffer.from(body)),
});

async function pass(recorder: Recorder, service: 'compute' | 'storage', request: Request): Promise<string> {
  const { body } = await recorder.forward(service)(request, connection);
  return Buffer.from(await readAll(body)).toString();
}

async function replay(
  file: string,
  service: 'compute' | 'storage',
  request: Request,
): Promise<{ status: number; headers: Headers; text: string }> {
  const open = openReplay(file);
  try {
    const { status, headers, body } = await open.services(() => undefined)[service](request, connection);
    return { status, headers, text: Buffer.from(await readAll(body)).toString() };
  } finally {
    open.close();
  }
}

describe('a recording', () => {
  it('keeps nothing in memory of bodies that the program did not read to their end', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const size = 1024 * 1024;
    async function* send(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 16; count += 1) yield Buffer.alloc(size);
    }
    const { recorder } = record(() => ({ status: 200, headers: {}, body: send() }), 4 * size);
    const measure = async (): Promise<number> => {
      for (let round = 0; round < 3; round += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        collect();
      }
      return process.memoryUsage().arrayBuffers;
    };
    const before = await measure();
    for (let count = 0; count < 10; count += 1) {
      const { body } = await recorder.forward('storage')(ask('GET', `/jill/stor/${count}`), connection);
      for await (const _ of body) break;
    }
    expect((await measure()) - before).toBeLessThan(20 * size);
    await recorder.close();
  });

  it('passes everything on, and holds no signature, password or private key, wherever they stand', async () => {
    const planted = 'PLANTED+secret/0123456789';
    const key = `-----BEGIN RSA PRIVATE KEY-----\n${planted}\n-----END RSA PRIVATE KEY-----\n`;
    const { recorder, sent, read, file } = record(({ method }) =>
      method === 'GET'
        ? response(key, { 'content-type': 'text/plain' })
        : response(JSON.stringify({ id: 1, root_pw: planted, nested: [{ password: planted, note: key }], apiToken: planted, none: null }), {
            'set-cookie': planted,
            'x-auth-token': planted,
            location: `https://cloud.example/x?keyId=k&signature=${planted}`,
            'x-note': `Signature keyId="k",signature="${planted}"`,
            'content-md5': 'of the whole',
          }),
    );
    const authorization = `Signature keyId="/jill/keys/k",algorithm="rsa-sha256",signature="${planted}"`;
    const headers = { authorization, cookie: planted, 'content-type': 'application/json', 'x-own': planted };
    const answered = await pass(
      recorder,
      'compute',
      ask('POST', '/jill/users', JSON.stringify({ login: 'a', password: planted }), headers),
    );
    await pass(recorder, 'storage', ask('PUT', '/jill/stor/key', key, headers));
    expect(await pass(recorder, 'storage', ask('GET', `/jill/stor/key?keyId=k&signature=${encodeURIComponent(planted)}&expires=1`))).toBe(
      key,
    );
    const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
    await pass(
      recorder,
      'compute',
      ask('POST', `/jill/users?password=${planted}`, `login=a&password=${encodeURIComponent(planted)}`, form),
    );
    await recorder.close();
    expect(answered).toContain(planted);
    expect(sent[0]?.headers).toEqual(headers);
    expect(sent[2]?.url.href).toContain('signature=PLANTED');
    expect(read().split('\n')).toHaveLength(6);
    expect(read()).not.toMatch(/PLANTED|secret\/0123/u);
    expect(read().split('\n')[1]).not.toContain('of the whole');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('tells parameters apart by all but their passwords, which a digest would let somebody guess', async () => {
    const create = (login: string, password: string): Request =>
      ask('POST', '/jill/users', JSON.stringify({ login, password }), { 'content-type': 'application/json' });
    const { recorder, file } = record(() => response('{"id":"1"}', {}, 201));
    await pass(recorder, 'compute', create('a', 'first'));
    await recorder.close();
    expect(await replay(file, 'compute', create('a', 'second'))).toMatchObject({ status: 201, text: '{"id":"1"}' });
    expect(await replay(file, 'compute', create('b', 'first'))).toMatchObject({ status: 501 });
  });

  it('gives the same bytes, headers and order back, whatever the bytes are', async () => {
    const bodies = [Buffer.from('Grüße\n'), Buffer.from([0, 255, 254, 10, 13]), Buffer.alloc(0)];
    let at = 0;
    const { recorder, file } = record(() => response(bodies[at++] ?? '', { etag: `e${at}`, 'm-own': 'x' }));
    for (const _ of bodies) await pass(recorder, 'storage', ask('GET', '/jill/stor/x'));
    await recorder.close();
    const open = openReplay(file);
    const { storage } = open.services(() => undefined);
    // The latest answer to a read holds for further ones.
    for (const [index, expected] of [...bodies, bodies[2]].entries()) {
      const { headers, body } = await storage(ask('GET', '/jill/stor/x'), connection);
      expect(Buffer.from(await readAll(body))).toEqual(expected);
      expect(headers).toMatchObject({ etag: `e${Math.min(index, 2) + 1}`, 'm-own': 'x', 'content-length': String(expected?.length) });
    }
    open.close();
  });

  it('tells ranges and conditions apart, and takes the parameters of a query in any order', async () => {
    const { recorder, file } = record(({ headers }) => response(headers['range'] ?? 'all'));
    await pass(recorder, 'storage', ask('GET', '/jill/stor/x?b=1&a=2', undefined, { range: 'bytes=0-1' }));
    await pass(recorder, 'storage', ask('GET', '/jill/stor/x?b=1&a=2'));
    await recorder.close();
    expect(await replay(file, 'storage', ask('GET', '/jill/stor/x?a=2&b=1'))).toMatchObject({ text: 'all' });
    expect(await replay(file, 'storage', ask('GET', '/jill/stor/x?a=2&b=1', undefined, { range: 'bytes=0-1' }))).toMatchObject({
      text: 'bytes=0-1',
    });
  });

  it('keeps the rest of a response that the program did not read, and a connection that broke', async () => {
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('half');
      throw new Error('gone');
    }
    const { recorder, file } = record(({ url }) =>
      url.pathname.endsWith('cut')
        ? { status: 200, headers: { 'content-length': '8' }, body: broken() }
        : { ...response(''), body: streamOf(Buffer.from('one'), Buffer.from('two')) },
    );
    const { body } = await recorder.forward('storage')(ask('GET', '/jill/stor/x'), connection);
    for await (const _ of body) break;
    await expect(pass(recorder, 'storage', ask('GET', '/jill/stor/cut'))).rejects.toThrow('gone');
    await recorder.close();
    expect(await replay(file, 'storage', ask('GET', '/jill/stor/x'))).toMatchObject({ text: 'onetwo' });
    await expect(replay(file, 'storage', ask('GET', '/jill/stor/cut'))).rejects.toThrow('close the connection');
  });

  it('does not wait for a response without an end', async () => {
    async function* endless(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      await new Promise(() => undefined);
    }
    const { recorder, read } = record(() => ({ status: 200, headers: {}, body: endless() }));
    const { body } = await recorder.forward('storage')(ask('GET', '/jill/stor/x'), connection);
    for await (const _ of body) break;
    expect(await recorder.close()).toEqual({ exchanges: 1, failed: 0 });
    expect(read()).toContain('"cut":true');
  });

  it('leaves out what is larger than its limit, and says so when it is asked for', async () => {
    const { recorder, file } = record(() => response('x'.repeat(1001)));
    expect(await pass(recorder, 'storage', ask('GET', '/jill/stor/x'))).toHaveLength(1001);
    await recorder.close();
    const { status, text } = await replay(file, 'storage', ask('GET', '/jill/stor/x'));
    expect([status, text]).toEqual([501, expect.stringContaining('it has more than 1000 bytes')]);
  });

  it('says 502 for a cloud that cannot be reached, and keeps nothing of it', async () => {
    const { recorder } = record(() => Promise.reject(new Error('connection refused')));
    expect(await pass(recorder, 'storage', ask('GET', '/jill/stor/x'))).toContain('cannot be reached: connection refused');
    expect(await recorder.close()).toEqual({ exchanges: 0, failed: 1 });
  });
});

describe('a request that was not recorded', () => {
  it('is refused once, with what is nearest', async () => {
    const { recorder, file } = record(() => response('{}'));
    await pass(recorder, 'compute', ask('GET', '/jill/keys?name=a'));
    await pass(recorder, 'storage', ask('PUT', '/jill/stor/reports', 'June'));
    await recorder.close();
    const say = async (service: 'compute' | 'storage', request: Request): Promise<string> => {
      const { status, text } = await replay(file, service, request);
      expect(status).toBe(501);
      return (JSON.parse(text) as { message: string }).message;
    };
    expect(await say('compute', ask('GET', '/jill/keys?name=b'))).toBe(
      'the recording has no compute GET /jill/keys?name=b; the nearest is compute GET /jill/keys?name=a',
    );
    expect(await say('storage', ask('GET', '/jill/stor/report'))).toContain('the nearest is storage PUT /jill/stor/reports');
    expect(await say('storage', ask('PUT', '/jill/stor/reports', 'July'))).toContain('with this body: it was sent with another one');
    expect(await say('compute', ask('GET', '/jack/images'))).toContain('the nearest is compute GET /jill/keys');
    const open = openReplay(file);
    const { storage } = open.services(() => undefined);
    expect((await storage(ask('PUT', '/jill/stor/reports', 'June'), connection)).status).toBe(200);
    const again = await storage(ask('PUT', '/jill/stor/reports', 'June'), connection);
    expect(Buffer.from(await readAll(again.body)).toString()).toContain('any more: it was sent once');
    expect(open.unmatched).toEqual(['storage PUT /jill/stor/reports']);
    open.close();
  });

  it.each([
    ['', 'is empty'],
    ['hello\n', 'is not a recording'],
    ['{"recording":2}\n', 'is not a recording of this format'],
    ['{"recording":1}\n{"id":1\n', 'line 2 is not JSON'],
    ['{"recording":1}\n{"id":1}\n', 'line 2 is not an exchange'],
  ])('%j is no recording', (text, problem) => {
    const file = join(folder, 'other');
    writeFileSync(file, text);
    expect(() => openReplay(file)).toThrow(problem);
  });

  it('a recording that is not there is refused', () => {
    expect(() => openReplay(join(folder, 'none'))).toThrow('does not exist');
    expect(() => openReplay(folder)).toThrow('is not a regular file');
  });
});
