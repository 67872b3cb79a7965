import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** What `cloud conformance` says of its options and of services; what it finds is proven in `test/proof/conformance.test.ts`. */

const user = useShared();

async function check(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return user.here(['conformance', '-o', 'jsonl', ...words]);
}

it('says what is wrong with options and services in one line', async () => {
  const wrong = await check('--check', 'storage/put-objects');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('unknown check')]);
  expect((await check('--import-image', 'local-2')).code).toBe(2);
  const away = await check('--stor-url', 'https://127.0.0.1:1', '--url', 'https://127.0.0.1:1', '--retries', '0');
  expect([away.code, away.stdout]).toEqual([1, '']);
});

it('checks one statement, and leaves nothing', async () => {
  const { code, stdout } = await check('--check', 'storage/put-object');
  expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ id: 'storage/put-object', result: 'as specified' })]);
  expect((await user.here(['stor', 'find', '~~', '-o', 'name'])).stdout).not.toContain('conformance-');
});

const proxies: { close(): void; closeAllConnections(): void }[] = [];
afterEach(() => {
  for (const proxy of proxies.splice(0)) {
    proxy.close();
    proxy.closeAllConnections();
  }
});

/** A service below `/cloud`, and the targets that it was asked for. */
async function startBelowPath(target: string): Promise<{ url: string; targets: string[] }> {
  const targets: string[] = [];
  const forward = (incoming: IncomingMessage): string => {
    targets.push(incoming.url ?? '');
    return target + (incoming.url ?? '').replace(/^\/cloud/u, '');
  };
  const proxy = createServer((incoming, response) => {
    const { method, headers } = incoming;
    const sent = request(forward(incoming), { method, headers, rejectUnauthorized: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(sent);
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => void proxy.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/cloud`, targets };
}

it('asks a service whose URL has a path below that path, by signed URLs too', async () => {
  const { local } = user;
  const compute = await startBelowPath(local.computeUrl);
  const storage = await startBelowPath(local.storUrl);
  await check('--check', 'compute/signed-url', '--check', 'storage/signed-url', '--url', compute.url, '--stor-url', storage.url);
  const signed = (targets: readonly string[]): string[] =>
    targets.filter((each) => each.includes('signature=')).map((each) => each.split('/').slice(0, 3).join('/').replace(/\?.*/u, ''));
  expect([new Set(signed(compute.targets)), new Set(signed(storage.targets))]).toEqual([
    new Set(['/cloud/my']),
    new Set([`/cloud/${local.account}`]),
  ]);
});
