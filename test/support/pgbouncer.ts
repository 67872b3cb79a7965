import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runStatement } from './postgres.ts';
import { giveAway, requireProgram, unprivileged } from './unprivileged.ts';
import { areRequired } from './witnesses.ts';

/** pgbouncer, which gives a connection of PostgreSQL to one transaction after the other. */

const program = '/usr/sbin/pgbouncer';

/** Whether it is absent, for `describe.skipIf`; where it is required, what needs it fails instead. */
export function lacksPgbouncer(): boolean {
  return !areRequired && !existsSync(program);
}

/** Milliseconds that a start may take. */
const timeoutMs = 30_000;

/** Starts it before the server of a URL, reached by a socket. It ends with this process. @returns the same URL by way of it */
export async function startPgbouncer(url: string): Promise<{ url: string; stop: () => Promise<void> }> {
  requireProgram(program, 'pgbouncer');
  const folder = mkdtempSync(join(tmpdir(), 'cloud-pgb-'));
  const through = new URL(url);
  const socket = through.searchParams.get('host') ?? '';
  through.searchParams.set('host', folder);
  const settings = [
    '[databases]',
    `* = host=${socket}`,
    '[pgbouncer]',
    'pool_mode = transaction',
    'auth_type = any',
    `unix_socket_dir = ${folder}`,
    'listen_port = 5432',
    'max_client_conn = 100',
    'default_pool_size = 8',
    'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout',
  ];
  // With this kind of check everybody is one user of the server.
  settings[1] += ' user=cloud';
  writeFileSync(join(folder, 'pgbouncer.ini'), `${settings.join('\n')}\n`);
  giveAway(folder);
  const [setpriv, ...words] = [...unprivileged, program, '-q', join(folder, 'pgbouncer.ini')];
  const child = spawn(setpriv, words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  for (const end = Date.now() + timeoutMs; ;) {
    const isReady = await runStatement(through.href, 'select 1').then(
      () => true,
      () => false,
    );
    if (isReady) break;
    if (child.exitCode !== null || Date.now() > end) throw new Error(`pgbouncer does not start: ${said}`);
    await sleep(20);
  }
  return {
    url: through.href,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
