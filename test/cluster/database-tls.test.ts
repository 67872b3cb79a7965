import { appendFileSync, chmodSync, copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareTls } from '../../src/server/http/certificates.ts';
import { findPorts } from '../support/free-ports.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { createSandbox, type Outcome, type Sandbox } from '../support/sandbox.ts';
import { giveAway } from '../support/unprivileged.ts';

/** A database that is reached over TCP, without and with encryption, as `sslmode` says. */

let server: TestPostgres;
let sandbox: Sandbox;
let remove: () => void;
let port = 0;
let ca = '';
beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  port = await findPorts(1);
  // For the server, and for those that wait for its start at its socket.
  process.env['PGPORT'] = String(port);
  server = await startPostgres();
  appendFileSync(join(server.folder, 'data/postgresql.conf'), `listen_addresses = '127.0.0.1'\n`);
  appendFileSync(join(server.folder, 'data/pg_hba.conf'), 'host all all 0.0.0.0/0 trust\n');
}, 120_000);
afterAll(async () => {
  delete process.env['PGPORT'];
  await server.stop();
  remove();
});

async function restart(...settings: string[]): Promise<void> {
  appendFileSync(join(server.folder, 'data/postgresql.conf'), `${settings.join('\n')}\n`);
  await server.crash();
  await server.start();
}

const look = (query: string, host = '127.0.0.1'): Promise<Outcome> =>
  sandbox.here(['server', 'status', '--database', `postgresql://cloud@${host}:${port}/postgres${query}`]);

/** The database has no tables; that is found out by a query. */
const reached = expect.stringContaining('version 0, this release has');

test('without encryption, prefer and disable are served, and others are not', async () => {
  await restart();
  expect((await look('')).stdout).toEqual(reached);
  expect((await look('?sslmode=disable')).stdout).toEqual(reached);
  const { code, stderr } = await look('?sslmode=require');
  expect([code, stderr]).toEqual([1, expect.stringMatching(/the server offers no encryption[\s\S]*ssl = on/u)]);
});

test('with encryption, the certificate is checked as libpq does', async () => {
  const dir = join(sandbox.home, 'tls');
  const tls = await prepareTls(dir, ['localhost'], Date.now());
  ca = tls.caFile;
  mkdirSync(join(server.folder, 'tls'));
  for (const name of ['server.pem', 'server.key.pem']) copyFileSync(join(dir, name), join(server.folder, 'tls', name));
  chmodSync(join(server.folder, 'tls/server.key.pem'), 0o600);
  giveAway(join(server.folder, 'tls'));
  await restart('ssl = on', `ssl_cert_file = '${server.folder}/tls/server.pem'`, `ssl_key_file = '${server.folder}/tls/server.key.pem'`);
  for (const query of ['', '?sslmode=require', `?sslmode=verify-ca&sslrootcert=${ca}`]) {
    const { stdout, stderr } = await look(query);
    expect([query, stdout, stderr.includes('Warning')]).toEqual([query, reached, false]);
  }
  expect((await look(`?sslmode=verify-full&sslrootcert=${ca}`, 'localhost')).stdout).toEqual(reached);
  // Of another name, and of an authority that nobody knows.
  expect((await look(`?sslmode=verify-full&sslrootcert=${ca}`)).stderr).toContain('a host for which its certificate is valid');
  expect((await look('?sslmode=verify-full', 'localhost')).stderr).toContain('sslrootcert=FILE');
});
