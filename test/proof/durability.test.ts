import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { readAll } from '../../src/api/message.ts';
import { createSocketSender } from '../../src/http/sockets.ts';
import { loadPrivateKey } from '../support/private-key.ts';
import { createAuthorizer } from '../../src/auth/authorization.ts';
import { useLocal, type LocalInfo } from '../support/sandbox.ts';

const user = useLocal();

/** Stores objects by plain signed HTTP, which tells more exactly than a command what was acknowledged. */
async function connect({ keyFile, keyId, caFile, account }: LocalInfo) {
  const signer = await loadPrivateKey(keyFile);
  const authorizer = createAuthorizer({ signer, service: 'storage', keyId: `/${account}/keys/${keyId}`, now: Date.now });
  const ca = readFileSync(caFile, 'utf8');
  const sender = createSocketSender({ connectTimeout: 5000, idleTimeout: 20_000, ca, insecure: false, connections: 64 });
  return {
    put: async (url: URL, body: Uint8Array): Promise<number> => {
      const headers = { ...(await authorizer.headers()), 'content-length': String(body.length) };
      const response = await sender.send({ method: 'PUT', url, headers, body });
      await readAll(response.body);
      return response.status;
    },
    close: () => sender.close(),
  };
}

const count = 1000;

test('kill -9 in the middle of 1,000 concurrent puts: what was answered 204 is there whole, the rest whole or not at all', async () => {
  await user.cloud(['stor', 'mkdir', 'puts']);
  const { put, close } = await connect(user.local);
  const contents = Array.from({ length: count }, (_, at) => randomBytes(1000 + (at % 50) * 997));
  const acknowledged = new Set<number>();
  const statuses: number[] = [];
  const sending = contents.map(async (body, at) => {
    const status = await put(new URL(`/demo/stor/puts/${at}`, user.local.storUrl), body).catch(() => 0);
    statuses.push(status);
    if (status === 204) acknowledged.add(at);
  });
  while (acknowledged.size < count / 4) await sleep(1);
  process.kill(user.local.pid, 'SIGKILL');
  await Promise.all(sending);
  close();
  expect(acknowledged.size).toBeLessThan(count);

  const again = await user.json<LocalInfo>('local', 'start', '--compute-port', '0', '--stor-port', '0');
  expect(again.pid).not.toBe(user.local.pid);
  const listed = await user.json<{ name: string; size: number; contentMD5: string }[]>('stor', 'ls', 'puts', '--columns', 'all');
  const found = new Map(listed.map((entry) => [Number(entry.name), entry]));
  const missing = [...acknowledged].filter((at) => !found.has(at));
  expect(missing).toEqual([]);
  const digest = (body: Uint8Array): string => createHash('md5').update(body).digest('base64');
  const half = [...found].filter(([at, { size, contentMD5 }]) => {
    const body = contents[at] ?? Buffer.alloc(0);
    return size !== body.length || contentMD5 !== digest(body);
  });
  expect(half).toEqual([]);
  // The rows are right; so are the bytes behind them, read back through the tool, which checks each MD5.
  const read = await user.cloud(['stor', 'cat', ...[...found.keys()].map((at) => `puts/${at}`)]);
  expect(read.code).toBe(0);
  expect(read.bytes.equals(Buffer.concat([...found.keys()].map((at) => contents[at] ?? Buffer.alloc(0))))).toBe(true);
});
