import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openGatewayHome, type GatewayHome, type Told } from '../support/gateway-process.ts';
import { openPostgres } from '../../src/server/store/postgres/open.ts';
import { runStatement } from '../support/postgres.ts';

/** Each gateway tells its own public addresses, whichever of them started last. */

let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

type Lists = Record<'services' | 'datacenters', { name: string; url: string }[]>;

async function readLists({ computeUrl, storUrl }: Told): Promise<Lists> {
  const words = ['--url', computeUrl, '--stor-url', storUrl, '--key-file', join(home.sandbox.home, 'key.pem')];
  await home.sandbox.json('profile', 'create', 'team', '--account', 'alice', ...words, '--force');
  return { services: await home.sandbox.json('services', 'list'), datacenters: await home.sandbox.json('datacenters', 'list') };
}

/** The URL of the object storage that workers read. */
async function readStored(): Promise<string | undefined> {
  const db = await openPostgres(home.url, 1);
  try {
    return (await db.selectFrom('services').select('url').where('name', '=', 'storage').executeTakeFirst())?.url;
  } finally {
    await db.destroy();
  }
}

test("from its options, else of its own ports; rows of other names are an operator's", async () => {
  const first = await home.start('--http', '--public-url', 'https://a.example.com', '--stor-public-url', 'https://b.example.com');
  expect(await readLists(first.told)).toEqual({
    services: [
      { name: 'compute', url: 'https://a.example.com' },
      { name: 'storage', url: 'https://b.example.com' },
    ],
    datacenters: [{ name: 'local', url: 'https://a.example.com' }],
  });
  first.child.kill('SIGTERM');
  expect(await first.ended).toBe(0);
  await runStatement(home.url, "insert into datacenters values ('east', 'https://east.example.com')");
  await runStatement(home.url, "insert into services values ('docs', 'https://docs.example.com')");
  const second = await home.start('--http');
  // Workers read the row: a port of this machine does not replace what clients use, another URL that is given does.
  expect(await readStored()).toBe('https://b.example.com');
  const { computeUrl, storUrl } = second.told;
  expect(await readLists(second.told)).toEqual({
    services: [
      { name: 'compute', url: computeUrl },
      { name: 'docs', url: 'https://docs.example.com' },
      { name: 'storage', url: storUrl },
    ],
    datacenters: [
      { name: 'east', url: 'https://east.example.com' },
      { name: 'local', url: computeUrl },
    ],
  });
  const third = await home.start('--http', '--stor-public-url', 'https://c.example.com');
  expect(await readStored()).toBe('https://c.example.com');
  for (const { child } of [second, third]) child.kill('SIGTERM');
  await Promise.all([second.ended, third.ended]);
  await runStatement(home.url, "update services set url = 'http://127.0.0.1:1' where name = 'storage'");
  const fourth = await home.start('--http');
  expect(await readStored()).toBe(fourth.told.storUrl);
});
