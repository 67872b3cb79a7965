import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../src/auth/authority.ts';
import {
  awaitResponse,
  beginRequest,
  openGatewayHome,
  readText,
  type GatewayHome,
  type GatewayProcess,
} from '../support/gateway-process.ts';
import { readMetrics, series } from '../support/prometheus.ts';

/** What a gateway does while it runs and at its end: other certificates, SIGHUP, SIGTERM. */

const patient = { timeout: 25_000 };
let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

function run(program: string, words: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, (error, stdout) => (error ? reject(error) : resolve(stdout)));
    child.stdin?.end(input);
  });
}

/** Serial number of the certificate that openssl is shown at a port. */
async function readSerial(url: string): Promise<string> {
  const shown = await run('openssl', ['s_client', '-connect', new URL(url).host, '-servername', 'localhost']);
  return run('openssl', ['x509', '-noout', '-serial'], shown);
}

const serialOf = ({ certificate }: CertifiedKey): Promise<string> => run('openssl', ['x509', '-noout', '-serial'], certificate);
async function hasLine(gateway: GatewayProcess, part: string): Promise<void> {
  await expect.poll(() => gateway.lines().some((line) => line.includes(part)), patient).toBe(true);
}

test('certificates are replaced while it runs, by SIGHUP or because the files change; a bad pair changes nothing', async () => {
  const authority = await createAuthority('Test');
  const pairs: CertifiedKey[] = [];
  for (let each = 0; each < 3; each += 1) pairs.push(await createServerCertificate(authority, ['localhost', '127.0.0.1']));
  const [first, second, third] = pairs as [CertifiedKey, CertifiedKey, CertifiedKey];
  const { sandbox } = home;
  const write = ({ certificate, key }: CertifiedKey): void => {
    sandbox.write('cert.pem', certificate);
    sandbox.write('tls.pem', key);
  };
  write(first);
  const files = ['--tls-cert', join(sandbox.home, 'cert.pem'), '--tls-key', join(sandbox.home, 'tls.pem')];
  const gateway = await home.start(...files, '--admin-port', '0', '--drain-wait', '0s');
  const { computeUrl, storUrl, adminUrl = '' } = gateway.told;
  expect(await readSerial(computeUrl)).toBe(await serialOf(first));
  const metrics = readMetrics(await (await fetch(`${adminUrl}/--metrics`)).text());
  const end = metrics.get('cloud_certificate_end_timestamp_seconds')?.samples.get(series('cloud_certificate_end_timestamp_seconds'));
  const shown = await run('openssl', ['x509', '-noout', '-enddate'], first.certificate);
  expect((end ?? 0) * 1000).toBe(Date.parse(shown.slice('notAfter='.length)));

  // A connection that is open stays so.
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: authority.certificate });
  const ask = async (): Promise<number | undefined> => {
    const request = beginRequest(home, gateway.told, 'GET', '/alice/stor', { agent, ca: authority.certificate });
    const response = awaitResponse(request);
    request.end();
    const { statusCode } = await response.then(async (each) => (await readText(each), each));
    return statusCode;
  };
  expect(await ask()).toBe(200);
  write({ ...second, key: first.key });
  gateway.child.kill('SIGHUP');
  await hasLine(gateway, 'the certificate was not replaced');
  expect([await readSerial(storUrl), await ask()]).toEqual([await serialOf(first), 200]);
  write(second);
  gateway.child.kill('SIGHUP');
  await expect.poll(() => readSerial(computeUrl), patient).toBe(await serialOf(second));
  expect([await readSerial(storUrl), await ask()]).toEqual([await serialOf(second), 200]);
  // Without a signal.
  write(third);
  await expect.poll(() => readSerial(storUrl), patient).toBe(await serialOf(third));
  expect(gateway.lines().join('\n')).not.toContain('PRIVATE KEY');
  agent.destroy();
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBe(0);
});

test('SIGTERM: not ready at once, new requests are served for a while, those under way are finished', async () => {
  const content = Buffer.alloc(24 * 1024 * 1024, 'abcdefg\n');
  const gateway = await home.start('--http', '--admin-port', '0', '--drain-wait', '6s');
  const { told } = gateway;
  const send = async (method: string, path: string, body = ''): Promise<[number | undefined, string | undefined]> => {
    const request = beginRequest(home, told, method, path, { headers: { connection: 'keep-alive', 'content-length': `${body.length}` } });
    const response = awaitResponse(request);
    request.end(body);
    const { statusCode, headers } = await response.then(async (each) => (await readText(each), each));
    return [statusCode, headers.connection];
  };
  const put = beginRequest(home, told, 'PUT', '/alice/stor/large', { headers: { 'content-length': `${content.length}` } });
  const stored = awaitResponse(put);
  put.end(content);
  expect((await stored).statusCode).toBe(204);
  expect(await send('PUT', '/alice/stor/small', 'x')).toEqual([204, 'keep-alive']);

  // A download whose client has read its head alone, and an upload whose client has sent half.
  const get = beginRequest(home, told, 'GET', '/alice/stor/large');
  const download = awaitResponse(get);
  get.end();
  const half = beginRequest(home, told, 'PUT', '/alice/stor/slow', { headers: { 'content-length': '10' } });
  const uploaded = awaitResponse(half);
  half.write('12345');
  const running = async (): Promise<number | undefined> =>
    readMetrics(await (await fetch(`${told.adminUrl ?? ''}/--metrics`)).text())
      .get('cloud_requests_running')
      ?.samples.get(series('cloud_requests_running', { service: 'storage' }));
  const shown = await download;
  shown.pause();
  await expect.poll(running, patient).toBe(2);

  gateway.child.kill('SIGTERM');
  await hasLine(gateway, '"stopping"');
  const ready = await fetch(`${told.adminUrl ?? ''}/--ready`);
  expect([ready.status, await ready.text()]).toEqual([503, 'not ready: draining\n']);
  expect((await fetch(`${told.adminUrl ?? ''}/--live`)).status).toBe(200);
  expect(await send('GET', '/alice/stor/small')).toEqual([200, 'close']);
  // Until nothing is accepted any more.
  await expect
    .poll(() => send('GET', '/alice/stor/small').catch((error: unknown) => (error as NodeJS.ErrnoException).code), patient)
    .toBe('ECONNREFUSED');
  half.end('67890');
  expect((await uploaded).statusCode).toBe(204);
  const digest = createHash('md5');
  for await (const piece of shown) digest.update(piece as Buffer);
  expect(digest.digest('hex')).toBe(createHash('md5').update(content).digest('hex'));
  expect(await gateway.ended).toBe(0);
  expect(gateway.lines().filter((line) => line.includes('"aborted"'))).toEqual([]);
});

test('a second SIGTERM ends it at once', async () => {
  const gateway = await home.start('--http', '--drain-wait', '1h');
  gateway.child.kill('SIGTERM');
  await hasLine(gateway, '"stopping"');
  const end = gateway.ended.then(() => true);
  // Within 0.2 s it counts as the first once more.
  for (let hasEnded = false; !hasEnded; hasEnded = await Promise.race([end, sleep(50, false)])) gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBe('SIGTERM');
});
