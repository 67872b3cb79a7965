import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/** A service that has only what the specification names: neither HEAD nor parts of objects, no MD5 in listings; and no links, as newer ones. */

const user = useLocal('--http');
let server: Server;
let url: string;
const asked: string[] = [];
/** Bytes of the next download after which its connection ends. */
let cutAfter = Infinity;

beforeAll(async () => {
  server = createServer((incoming, response) => {
    const { method = '', url: target = '', headers } = incoming;
    asked.push(method);
    const refuse = (status: number, code: string): void => {
      incoming.resume();
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ code, message: 'not here' }));
    };
    if (method === 'HEAD') return refuse(405, 'MethodNotAllowed');
    if (headers['content-type']?.includes('type=link') === true) return refuse(403, 'SnaplinksDisabledError');
    const { range: _, ...others } = headers;
    const passed = request(new URL(target, user.local.storUrl), { method, headers: others }, (reply) => {
      response.writeHead(reply.statusCode ?? 0, reply.headers);
      const limit = method === 'GET' && reply.headers['content-length'] !== undefined ? cutAfter : Infinity;
      if (limit < Infinity) cutAfter = Infinity;
      let sent = 0;
      reply.on('data', (piece: Buffer) => {
        sent += piece.length;
        if (sent > limit) response.destroy();
        else response.write(piece);
      });
      reply.on('end', () => response.end());
    });
    passed.on('error', () => response.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  user.write('large', randomBytes(3 * 1024 * 1024));
  user.write('tree/a', 'a');
  user.write('tree/deep/b', 'b');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function stor(...words: string[]): Promise<Outcome> {
  return user.cloud(['stor', ...words, '--stor-url', url]);
}

async function expectWell(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await stor(...words);
  expect([words, code, stderr.replace(/^.* -> .*\n/gm, '')]).toEqual([words, 0, '']);
  return stdout;
}

test('a service without HEAD is asked by GET, and only once for what it has not', async () => {
  await expectWell('mkdir', '-p', 'd/e', '-q');
  await expectWell('put', 'large', 'd/e/large', '-q');
  asked.length = 0;
  await expectWell('put', '-r', 'tree', 'd/tree', '-q');
  // Two ways of sending, of which each finds out for itself.
  expect(asked.filter((method) => method === 'HEAD').length).toBeLessThanOrEqual(2);
  await expectWell('get', '-r', 'd/tree', 'back', '-q');
  expect(readFileSync(join(user.home, 'back/deep/b'), 'utf8')).toBe('b');
  expect((await stor('put', 'large', 'none/large')).stderr).toContain('-p');
  expect(await expectWell('sync', 'tree', 'stor:d/tree', '-o', 'jsonl')).toBe('');
  await expectWell('rm', '-r', '-y', '-q', 'd/tree');
});

test('a download that breaks, and one with a beginning, are fetched whole where parts are not to be had', async () => {
  const whole = readFileSync(join(user.home, 'large'));
  cutAfter = 2 * 1024 * 1024;
  await expectWell('get', 'd/e/large', 'broken', '-q');
  expect(cutAfter).toBe(Infinity);
  expect(readFileSync(join(user.home, 'broken')).equals(whole)).toBe(true);
  writeFileSync(join(user.home, 'begun'), whole.subarray(0, 2_000_000));
  await expectWell('get', 'd/e/large', 'begun', '--continue', '-q');
  expect(readFileSync(join(user.home, 'begun')).equals(whole)).toBe(true);
  // Fetched whole, the object proves that this is no beginning of it.
  const other = randomBytes(2_000_000);
  writeFileSync(join(user.home, 'other'), other);
  const { code, stderr } = await stor('get', 'd/e/large', 'other', '--continue');
  expect([code, stderr]).toEqual([1, expect.stringContaining('other is not the beginning of /demo/stor/d/e/large: left alone')]);
  expect(readFileSync(join(user.home, 'other')).equals(other)).toBe(true);
});

test('where links are off, cp says so and copies through this machine when asked to', async () => {
  const refused = await stor('cp', 'd/e/large', 'd/copy');
  expect([refused.code, refused.stderr]).toEqual([4, expect.stringMatching(/SnaplinksDisabled[^]*hint: .*--copy/)]);
  await expectWell('cp', 'd/e/large', 'd/copy', '--copy', '-q');
  const { stdout } = await user.shell('cloud stor get d/copy | cmp - large && echo same');
  expect(stdout).toBe('same\n');
});
