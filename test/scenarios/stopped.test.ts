import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** A command that was stopped for longer than `--timeout` (Ctrl-Z) goes on: the service was not silent. */

const user = useShared('--http');
const secure = useShared();
const timeoutMs = 2000;
const stoppedMs = 2 * timeoutMs;
const mebibyte = 1024 * 1024;

beforeAll(async () => {
  writeFileSync(join(user.home, 'big'), Buffer.alloc(40 * mebibyte, 'x'));
  await user.here(['stor', 'put', 'big', 'big']);
});

/** Relays connections to a service, and calls `stop` once, when this many bytes have passed; meanwhile nothing passes. */
async function relay(target: string, sent: number, received: number, stop: (close: () => void) => Promise<void>) {
  const { protocol, hostname, port } = new URL(target);
  const left = { sent, received };
  let isStopped = false;
  let connections = 0;
  const server = createServer((near) => {
    connections += 1;
    const far = connect(Number(port), hostname);
    const pass = (from: Socket, to: Socket, direction: 'sent' | 'received'): void => {
      from.on('error', () => undefined).on('close', () => to.destroy());
      from.on('data', (bytes: Buffer) => {
        to.write(bytes);
        left[direction] -= bytes.length;
        if (isStopped || left.sent > 0 || left.received > 0) return;
        isStopped = true;
        near.pause();
        far.pause();
        const resume = (): void => void [near.resume(), far.resume()];
        stop(() => near.destroy()).then(resume, resume);
      });
    };
    pass(near, far, 'sent');
    pass(far, near, 'received');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `${protocol}//localhost:${(server.address() as AddressInfo).port}`, close: () => server.close(), count: () => connections };
}

const waits: [string, string, number, number, boolean, typeof user?][] = [
  ['a response', 'images list', 1, 0, false],
  ['the TLS handshake', 'images list', 1, 0, false, secure],
  ['the rest of a download', 'stor get big got', 1, 3 * mebibyte, false],
  ['the rest of an upload', 'stor put big put', 3 * mebibyte, 0, false],
  ['a response, whose connection is closed', 'images list', 1, 0, true],
  ['the rest of a download, whose connection is closed', 'stor get big again', 1, 3 * mebibyte, true],
];
test.concurrent.each(waits)('while it waits for %s', async (_, line, sent, received, isCut, { local, home, env } = user) => {
  const { storUrl, computeUrl } = local;
  const between = await relay(line.startsWith('stor') ? storUrl : computeUrl, sent, received, async (close) => {
    run.child.kill('SIGSTOP');
    await sleep(stoppedMs);
    if (isCut) close();
    // What the relay passes on from now on arrives at a process that is stopped.
    setTimeout(() => run.child.kill('SIGCONT'), 200);
  });
  function start() {
    const urls = ['--url', between.url, '--stor-url', between.url, '--timeout', `${timeoutMs}ms`];
    const child = spawn('cloud', [...line.split(' '), ...urls], { cwd: home, env, stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
    return { child, end: once(child, 'close').then(([code]) => ({ code: code as number | null, stderr })) };
  }
  const run = start();
  const { code, stderr } = await run.end;
  between.close();
  expect(stderr).not.toMatch(/too long|in time/);
  if (isCut) expect(between.count()).toBeGreaterThan(1);
  expect(code).toBe(0);
  const [verb, , name] = line.split(' ').slice(1);
  if (verb === 'get') expect(readFileSync(join(user.home, name ?? '')).length).toBe(40 * mebibyte);
});
