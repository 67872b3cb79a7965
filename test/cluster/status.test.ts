import { chmodSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LocalError } from '../../src/base/errors.ts';
import { findChanges, layOutRows, lookAgain, type WatchedRow } from '../../src/commands/server/status-watch.ts';
import { createDatabase } from '../support/cluster-database.ts';
import { createClusterJobs } from '../support/cluster-jobs.ts';
import { openGatewayHome, type GatewayHome } from '../support/gateway-process.ts';
import { runStatement } from '../support/postgres.ts';
import { openTerminal } from '../support/terminal.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

/** What an operator is shown of all gateways of a database. */

let home: GatewayHome;
beforeAll(async () => {
  home = await openGatewayHome();
});
afterAll(() => home.remove());

interface Shown {
  readonly code: number | null;
  readonly rows: readonly { item: string; state: string; id?: string; count?: number; detail: string; address?: string; used?: number }[];
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
    host: hostname(),
    slots: expect.any(Number),
    used: 0,
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

test('tasks that nobody does, a worker with all of its slots taken, and one that is lost', async () => {
  await runStatement(home.url, 'delete from gateways');
  const gateway = await home.start('--http', '--no-jobs');
  const jobs = createClusterJobs(home, () => [gateway]);
  const id = await jobs.create([{ exec: 'sleep 1000' }]);
  await jobs.feed(id, await jobs.putAll(['a', 'b', 'c']), 3);
  const find = ({ rows }: Shown, wanted: string): Shown['rows'] => rows.filter(({ item }) => item === wanted);
  const before = await show();
  expect([before.code, find(before, 'worker'), find(before, 'gateway')]).toEqual([
    1,
    [{ item: 'worker', state: 'none', detail: 'nobody does the 3 tasks that wait' }],
    [expect.objectContaining({ state: 'ok', slots: 0, used: 0 })],
  ]);
  const worker = await startWorkerProcess(home, '--slots', '2');
  try {
    const read = async (): Promise<Shown['rows']> => find(await show(), 'worker');
    await expect.poll(async () => (await read())[0]?.used).toBe(2);
    expect(await read()).toEqual([
      expect.objectContaining({
        state: 'ok',
        id: worker.told.worker,
        host: hostname(),
        slots: 2,
        address: `worker ${worker.told.pid} of ${hostname()}`,
        version: expect.any(String),
        renewed: expect.stringMatching(/Z$/u),
        detail: expect.stringMatching(/^lease renewed \d+ s ago$/u),
      }),
    ]);
    const { code, stdout } = await home.sandbox.here(['server', 'status', '--database-file', join(home.sandbox.home, 'database')]);
    const row = stdout.split('\n').find((line) => line.includes(worker.told.worker)) ?? '';
    expect([code, row.split(/ {2,}/u).slice(0, 4)]).toEqual([0, ['worker', 'ok', worker.told.worker, hostname()]]);
    expect(row).toMatch(/ 2 +2 .*lease renewed/u);
  } finally {
    worker.child.kill('SIGKILL');
    await worker.ended;
  }
  await runStatement(home.url, "update gateways set until = clock_timestamp() - interval '1 minute' where address like 'worker %'");
  const lost = await show();
  expect([lost.code, find(lost, 'worker').map(({ state }) => state)]).toEqual([1, ['lost', 'none']]);
  expect((await jobs.ask('POST', `/alice/jobs/${id}/live/cancel`)).status).toBe(202);
  gateway.child.kill('SIGTERM');
  expect(await gateway.ended).toBe(0);
  await runStatement(home.url, 'delete from gateways');
  await runStatement(home.url, 'delete from jobs');
});

test('tables of another release', async () => {
  const { url, drop } = await createDatabase({ isEmpty: true });
  chmodSync(home.sandbox.write('empty', `${url}\n`), 0o600);
  const { code, stdout } = await home.sandbox.here(['server', 'status', '--database-file', join(home.sandbox.home, 'empty')]);
  expect([code, stdout]).toEqual([1, expect.stringMatching(/schema +old .*version 0, this release has \d+: cloud server migrate/u)]);
  await drop();
  await runStatement(home.url, 'insert into steps (number, done) values (1000, 0)');
  const newer = await show();
  expect([newer.code, newer.rows[0]]).toEqual([1, expect.objectContaining({ item: 'schema', state: 'newer', count: 1000 })]);
});

/** A process of the program, and what it has written. */
function run(...words: string[]): { lines: () => readonly string[]; text: () => string; interrupt: () => Promise<unknown> } {
  const program = resolve(import.meta.dirname, '../../bin/cloud');
  const all = [program, 'server', 'status', '--database-file', join(home.sandbox.home, 'database'), ...words];
  const child = spawn(process.execPath, all, { env: home.sandbox.env });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (stdout += piece));
  const ended = new Promise((done) => child.once('close', done));
  return {
    text: () => stdout,
    lines: () => stdout.split('\n').slice(0, -1),
    interrupt: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}

const patient = { timeout: 60_000 };

test('--watch into a pipe: a line for each change, and records with -o jsonl', async () => {
  await runStatement(home.url, 'delete from steps where number = 1000');
  await runStatement(home.url, 'delete from gateways');
  const [text, json] = [run('--watch', '--watch-interval', '50ms'), run('--watch', '--watch-interval', '50ms', '-o', 'jsonl')];
  const both = async (pattern: RegExp): Promise<void> => {
    for (const { text: read } of [text, json]) await expect.poll(read, patient).toMatch(pattern);
  };
  try {
    await both(/gateway\b.*none/u);
    const gateway = await home.start('--http');
    await both(/gateway\b.*ok/u);
    await runStatement(home.url, "insert into garbage (bytes, noted) values ('x', clock_timestamp())");
    await both(/garbage\b.*1 contents wait/u);
    gateway.child.kill('SIGTERM');
    expect(await gateway.ended).toBe(0);
    await both(/gateway\b.*gone/u);
  } finally {
    await Promise.all([text.interrupt(), json.interrupt()]);
    await runStatement(home.url, 'delete from garbage');
  }
  expect(text.text()).not.toContain('\u001b');
  const seen = json.lines().map((line) => JSON.parse(line) as { time: string; item: string; state: string; id?: string });
  expect(seen.map(({ time }) => Number.isNaN(Date.parse(time)))).not.toContain(true);
  const gateways = seen.filter(({ item }) => item === 'gateway').map(({ state }) => state);
  expect(gateways).toEqual(['none', 'ok', 'gone', 'none']);
  // Ages change at each look, and are no change.
  expect(text.lines().filter((line) => line.includes('  gateway  ')).length).toBe(gateways.length);
});

test('--watch at a terminal draws the table in its place, and leaves the last one', async () => {
  const words = `server status --watch --watch-interval 50ms --database-file ${join(home.sandbox.home, 'database')}`;
  const session = openTerminal(`trap : INT; cloud ${words}; echo; stty -a | tr ' ;' '\\n' | grep -x -e echo -e -echo`, {
    env: home.sandbox.env,
    cwd: home.sandbox.home,
    columns: 60,
    limit: 60_000,
  });
  await session.until(/gateway +none/u);
  await runStatement(home.url, "insert into garbage (bytes, noted) values ('y', clock_timestamp())");
  await session.until(/1 contents wait/u);
  session.type('\u0003');
  const { text, raw } = await session.end();
  expect(text.trimEnd().endsWith('echo')).toBe(true);
  expect(text.split(/\r?\n/u).filter((line) => line.length >= 60)).toEqual([]);
  // Up to the first of its lines, and no other screen.
  const sequences = raw.split('\u001b[').slice(1);
  expect(sequences.some((sequence, at) => /^\d+F$/u.test(sequence) && sequences[at + 1]?.startsWith('J') === true)).toBe(true);
  expect(sequences.filter((sequence) => /^\?(?:1049|25)/u.test(sequence))).toEqual([]);
});

test('--watch goes on while the database is away, and says so once', async () => {
  const looks: (() => readonly WatchedRow[])[] = [
    () => [{ item: 'gateway', state: 'ok', id: 'a', detail: '1' }],
    () => {
      throw new LocalError('no connection');
    },
    () => {
      throw new LocalError('no connection');
    },
    () => [{ item: 'gateway', state: 'ok', id: 'a', detail: '2' }],
  ];
  const stop = new AbortController();
  const look = async (): Promise<readonly WatchedRow[]> => {
    const next = looks.shift();
    if (looks.length === 0) stop.abort();
    return next?.() ?? [];
  };
  const seen: string[] = [];
  for await (const { item, state } of findChanges(lookAgain({ interrupted: stop.signal }, look, 0))) seen.push(`${item} ${state}`);
  expect(seen).toEqual(['gateway ok', 'database away', 'database ok']);
});

test('a gateway that was killed is not reported as one that shut down', async () => {
  const gateway = (id: string, state: WatchedRow['state']): WatchedRow => ({ item: 'gateway', id, state, detail: '' });
  const looks = [[gateway('a', 'ok'), gateway('b', 'ok')], [gateway('a', 'lost')], []];
  const seen: string[] = [];
  for await (const { id, state, detail } of findChanges(Readable.from(looks))) seen.push(`${id} ${state} ${detail}`.trim());
  expect(seen).toEqual(['a ok', 'b ok', 'b gone shut down', 'a lost', 'a gone its expired lease was removed']);
});

test('a table that does not fit says how much is missing', () => {
  const rows = Array.from(
    { length: 9 },
    (_, at) => ({ item: 'gateway', state: 'ok', id: String(at), detail: 'long '.repeat(30) }) as const,
  );
  const laid = layOutRows(rows, 40, 5);
  expect([laid.length, laid.at(-1), laid.every((line) => line.length <= 40)]).toEqual([5, '... 6 more', true]);
});
