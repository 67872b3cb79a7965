import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archiveSettings, baseBackup, restoreMoment, verifyMoment } from '../../src/cli/guides/cluster-files.ts';
import { migrateDatabase } from '../support/cluster-database.ts';
import { awaitResponse, beginRequest, openGatewayHome, type GatewayHome, type GatewayProcess } from '../support/gateway-process.ts';
import { findPostgresPrograms, lacksPostgresTools } from '../support/postgres-programs.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import type { Outcome } from '../support/sandbox.ts';
import { giveAway, unprivileged } from '../support/unprivileged.ts';

/** A cluster goes back to a moment an hour ago, by the commands of the guide: every byte of then is there, if contents were kept for so long. */

const patient = { timeout: 60_000, interval: 100 };
const body = { first: randomBytes(300_000), second: randomBytes(200_000), small: randomBytes(100) };
let server: TestPostgres;
let home: GatewayHome;

/** Rows of a query, on a connection of its own. */
async function query(text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url('cloud') });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Lines of the guide with the places of this test. */
function place(lines: readonly string[], moment = ''): string {
  return lines
    .join('\n')
    .replaceAll('/backup', join(server.folder, 'backup'))
    .replaceAll('/var/lib/postgresql/15', server.folder)
    .replaceAll(/\bmain\b/gu, 'data')
    .replace('2026-11-23 11:00:00+00', moment);
}

/** Types lines as the user of PostgreSQL. */
function type(lines: readonly string[], moment?: string): void {
  const [program, ...words] = [...unprivileged.filter((word) => !['--pdeathsig', 'KILL'].includes(word)), 'bash', '-euo', 'pipefail', '-s'];
  const env = { PATH: `${findPostgresPrograms()}:/usr/bin:/bin`, PGHOST: server.folder, PGUSER: 'cloud' };
  const { status, stderr } = spawnSync(program, words, { cwd: server.folder, env, input: place(lines, moment), encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
}

/** Stores an object, or deletes it, or reads it. @returns its status and bytes */
async function ask(gateway: GatewayProcess, method: string, name: string, content?: Buffer): Promise<[number | undefined, Buffer]> {
  const headers = { 'content-length': String(content?.length ?? 0) };
  const request = beginRequest(home, gateway.told, method, `/alice/stor/${name}`, { headers });
  const answered = awaitResponse(request);
  request.end(content);
  const pieces: Buffer[] = [];
  const response = await answered;
  for await (const piece of response) pieces.push(piece as Buffer);
  return [response.statusCode, Buffer.concat(pieces)];
}

async function put(gateway: GatewayProcess, name: string, content: Buffer): Promise<void> {
  expect((await ask(gateway, 'PUT', name, content))[0]).toBe(204);
}

async function stop({ child, ended }: GatewayProcess): Promise<void> {
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
}

/** Runs `cloud server collect`, with contents in one of the folders. */
function collect(bytes: string, ...words: string[]): Promise<Outcome> {
  const { sandbox } = home;
  const database = ['--database-file', join(sandbox.home, 'database')];
  return sandbox.here(['server', 'collect', ...database, '--bytes', `file://${sandbox.home}/${bytes}`, '-j', ...words]);
}

describe.skipIf(lacksPostgresTools())('an hour ago', () => {
  beforeAll(async () => {
    server = await startPostgres();
    mkdirSync(join(server.folder, 'backup/wal'), { recursive: true });
    giveAway(join(server.folder, 'backup'));
    appendFileSync(join(server.folder, 'data/postgresql.conf'), `${place(archiveSettings)}\n`);
    await server.crash();
    await server.start();
    home = await openGatewayHome({ url: await migrateDatabase(server, 'cloud'), drop: () => Promise.resolve() });
  }, 120_000);
  afterAll(async () => {
    await home?.remove();
    await server?.stop();
  }, 120_000);

  const start = (): Promise<GatewayProcess> => home.start('--http', '--no-jobs', '--no-collect');
  let moment = '';

  test('what is deleted afterwards is kept for as long as --keep-garbage says', async () => {
    const gateway = await start();
    await put(gateway, 'deleted', body.first);
    await put(gateway, 'small', body.small);
    type(baseBackup);
    // Known by the archive alone.
    await put(gateway, 'replaced', body.second);
    moment = String((await query('select cast(clock_timestamp() as text) as now'))[0]?.['now']);
    expect((await ask(gateway, 'DELETE', 'deleted'))[0]).toBe(204);
    await put(gateway, 'replaced', body.first);
    await put(gateway, 'small', body.second);
    await put(gateway, 'new', body.second);
    await stop(gateway);
    const [segment] = await query('select pg_walfile_name(pg_switch_wal()) as name');
    const archived = join(server.folder, 'backup/wal', String(segment?.['name']));
    await expect.poll(() => existsSync(archived), patient).toBe(true);
    // An hour passes.
    await query("update garbage set noted = noted - interval '1 hour'");
    const { home: folder } = home.sandbox;
    cpSync(join(folder, 'bytes'), join(folder, 'short'), { recursive: true });
    expect(JSON.parse((await collect('bytes', '--keep-garbage', '2h')).stdout)).toMatchObject({ removed: 0, orphans: 0 });
    expect(JSON.parse((await collect('short', '--keep-garbage', '30m', '--take-over')).stdout)).toMatchObject({ removed: 2, waiting: 0 });
  });

  test('the commands of the guide bring back that moment with every byte', async () => {
    await server.crash();
    type(restoreMoment, moment);
    await server.start();
    await expect.poll(async () => (await query('select pg_is_in_recovery() as is'))[0], patient).toEqual({ is: false });
    expect(verifyMoment.join()).toContain('cloud server collect --verify');
    const whole = await collect('bytes', '--verify');
    expect([whole.code, whole.stderr]).toEqual([0, expect.stringContaining('Checked 3 contents')]);
    // Kept for too short a time, they are told.
    const lacking = await collect('short', '--verify');
    const paths = [...lacking.stdout.matchAll(/"path": *"([^"]+)"/gu)].map(([, path]) => path);
    expect([lacking.code, new Set(paths)]).toEqual([1, new Set(['/alice/stor/deleted', '/alice/stor/replaced'])]);
    // This database is older than its contents, as a copy of the server is.
    expect((await collect('bytes', '--keep-garbage', '2h')).stderr).toContain('no contents are removed: this database is older than them');
    expect(verifyMoment.join()).toContain('cloud server collect --take-over --keep-garbage');
    expect(JSON.parse((await collect('bytes', '--keep-garbage', '2h', '--take-over')).stdout)).toMatchObject({ removed: 0, orphans: 0 });
    const gateway = await start();
    expect(await ask(gateway, 'GET', 'deleted')).toEqual([200, body.first]);
    expect(await ask(gateway, 'GET', 'replaced')).toEqual([200, body.second]);
    expect(await ask(gateway, 'GET', 'small')).toEqual([200, body.small]);
    expect((await ask(gateway, 'GET', 'new'))[0]).toBe(404);
    await put(gateway, 'next', body.first);
    expect(await ask(gateway, 'GET', 'next')).toEqual([200, body.first]);
    await stop(gateway);
  });
});
