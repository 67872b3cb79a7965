import { execFile } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openGatewayHome, type GatewayHome } from '../support/gateway-process.ts';

/** A gateway behind a balancer that tells the addresses of clients; curl is the balancer. */

let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

function curl(...words: string[]): Promise<{ code: number; stdout: string }> {
  return new Promise((resolve) => {
    execFile('curl', ['-sS', '--max-time', '20', '-H', 'accept-version: ~9', ...words], (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), stdout }),
    );
  });
}

test('curl with a PROXY header is served, one without is not; elsewhere a header is a bad request', async () => {
  const gateway = await home.start('--tls-dir', `${home.sandbox.home}/tls`, '--proxy-protocol-from', '10.0.0.0/8, 127.0.0.1');
  const { computeUrl, caFile = '' } = gateway.told;
  const url = `${computeUrl.replace('localhost', '127.0.0.1')}/--ping`;
  const status = ['--cacert', caFile, '-o', '/dev/null', '-w', '%{http_code}'];
  // Without a signature; 401 is the answer of the service.
  expect(await curl(...status, '--haproxy-protocol', url)).toEqual({ code: 0, stdout: '401' });
  expect((await curl(...status, url)).code).not.toBe(0);
  const elsewhere = [...status, '--interface', '127.0.0.2'];
  expect(await curl(...elsewhere, url)).toEqual({ code: 0, stdout: '401' });
  expect(await curl(...elsewhere, '--haproxy-protocol', url.replace('https:', 'http:'))).toEqual({ code: 0, stdout: '400' });
  const addresses = (): unknown[] =>
    gateway.lines().flatMap((line) => {
      const { status: answered, address } = JSON.parse(line) as { status?: number; address?: string };
      return answered === undefined ? [] : [[answered, address]];
    });
  const expected = [
    [401, '127.0.0.1'],
    [401, '127.0.0.2'],
    [400, '127.0.0.2'],
  ];
  await expect.poll(addresses).toEqual(expected);
});

test('what is no range of addresses is refused before anything is opened', async () => {
  const { code, stderr } = await home.sandbox.here(['server', 'gateway', ...home.places, '--http', '--proxy-protocol-from', '10.0.0.0/40']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('10.0.0.0/40: is not a range of addresses')]);
});
