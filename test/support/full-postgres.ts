import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { migrateDatabase } from './cluster-database.ts';
import { apart } from './mounts.ts';
import { runStatement, startPostgres, type TestPostgres } from './postgres.ts';
import { unprivileged } from './unprivileged.ts';

/** A PostgreSQL server with a small disk: a file system in the memory, which it has to itself in a namespace of its own. */
export interface SmallPostgres {
  readonly server: TestPostgres;
  /** URL of a database whose tables and indexes are on that disk. */
  readonly url: string;
  /** Leaves no room on the disk. */
  fill(): Promise<void>;
  /** Gives back what `fill` took. */
  free(): Promise<void>;
}

/** The server refuses to run for root, also for one of a namespace. */
const asUser = ['unshare', '--user', '--map-user=1000', '--map-group=1000', 'setpriv', '--pdeathsig', 'KILL'];

/** Why no such disk can be made here; undefined where it can. */
export function lacksSmallDisk(): string | undefined {
  const [setpriv, ...as] = unprivileged;
  const words = [...as, ...apart, 'bash', '-c', 'mount -t tmpfs -o size=1m tmpfs /mnt && exec "$@"', '-', ...asUser, 'true'];
  const { status, stderr } = spawnSync(setpriv, words, { encoding: 'utf8' });
  return status === 0 ? undefined : stderr.trim();
}

/** Mounts the disk, lets somebody wait for what is to be done with it, and goes on as the server. */
const script = `
cd "$0" && mkdir small && mount -t tmpfs -o size=64m tmpfs small && mkdir small/tables || exit 1
setpriv --pdeathsig KILL bash -c '
  until [ -e fill ]; do sleep 0.05; done; head -c 64M /dev/zero >small/filler 2>/dev/null; : >filled
  until [ -e free ]; do sleep 0.05; done; rm small/filler; : >freed' &
exec "$@"`;

/** Starts one. Its folder is that of the server. */
export async function startSmallPostgres(): Promise<SmallPostgres> {
  const server = await startPostgres((folder) => [...apart, 'bash', '-c', script, folder, ...asUser]);
  const order = async (what: string, done: string): Promise<void> => {
    writeFileSync(join(server.folder, what), '');
    await expect.poll(() => existsSync(join(server.folder, done)), { timeout: 30_000 }).toBe(true);
  };
  const url = await migrateDatabase(server, 'small');
  await runStatement(server.url('postgres'), `create tablespace small location '${server.folder}/small/tables'`);
  await runStatement(server.url('postgres'), 'alter database small set tablespace small');
  return { server, url, fill: () => order('fill', 'filled'), free: () => order('free', 'freed') };
}
