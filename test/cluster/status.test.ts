import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/cluster-database.ts';
import { openGatewayHome, type GatewayHome } from '../support/gateway-process.ts';
import { runStatement } from '../support/postgres.ts';

/** What an operator is shown of all gateways of a database. */

let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

interface Shown {
  readonly code: number | null;
  readonly rows: readonly { item: string; state: string; id?: string; count?: number; detail: string; address?: string }[];
  readonly stderr: string;
}

async function show(): Promise<Shown> {
  const words = ['server', 'status', '--database-file', join(home.sandbox.home, 'database'), '-j'];
  const { code, stdout, stderr } = await home.sandbox.here(words);
  return { code, rows: JSON.parse(stdout) as Shown['rows'], stderr };
}

test('none serves, two serve, one is lost, one has gone in order', async () => {
  const before = await show();
  expect([before.code, before.rows.find(({ item }) => item === 'gateway')]).toEqual([1, expect.objectContaining({ state: 'none' })]);
  expect(before.stderr).toContain('gateway none');

  const [first, second] = [await home.start('--http'), await home.start('--http')];
  const served = await show();
  const gateways = served.rows.filter(({ item }) => item === 'gateway');
  expect([served.code, gateways.map(({ state }) => state)]).toEqual([0, ['ok', 'ok']]);
  expect(gateways.map(({ id }) => id)).toEqual([first.told.gateway, second.told.gateway]);
  expect(gateways[0]).toMatchObject({
    address: expect.stringContaining(`process ${first.told.pid} of `),
    version: expect.any(String),
    started: expect.stringMatching(/Z$/u),
    until: expect.stringMatching(/Z$/u),
    oldest: expect.stringMatching(/Z$/u),
  });
  expect(served.rows.map(({ item, state }) => [item, state])).toEqual([
    ['schema', 'ok'],
    ['gateway', 'ok'],
    ['gateway', 'ok'],
    ['collector', 'ok'],
    ['garbage', 'ok'],
    ['jobs', 'ok'],
    ['tasks', 'ok'],
  ]);
  expect(served.rows.filter(({ item }) => ['garbage', 'jobs', 'tasks'].includes(item)).map(({ count }) => count)).toEqual([0, 0, 0]);

  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
  expect((await show()).rows.filter(({ item }) => item === 'gateway').map(({ id }) => id)).toEqual([first.told.gateway]);
  // Nobody is left who would forget it.
  first.child.kill('SIGKILL');
  await first.ended;
  await runStatement(home.url, "update gateways set until = clock_timestamp() - interval '1 minute'");
  const lost = await show();
  expect([lost.code, lost.rows.filter(({ item }) => item === 'gateway').map(({ state }) => state)]).toEqual([1, ['lost', 'none']]);
});

test('tables of another release', async () => {
  const { url, drop } = await createDatabase({ isEmpty: true });
  home.sandbox.write('empty', `${url}\n`);
  const { code, stdout } = await home.sandbox.here(['server', 'status', '--database-file', join(home.sandbox.home, 'empty')]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/schema +old .*version 0, this release has \d+: cloud server migrate/u)]);
  await drop();
  await runStatement(home.url, 'insert into steps (number, done) values (1000, 0)');
  const newer = await show();
  expect([newer.code, newer.rows[0]]).toEqual([1, expect.objectContaining({ item: 'schema', state: 'newer', count: 1000 })]);
});
