import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  awaitResponse,
  beginRequest,
  openGatewayHome,
  readText,
  type GatewayHome,
  type GatewayProcess,
} from '../support/gateway-process.ts';
import { readMetrics, series, type Family } from '../support/prometheus.ts';
import { runStatement } from '../support/postgres.ts';

/** What an operator sees of a gateway: the admin port and the log. */

const patient = { timeout: 20_000 };
let home: GatewayHome;
let gateway: GatewayProcess;

beforeAll(async () => {
  home = await openGatewayHome();
  gateway = await home.start('--http', '--admin-port', '0', '--no-collect');
});
afterAll(() => home.remove());

const ask = async (path: string, method = 'GET'): Promise<{ status: number; text: string; type: string | null }> => {
  const response = await fetch(`${gateway.told.adminUrl ?? ''}${path}`, { method });
  return { status: response.status, text: await response.text(), type: response.headers.get('content-type') };
};
const readAll = async (): Promise<ReadonlyMap<string, Family>> => readMetrics((await ask('/--metrics')).text);
const read = async (name: string, labels: Record<string, string> = {}): Promise<number | undefined> => {
  const all = await readAll();
  const family = [...all.values()].find((each) => name === each.name || each.samples.has(series(name, labels)));
  return family?.samples.get(series(name, labels));
};
const send = async (method: string, path: string, body = '', headers: Record<string, string> = {}): Promise<number | undefined> => {
  const request = beginRequest(home, gateway.told, method, path, { headers: { 'content-length': String(body.length), ...headers } });
  const waiting = awaitResponse(request);
  request.end(body);
  const response = await waiting;
  await readText(response);
  return response.statusCode;
};
const find = async (part: string): Promise<Record<string, unknown>> => {
  await expect.poll(() => gateway.lines().some((line) => line.includes(part)), patient).toBe(true);
  return JSON.parse(gateway.lines().find((line) => line.includes(part)) ?? '') as Record<string, unknown>;
};

test('the first line says where it serves; the admin port is on this machine alone', () => {
  const [first = ''] = gateway.lines();
  expect(JSON.parse(first)).toEqual({
    computeUrl: expect.stringMatching(/^http:\/\/localhost:\d+$/u),
    storUrl: expect.stringMatching(/^http:\/\/localhost:\d+$/u),
    adminUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/u),
    pid: gateway.child.pid,
    gateway: expect.stringMatching(/^[\da-f-]{36}$/u),
  });
});

test('live and ready; other paths and methods are refused', async () => {
  expect(await ask('/--live')).toMatchObject({ status: 200, text: 'live\n' });
  expect(await ask('/--ready?from=balancer')).toMatchObject({ status: 200, text: 'ready\n' });
  expect(await ask('/--live', 'HEAD')).toMatchObject({ status: 200, text: '' });
  expect((await ask('/')).status).toBe(404);
  expect((await ask('/--ready', 'POST')).status).toBe(405);
});

test('metrics count what was done', async () => {
  const [puts, bytes] = [{ service: 'storage', operation: 'putobject', status: '204' }, { service: 'storage' }];
  const before = [(await read('cloud_requests_total', puts)) ?? 0, await read('cloud_request_bytes_total', bytes)];
  expect(await send('PUT', '/alice/stor/counted', 'x'.repeat(40_000))).toBe(204);
  expect(await send('GET', '/alice/stor/counted')).toBe(200);
  expect(await send('GET', '/alice/stor/missing')).toBe(404);
  await expect.poll(() => read('cloud_requests_total', { ...puts, operation: 'getobject', status: '404' }), patient).toBe(1);
  const { type } = await ask('/--metrics');
  expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect([await read('cloud_requests_total', puts), await read('cloud_request_bytes_total', bytes)]).toEqual([
    (before[0] ?? 0) + 1,
    (before[1] ?? 0) + 40_000,
  ]);
  expect(await read('cloud_response_bytes_total', bytes)).toBeGreaterThanOrEqual(40_000);
  expect(await read('cloud_request_duration_seconds_count', { service: 'storage', operation: 'putobject' })).toBe(1);
  expect(await read('cloud_requests_running', bytes)).toBe(0);
  expect(await read('cloud_database_writes_total')).toBeGreaterThan(0);
  expect(await read('cloud_ready')).toBe(1);
  const all = await readAll();
  const others =
    'cloud_build_info cloud_connections cloud_lease_age_seconds cloud_database_connections cloud_database_waiting ' +
    'cloud_database_write_retries_total cloud_event_loop_delay_seconds process_resident_memory_bytes';
  for (const name of others.split(' ')) expect(all.get(name)?.samples.size, name).toBeGreaterThan(0);
  // Without TLS there is no certificate to end.
  expect(all.get('cloud_certificate_end_timestamp_seconds')?.samples.size).toBe(0);
});

test('metrics tell of garbage: noted by this gateway, waiting and for how long in the whole cluster', { timeout: 90_000 }, async () => {
  const noted = (await read('cloud_garbage_noted_total')) ?? 0;
  expect(await send('PUT', '/alice/stor/garbage', 'x'.repeat(40_000))).toBe(204);
  expect(await send('PUT', '/alice/stor/garbage', 'y'.repeat(40_000))).toBe(204);
  expect(await send('DELETE', '/alice/stor/garbage')).toBe(204);
  expect(await read('cloud_garbage_noted_total')).toBe(noted + 2);
  // Of a week ago, so that it is the oldest; this gateway looks every few seconds.
  await runStatement(home.url, "insert into garbage (bytes, noted) values ('of-a-week-ago', clock_timestamp() - interval '7 days')");
  await expect.poll(() => read('cloud_garbage_oldest_age_seconds'), { timeout: 40_000 }).toBeGreaterThan(6 * 86_400);
  expect(await read('cloud_garbage_waiting')).toBeGreaterThan(0);
  await runStatement(home.url, 'delete from garbage');
  await expect.poll(() => read('cloud_garbage_waiting'), { timeout: 40_000 }).toBe(0);
  expect(await read('cloud_garbage_oldest_age_seconds')).toBe(0);
  const all = await readAll();
  expect([...(all.get('cloud_garbage_removed_total')?.samples.keys() ?? [])]).toEqual([
    series('cloud_garbage_removed_total', { why: 'unused' }),
    series('cloud_garbage_removed_total', { why: 'orphan' }),
    series('cloud_garbage_removed_total', { why: 'unfinished' }),
  ]);
});

test('each request is one line with its id, and nothing in it is secret', async () => {
  const id = '5f0c9c3e-3f4b-4d0e-9a53-5f2f6f1f7a11';
  expect(await send('PUT', '/alice/stor/logged?x=1', 'hello', { 'x-request-id': id })).toBe(204);
  expect(await find(id)).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/u),
    requestId: id,
    service: 'storage',
    operation: 'putobject',
    method: 'PUT',
    path: '/alice/stor/logged?x=1',
    status: 204,
    ms: expect.any(Number),
    bytesIn: 5,
    bytesOut: 0,
    address: '127.0.0.1',
    account: 'alice',
    gateway: gateway.told.gateway,
  });
  const secret = 'hush-hush-4711';
  await send('GET', `/alice/stor/logged?signature=${secret}&expires=1&algorithm=rsa-sha256&keyId=/alice/keys/x`);
  await send('GET', `/alice/stor/logged?%73ignature=${secret}&password=${secret}`);
  await send('GET', '/alice/stor/logged', '', { authorization: `Signature ${secret}`, cookie: secret });
  await fetch(`${gateway.told.storUrl}/alice/public/${'y'.repeat(3000)}`);
  await find('yyyy');
  expect(gateway.lines().join('\n')).not.toContain(secret);
  for (const line of gateway.lines()) expect([JSON.parse(line), line.length < 3000]).toEqual([expect.any(Object), true]);
});

test('a client that goes away is logged as such', async () => {
  const request = beginRequest(home, gateway.told, 'PUT', '/alice/stor/gone', { headers: { 'content-length': '100' } });
  request.on('error', () => undefined);
  request.write('1234567');
  await expect.poll(() => read('cloud_requests_running', { service: 'storage' }), patient).toBe(1);
  request.destroy();
  expect(await find('/alice/stor/gone')).toMatchObject({ operation: 'putobject', aborted: true });
  await expect.poll(() => read('cloud_requests_aborted_total', { service: 'storage' }), patient).toBe(1);
  expect(await read('cloud_requests_running', { service: 'storage' })).toBe(0);
});

test('the database does not decide whether it is ready, the lease does', async () => {
  await runStatement(home.url, 'alter table accounts rename to away');
  try {
    expect(await send('GET', '/alice/stor')).toBeGreaterThanOrEqual(500);
    expect((await ask('/--ready')).status).toBe(200);
  } finally {
    await runStatement(home.url, 'alter table away rename to accounts');
  }
  expect(await send('GET', '/alice/stor')).toBe(200);
});
