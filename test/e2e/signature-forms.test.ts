import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBadService, type BadService } from '../support/bad-service.ts';
import { useLocal } from '../support/sandbox.ts';

/** A service that knows only the later form of a signature's header, and takes its time to refuse the other. */

const user = useLocal();
let service: BadService;

beforeAll(async () => {
  service = await startBadService(async (socket, head) => {
    const isKnown = head.includes('signature="');
    if (!isKnown) await sleep(200);
    const known = head.includes('/datacenters ') ? '{}' : '[]';
    const body = isKnown ? known : '{"code":"InvalidHeader","message":"no signature"}';
    socket.write(
      `HTTP/1.1 ${isKnown ? '200 OK' : '400 Bad Request'}\r\nDate: ${new Date().toUTCString()}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
  await user.shell("ssh-keygen -q -t ecdsa -b 256 -N '' -f curve");
});
afterAll(() => service.close());

test('several requests at once, with an ECDSA key: each is tried again in the later form, which is remembered', async () => {
  const line = ['rbac', 'export', '--url', service.url, '--key-file', 'curve'];
  const first = await user.cloud(line);
  expect([first.code, first.stderr]).toEqual([0, '']);
  expect(service.requests.filter((head) => !head.includes('signature="')).length).toBeGreaterThan(1);
  const before = service.requests.length;
  expect((await user.cloud(line)).code).toBe(0);
  expect(service.requests.slice(before).filter((head) => !head.includes('signature="'))).toEqual([]);
  const remembered = join(user.home, '.local/state/cloud/signing.json');
  expect(readFileSync(remembered, 'utf8')).toContain('"draft"');
});
