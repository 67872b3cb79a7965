import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { findPostgresPrograms } from './postgres-programs.ts';
import { giveAway, unprivileged } from './unprivileged.ts';

/** A PostgreSQL server of the tests' own: its data in a temporary folder, reached by a socket in it. */
export interface TestPostgres {
  /** Where its socket is, and its data below. */
  readonly folder: string;
  /** URL of a database, as libpq has them. */
  url(database: string): string;
  /** Ends it at once, as a crash of the server does; `start` begins anew with its data. */
  crash(): Promise<void>;
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

/** Milliseconds that a start may take. */
const timeoutMs = 60_000;

/** For tests alone: what was committed survives a crash of the server, and no loss of power. */
const settings = `
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 300
shared_buffers = 64MB
autovacuum = off
log_min_messages = fatal
`;

async function isReady(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Runs one of PostgreSQL's own programs to its end, as the user for whom servers run. */
export function runPostgresProgram(name: string, ...words: string[]): void {
  const [setpriv, ...as] = unprivileged;
  execFileSync(setpriv, [...as, join(findPostgresPrograms(), name), ...words], { stdio: ['ignore', 'ignore', 'inherit'], cwd: tmpdir() });
}

/** Makes the folder of a server, for its user. */
export function makePostgresFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'cloud-pg-'));
  giveAway(folder);
  return folder;
}

/**
 * Serves the data in a folder, reached by a socket in it. It ends with this process, however that dies.
 * @param through words before its command
 */
export async function servePostgres(folder: string, through: readonly string[] = []): Promise<TestPostgres> {
  const [setpriv, ...as] = unprivileged;
  const data = join(folder, 'data');
  const url = (database: string): string => `postgresql:///${database}?user=cloud&host=${folder}`;
  let crash = async (): Promise<void> => undefined;
  const start = async (): Promise<void> => {
    const child = spawn(setpriv, [...as, ...through, join(findPostgresPrograms(), 'postgres'), '-D', data], {
      stdio: 'ignore',
      cwd: folder,
    });
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    crash = async () => {
      child.kill('SIGQUIT');
      await ended;
    };
    for (const end = Date.now() + timeoutMs; !(await isReady(url('postgres')));) {
      if (child.exitCode !== null || Date.now() > end) throw new Error(`PostgreSQL does not start: exit code ${child.exitCode}`);
      await sleep(50);
    }
  };
  await start();
  return {
    folder,
    url,
    crash: () => crash(),
    start,
    stop: async () => {
      await crash();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Starts a server with no databases of ours. @param through words before its command, which may name its folder */
export async function startPostgres(through?: (folder: string) => readonly string[]): Promise<TestPostgres> {
  const folder = makePostgresFolder();
  const data = join(folder, 'data');
  runPostgresProgram('initdb', '-D', data, '-U', 'cloud', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '-N');
  appendFileSync(join(data, 'postgresql.conf'), `${settings}unix_socket_directories = '${folder}'\n`);
  return servePostgres(folder, through?.(folder));
}

/** Runs one statement. */
export async function runStatement(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
