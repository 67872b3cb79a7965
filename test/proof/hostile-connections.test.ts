import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { collectable, readLiveMemory } from '../support/collect-garbage.ts';
import { expectLoadBack, expectPings, ping, readLoad, readSettledLoad } from '../support/service-load.ts';
import { report } from '../support/figures.ts';
import { useSandbox, type LocalInfo } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/**
 * Connections that cost a client nothing: silent, pipelined, never read. While they are there the service answers others within a second;
 * when they are gone it is as it was; and `local stop` ends it in any state.
 */

const user = useSandbox();
const sockets: Socket[] = [];
let local: LocalInfo;
let folder = 0;
/** Starts a service with its own data, perhaps with fewer descriptors than usual. */
async function start(limit?: number): Promise<void> {
  folder += 1;
  const line = `cloud local start --profile local --data d${folder} --compute-port 0 --stor-port 0 -j`;
  const { code, stdout, stderr } = await user.shell(limit === undefined ? line : `ulimit -n ${limit} && ${line}`, { env: collectable });
  if (code !== 0) throw new Error(stderr);
  local = JSON.parse(stdout) as LocalInfo;
}

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await user.cloud(['local', 'stop', '--data', local.dataDir]);
});

const portOf = (url: string): number => Number(new URL(url).port);

/** A connection, without TLS or with it. */
async function open(url: string, secure: boolean): Promise<Socket> {
  const options = { port: portOf(url), host: '127.0.0.1', rejectUnauthorized: false };
  const socket = secure ? connectTls(options) : connect(options);
  sockets.push(socket);
  socket.on('error', () => undefined);
  await Promise.race([once(socket, secure ? 'secureConnect' : 'connect'), once(socket, 'close')]).catch(() => undefined);
  return socket;
}

/** Files of stored contents. */
function listContents(): string[] {
  const folder = join(local.dataDir, 'bytes');
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

test('an idle connection keeps nothing of its last request', { timeout: 90_000 }, async () => {
  await start();
  await ping(local.computeUrl);
  const live = (): Promise<number> => readLiveMemory(local);
  const earlier = await live();
  const count = 300;
  for (let number = 0; number < count; number += 1) {
    const socket = await open(local.computeUrl, false);
    socket.write(`GET /--ping HTTP/1.1\r\nhost: a\r\nx-long: ${'a'.repeat(15_000)}\r\n\r\n`);
    await once(socket, 'data');
  }
  expect((await live()) - earlier).toBeLessThan(count * 15_000);
});

test('300 silent connections against a limit of 256 descriptors: others are served, nothing is left', { timeout: 90_000 }, async () => {
  await start(256);
  await ping(local.computeUrl);
  const before = await readSettledLoad(local);
  let silent: Socket[] = [];
  await expectPings(local, async () => {
    for (const socket of silent) socket.destroy();
    silent = await Promise.all(
      Array.from({ length: 300 }, (_, number) => open(number % 2 === 0 ? local.computeUrl : local.storUrl, false)),
    );
    const [same, third] = await Promise.all([ping(local.computeUrl), ping(local.computeUrl, { localAddress: '127.0.0.3' })]);
    await sleep(2000);
    expect(Math.max(same, third)).toBeLessThan(15_000);
  });
  expect((await user.cloud(['ping', '--url', local.computeUrl, '--stor-url', local.storUrl, '--ca', local.caFile])).stderr).not.toMatch(
    /reset|refused/u,
  );
  for (const socket of silent) socket.destroy();
  await expect.poll(() => ping(local.computeUrl)).toBeLessThan(1000);
  await expectLoadBack(local, before);
  const logged = await user.shell(`cloud local logs --data ${local.dataDir}`);
  expect(logged.stdout).toMatch(/limit connections reached .*: closed \d+ idle connections/u);
});

test(
  'clients that hold the descriptors of silent connections lose them after the limit of the handshake',
  { timeout: 60_000 },
  async () => {
    await start();
    await ping(local.computeUrl);
    const before = await readSettledLoad(local);
    const silent = await Promise.all(Array.from({ length: 200 }, () => open(local.storUrl, false)));
    // Half of them leave at once, as health checks do.
    for (const socket of silent.slice(100)) socket.end();
    await expect.poll(() => readLoad(local.pid).descriptors).toBeGreaterThan(before.descriptors + 90);
    await expectLoadBack(local, before);
    expect(readLoad(local.pid).descriptors).toBeLessThan(before.descriptors + 20);
  },
);

test('thousands of requests in one write for a large object that nobody reads cost one answer', { timeout: 120_000 }, async () => {
  await start();
  const put = await user.shell(`head -c ${64 * 1024 * 1024} /dev/urandom > big && cloud stor put -q big /demo/public/big`);
  expect([put.code, put.stderr]).toEqual([0, '']);
  const request = 'GET /demo/public/big HTTP/1.1\r\nHost: x\r\n\r\n';
  // Once before the measurement: buffers and code are loaded.
  (await open(local.storUrl, true)).write(request.repeat(10));
  await sleep(1000);
  for (const socket of sockets.splice(0)) socket.destroy();
  await sleep(1000);
  const before = await readSettledLoad(local);
  let most = 0;
  const longest = await expectPings(local, async () => {
    for (let round = 0; round < scale(3, 20); round += 1) {
      for (const count of [1000, 20_000]) {
        const socket = await open(local.storUrl, true);
        socket.pause();
        socket.write(request.repeat(count));
        await sleep(500);
        most = Math.max(most, readLoad(local.pid).memory);
        expect(readLoad(local.pid).descriptors).toBeLessThan(before.descriptors + 20);
        socket.destroy();
      }
    }
  });
  await expectLoadBack(local, before);
  // The content is freed with the object: no answer holds it.
  expect((await user.cloud(['stor', 'rm', '/demo/public/big', '-y'])).code).toBe(0);
  const isFreed = (): boolean => listContents().every((file) => statSync(file).size < 64 * 1024 * 1024);
  await expect.poll(isFreed).toBe(true);
  report('proof', {
    name: 'pipelined requests for 64 MiB that nobody reads, 1,000 and 20,000 in a write: most memory above the start',
    ours: `${Math.max(0, (most - before.memory) >> 20)} MiB; longest ping meanwhile ${longest.toFixed(0)} ms`,
    promise: 'ping within 1 s; afterwards at most 20 descriptors and 25 MiB in use above the start',
  });
});

describe('local stop ends the service', () => {
  /** Stops the service within 10 s, and what it said. */
  async function stop(): Promise<string> {
    const started = performance.now();
    const { code, stderr } = await user.cloud(['local', 'stop', '--data', local.dataDir]);
    expect([code, performance.now() - started < 10_000]).toEqual([0, true]);
    expect(existsSync(`/proc/${local.pid}/exe`)).toBe(false);
    expect((await user.cloud(['local', 'stop', '--data', local.dataDir])).stderr).toBe('Not running\n');
    return stderr;
  }

  test('with silent, half sent and stalled requests', { timeout: 60_000 }, async () => {
    await start();
    await user.shell('head -c 30000000 /dev/urandom > big && cloud stor put -q big /demo/public/big');
    for (const url of [local.computeUrl, local.storUrl]) await open(url, false);
    (await open(local.storUrl, true)).write('GET /demo/public/big HT');
    const stalled = await open(local.storUrl, true);
    stalled.pause();
    stalled.write('GET /demo/public/big HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(50));
    (await open(local.computeUrl, true)).write('POST /my/keys HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    await sleep(300);
    expect(await stop()).toBe('Stopped\n');
  });

  test('that is suspended, or hangs', { timeout: 60_000 }, async () => {
    await start();
    process.kill(local.pid, 'SIGSTOP');
    expect(await stop()).toBe(`Killed process ${local.pid}, which did not end in time\n`);
    await start();
    await expect.poll(() => ping(local.computeUrl)).toBeLessThan(1000);
  });

  test('whose run file is gone: it is known by its database', { timeout: 60_000 }, async () => {
    await start();
    rmSync(join(local.dataDir, 'run.json'));
    const { stderr } = await user.cloud(['local', 'reset', '-y', '--data', local.dataDir]);
    expect(stderr).toBe('The services have the state of their first start\n');
    expect(await stop()).toBe('Stopped\n');
  });
});
