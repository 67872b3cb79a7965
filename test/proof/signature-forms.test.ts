import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBadService, type BadService } from '../support/bad-service.ts';
import { useLocal } from '../support/sandbox.ts';

/** Signatures as they are sent. */

const user = useLocal();
/** Knows only the later form of a signature's header, and takes its time to refuse the other. */
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
  for (const words of [
    ['api', '/my/keys'],
    ['roles', 'tags', 'get', 'keys'],
  ]) {
    rmSync(remembered);
    expect(await user.cloud([...words, '--url', service.url, '--key-file', 'curve'])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(remembered, 'utf8')).toContain('"draft"');
  }
});

test('a signature serves for the second of its date, or for as long as signWindow says: a key that wants to be touched is touched once', async () => {
  const slow = await startBadService(async (socket) => {
    await sleep(1100);
    socket.write(`HTTP/1.1 200 OK\r\nDate: ${new Date().toUTCString()}\r\nContent-Length: 2\r\n\r\nok`);
  });
  const profiles = join(user.home, '.config/cloud/profiles');
  const profile = JSON.parse(readFileSync(join(profiles, 'local.json'), 'utf8')) as object;
  writeFileSync(join(profiles, 'touch.json'), JSON.stringify({ ...profile, signWindow: '240' }));
  const listSignatures = async (name: string): Promise<string[]> => {
    const { code, stdout } = await user.cloud(['stor', 'cat', `${name}/1`, `${name}/2`, '--profile', name, '--stor-url', slow.url]);
    expect([code, stdout]).toEqual([0, 'okok']);
    return slow.requests.filter((head) => head.includes(`/stor/${name}/`)).map((head) => /^authorization: (.*)$/imu.exec(head)?.[1] ?? '');
  };
  const lists = [await listSignatures('touch'), await listSignatures('local')];
  await slow.close();
  expect(lists.map((list) => [list.length, new Set(list).size])).toEqual([
    [2, 1],
    [2, 2],
  ]);
});
