import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { giveAway } from './unprivileged.ts';
import { makePostgresFolder, runPostgresProgram, runStatement, servePostgres, type TestPostgres } from './postgres.ts';

/** A server that has every commit before it is acknowledged, and takes over when it is told to. */
export interface Standby extends TestPostgres {
  /** Makes it the primary: it takes writes when this ends. */
  promote(): void;
}

/** Milliseconds until a standby has caught up. */
const timeoutMs = 60_000;

async function isSynchronous(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("select 1 from pg_stat_replication where sync_state = 'sync'");
    return rows.length > 0;
  } finally {
    await client.end();
  }
}

/** Adds a synchronous standby to a server that runs: from then on no commit is acknowledged which it does not have. */
export async function startStandby(primary: TestPostgres): Promise<Standby> {
  const folder = makePostgresFolder();
  const data = join(folder, 'data');
  const source = `host=${primary.folder} user=cloud`;
  runPostgresProgram('pg_basebackup', '-d', source, '-D', data, '-X', 'stream', '-R', '-c', 'fast', '--no-sync');
  const own = `primary_conninfo = '${source} application_name=standby'\nunix_socket_directories = '${folder}'\n`;
  appendFileSync(join(data, 'postgresql.auto.conf'), own);
  giveAway(folder);
  const standby = await servePostgres(folder);
  await runStatement(primary.url('postgres'), "alter system set synchronous_standby_names = 'standby'");
  await runStatement(primary.url('postgres'), 'select pg_reload_conf()');
  for (const end = Date.now() + timeoutMs; !(await isSynchronous(primary.url('postgres')));) {
    if (Date.now() > end) throw new Error('the standby does not catch up');
    await sleep(50);
  }
  return {
    ...standby,
    promote: () => runPostgresProgram('pg_ctl', 'promote', '-w', '-D', data),
  };
}
