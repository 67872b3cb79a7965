import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadSqlite } from '../../src/server/store/sqlite.ts';
import { useLocal } from '../support/sandbox.ts';

/** Snapshots of which something is lost or damaged: nothing of the present state may be given up for them. */

const user = useLocal('--http');
const folderOf = (name: string): string => join(user.local.dataDir, 'snapshots', name);
const database = (name: string): string => join(folderOf(name), 'cloud.db');

/** Makes a snapshot and damages it. */
async function damage(name: string, how: (name: string) => unknown): Promise<void> {
  await user.json('local', 'snapshot', 'create', name);
  await how(name);
}

async function changeDatabase(name: string, statement: string): Promise<void> {
  const open = await loadSqlite();
  const connection = open(database(name));
  connection.exec(statement);
  connection.close();
}

const cases: [name: string, problem: RegExp, how: (name: string) => unknown][] = [
  ['missing', /its database is missing/u, (name) => rmSync(database(name))],
  ['emptied', /its database is missing/u, (name) => truncateSync(database(name), 0)],
  ['shortened', /its database is damaged: /u, (name) => truncateSync(database(name), 40_960)],
  ['foreign', /its database is damaged: .*not a database/u, (name) => writeFileSync(database(name), 'x'.repeat(8192))],
  [
    'overwritten',
    /its database is damaged: /u,
    (name) => writeFileSync(database(name), readFileSync(database(name)).fill(7, 3 * 4096, 23 * 4096)),
  ],
  ['another', /its database is damaged: 0 of \d+ objects/u, (name) => changeDatabase(name, 'PRAGMA foreign_keys=OFF; DELETE FROM entries')],
  ['newer', /was written by a newer release/u, (name) => changeDatabase(name, 'INSERT INTO steps VALUES (999, 0)')],
  [
    'without',
    /the content of \/\S+\/stor\/large is missing\nhint: .*cloud local fork --snapshot without/u,
    (name) => rmSync(join(folderOf(name), 'bytes'), { recursive: true }),
  ],
];

/** The state that may not be lost. */
async function expectPresent(): Promise<void> {
  const { code, stdout, stderr } = await user.here(['stor', 'cat', 'present']);
  expect([code, stdout, stderr]).toEqual([0, 'present', '']);
}

beforeAll(async () => {
  await user.here(['stor', 'put', '-q', '-', 'large'], { input: 'x'.repeat(100_000) });
  for (const [name, , how] of cases) await damage(name, how);
  await user.here(['stor', 'put', '-q', '-', 'present'], { input: 'present' });
});

describe.each(['that runs', 'at rest'])('a service %s', (way) => {
  beforeAll(async () => {
    if (way === 'at rest') await user.here(['local', 'stop']);
  });

  it.each(cases)('is not restored from a snapshot that is %s', async (name, problem) => {
    const { code, stderr } = await user.here(['local', 'snapshot', 'restore', name]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(problem)]);
    expect(stderr).toContain(`snapshot "${name}" cannot be used; nothing was changed`);
    expect(readdirSync(folderOf('')).filter((each) => each.startsWith('.'))).toEqual([]);
    if (way === 'that runs') await expectPresent();
  });

  it('has all of its present state', async () => {
    if (way === 'at rest') await user.json('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0');
    await expectPresent();
  });
});

it('forks of a snapshot without its contents have what is left; others are refused and leave nothing', async () => {
  const { dataDir } = await user.json<{ dataDir: string }>('local', 'fork', '--http', '--snapshot', 'without', '--profile', 'left');
  expect((await user.here(['--profile', 'left', 'stor', 'ls', '-o', 'name'])).stdout).toContain('large');
  await user.here(['local', 'stop', '--data', dataDir]);
  const refused = await user.here(['local', 'fork', '--http', '--snapshot', 'emptied', '--to', 'emptied']);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('its database is missing')]);
  expect(existsSync(join(user.home, 'emptied'))).toBe(false);
});

it('a snapshot whose description is damaged is listed beside the others, and is restored and deleted', async () => {
  await user.json('local', 'snapshot', 'create', 'whole');
  await damage('described', (name) => writeFileSync(join(folderOf(name), 'snapshot.json'), '{"name":'));
  const listed = await user.json<{ name: string; objects: number | null }[]>('local', 'snapshot', 'list');
  expect(listed.find(({ name }) => name === 'described')).toMatchObject({ objects: null, size: null });
  expect(listed.find(({ name }) => name === 'whole')?.objects).toBeGreaterThan(0);
  expect(await user.here(['local', 'snapshot', 'restore', 'described'])).toMatchObject({
    code: 0,
    stderr: 'Restored snapshot described\n',
  });
  await expectPresent();
  expect((await user.here(['local', 'snapshot', 'delete', 'described'])).code).toBe(0);
});

it('the name of a snapshot whose deletion was killed can be used again', async () => {
  await damage('half', (name) => rmSync(join(folderOf(name), 'snapshot.json')));
  expect((await user.here(['local', 'snapshot', 'delete', 'half'])).code).toBe(3);
  expect(await user.here(['local', 'snapshot', 'create', 'half'])).toMatchObject({ code: 0 });
});
