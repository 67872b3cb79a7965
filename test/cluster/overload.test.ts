import { afterAll, beforeAll, expect, test } from 'vitest';
import { awaitResponse, beginRequest, openGatewayHome, readText, type GatewayHome, type Told } from '../support/gateway-process.ts';
import { readMetrics } from '../support/prometheus.ts';

/** Rates of accounts that gateways share, and gateways that get more than they may have under way. */

let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

const admin = ['--http', '--admin-port', '0', '--drain-wait', '0s'];

async function askStatus(told: Told): Promise<[status: number, again: string | undefined]> {
  const request = beginRequest(home, told, 'GET', '/alice/stor');
  request.end();
  const response = await awaitResponse(request);
  await readText(response);
  return [response.statusCode ?? 0, response.headers['retry-after']];
}

/** Requests that a limit refused, as a gateway counts them. */
async function countRefused({ adminUrl = '' }: Told, limit: string): Promise<number> {
  const family = readMetrics(await (await fetch(`${adminUrl}/--metrics`)).text()).get('cloud_requests_refused_total');
  return [...(family?.samples ?? [])].filter(([name]) => name.includes(`"${limit}"`)).reduce((sum, [, value]) => sum + value, 0);
}

test('two gateways share the rate of an account: what is more gets 429 and Retry-After, and cloud tries again', async () => {
  const gateways = await Promise.all([home.start(...admin), home.start(...admin)]);
  const database = ['--database-file', `${home.sandbox.home}/database`];
  const rate = 1;
  await home.sandbox.json('server', 'accounts', 'limit', 'alice', '--requests', String(rate), ...database);
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 60 }, (_, index) => askStatus(gateways[index % 2]?.told ?? ({} as Told))));
  const seconds = (performance.now() - begun) / 1000;
  const passed = answers.filter(([status]) => status === 200).length;
  const refused = answers.filter(([status]) => status === 429);
  expect(passed + refused.length).toBe(60);
  expect(passed).toBeGreaterThanOrEqual(rate);
  expect(passed).toBeLessThanOrEqual(rate + Math.ceil(seconds * rate));
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every(([, again]) => Number(again) >= 1)).toBe(true);
  const countAll = async (): Promise<number> => {
    const counted = await Promise.all(gateways.map(({ told }) => countRefused(told, 'account-requests')));
    return counted.reduce((sum, count) => sum + count, 0);
  };
  await expect.poll(countAll).toBe(refused.length);
  const profile = {
    CLOUD_URL: gateways[0].told.computeUrl,
    CLOUD_STOR_URL: gateways[0].told.storUrl,
    CLOUD_ACCOUNT: 'alice',
    CLOUD_KEY_FILE: `${home.sandbox.home}/key.pem`,
  };
  for (let count = 0; count < 3; count += 1) {
    const shown = await home.sandbox.here(['stor', 'ls', '/alice'], { env: profile });
    // What was refused is told, and tried again.
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining('stor')]);
  }
  await home.sandbox.json('server', 'accounts', 'limit', 'alice', '--requests', 'none', ...database);
  const free = await Promise.all(gateways.map(({ told }) => askStatus(told)));
  expect(free.map(([status]) => status)).toEqual([200, 200]);
  for (const { child } of gateways) child.kill('SIGKILL');
});

test('a gateway that has too much to do refuses with 503 and Retry-After, stays ready, and finishes what it has begun', async () => {
  const most = 4;
  const { child, told } = await home.start(...admin, '--limit', `running-requests=${most}`);
  // Uploads whose bodies do not end: each asks before it sends.
  const open = Array.from({ length: 20 }, (_, index) => {
    const headers = { expect: '100-continue', 'content-length': '10' };
    const request = beginRequest(home, told, 'PUT', `/alice/stor/slow${index}`, { headers, agent: false });
    // Of a refused one the connection is closed before its body.
    request.on('error', () => undefined);
    request.flushHeaders();
    const accepted = new Promise<undefined>((done) => request.once('continue', () => done(undefined)));
    return { request, response: awaitResponse(request), first: Promise.race([accepted, awaitResponse(request)]) };
  });
  const firsts = await Promise.all(open.map(({ first }) => first));
  const refused = firsts.flatMap((response) => response ?? []);
  expect(refused.map(({ statusCode, headers }) => [statusCode, headers['retry-after']])).toEqual(
    Array.from({ length: open.length - most }, () => [503, '1']),
  );
  const texts = await Promise.all(refused.map(readText));
  expect(texts.every((text) => text.includes('(limit running-requests)'))).toBe(true);
  expect((await askStatus(told))[0]).toBe(503);
  expect((await fetch(`${told.adminUrl}/--ready`)).status).toBe(200);
  await expect.poll(() => countRefused(told, 'running-requests')).toBe(open.length - most + 1);
  // Those that were let in are served.
  const accepted = open.filter((_, index) => firsts[index] === undefined);
  for (const { request } of accepted) request.end('0123456789');
  expect((await Promise.all(accepted.map(({ response }) => response))).map(({ statusCode }) => statusCode)).toEqual(
    accepted.map(() => 204),
  );
  await expect.poll(async () => (await askStatus(told))[0]).toBe(200);
  for (const { request } of open) request.destroy();
  child.kill('SIGKILL');
});
