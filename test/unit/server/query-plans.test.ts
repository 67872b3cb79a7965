import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql, type Compilable } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { selectVisibleIds } from '../../../src/server/compute/image-shape.ts';
import { selectRolesOf } from '../../../src/server/compute/role-records.ts';
import { selectNamed } from '../../../src/server/jobs/intermediate.ts';
import { countJobs, selectDirectories } from '../../../src/server/jobs/listing.ts';
import { selectFinishedUploads } from '../../../src/server/storage/old-uploads.ts';
import { placeOf } from '../../../src/server/storage/paths.ts';
import { loadSqlite, type SqliteConnection } from '../../../src/server/store/sqlite.ts';
import type { FileStore } from '../../../src/server/store/open.ts';
import { openNewStore } from '../../support/new-store.ts';

/** Queries whose time must not grow with rows that they do not return: while SQLite works, all other requests wait. */

let dir = '';
let store: FileStore;
/** Explains queries: libsql cannot close the database of a store in which a query was explained. */
let engine: SqliteConnection;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-plans-'));
  store = await openNewStore(dir);
  const explained = join(dir, 'explained');
  await (await openNewStore(explained)).close();
  engine = (await loadSqlite())(join(explained, 'cloud.db'));
});
afterAll(async () => {
  engine.close();
  await store.close();
  await rm(dir, { recursive: true });
});

/** The steps in which SQLite reads tables; releases differ in whether they say that an index covers the columns. */
function explain(query: Compilable): string[] {
  const { sql: text, parameters } = query.compile();
  const rows = engine.prepare(`explain query plan ${text}`).all([...parameters]) as { detail: string }[];
  return rows.map(({ detail }) => detail.replace('COVERING ', '')).filter((detail) => /^(?:SCAN|SEARCH|USE) /u.test(detail));
}

test('images of other accounts are not read', () => {
  const steps = explain(selectVisibleIds(store.db, { id: 'a' }));
  // How the three are merged differs between releases of SQLite.
  expect(steps.filter((step) => step.includes('images'))).toEqual([
    'SEARCH images USING INDEX images_owner (owner=?)',
    'SCAN images USING INDEX images_public',
    'SCAN images USING INDEX images_shared',
  ]);
});

test('roles of a user are found without reading other roles and members', () => {
  const steps = explain(selectRolesOf(store.db, { id: 'a' }, 'member'));
  expect(steps).toEqual([
    'SEARCH role_members USING INDEX role_members_member (member=?)',
    expect.stringMatching(/^SEARCH roles USING INDEX \S+ \(id=\?\)$/u),
    'USE TEMP B-TREE FOR ORDER BY',
  ]);
});

test('finished uploads are found by their age, oldest first', () => {
  const steps = explain(selectFinishedUploads(store.db, sql<number>`${1}`));
  expect(steps).toEqual(['SEARCH uploads USING INDEX uploads_ended (ended<?)']);
});

const place = placeOf('demo', 'jobs');
const selectJobs = (filter: 'state' | 'name') => {
  const jobs = store.db.selectFrom('jobs').where('account', '=', 'account');
  return { place, jobs: filter === 'state' ? jobs.where('state', '=', 'running') : jobs.where('jobs.name', '=', 'nightly') };
};
const start = { name: 'a', mtime: 1 };

test.each([
  ['state', 'SEARCH jobs USING INDEX jobs_by_state (account=? AND state=?'],
  ['name', 'SEARCH jobs USING INDEX jobs_by_name (account=? AND name=?'],
] as const)('jobs of a %s are listed without reading the others', (filter, jobs) => {
  const directories = 'SEARCH entries USING PRIMARY KEY (parent=? AND name=?)';
  const select = (by: 'name' | 'mtime', from: typeof start | undefined, count = 1) =>
    explain(selectDirectories(store.db, selectJobs(filter), count, { by, reverse: false, start: from }).limit(10));
  expect(select('name', undefined)).toEqual([`${jobs})`, directories]);
  expect(select('name', start)).toEqual([`${jobs} AND id>?)`, directories]);
  const sorted = [`${jobs})`, directories, 'USE TEMP B-TREE FOR ORDER BY'];
  expect([select('mtime', undefined), select('mtime', start)]).toEqual([sorted, sorted]);
  expect(select('mtime', start, 1_000_000)[0]).toBe('SEARCH entries USING INDEX entries_by_time (parent=? AND (mtime,name)>(?,?))');
});

test('the intermediate results of a job are removed without reading all of its outputs', () => {
  const [outputs] = explain(selectNamed(store.db, 'job', ['/demo/stor/a']));
  expect(outputs).toBe('SEARCH job_outputs USING INDEX job_outputs_named (job=? AND output=?)');
});

test('very many jobs are counted in turns of the event loop, each with a directory once', async () => {
  const numbers = sql`with recursive numbers(value) as (select 10000001 union all select value + 1 from numbers where value < 10050000)`;
  await sql`
    insert into jobs (id, account, access, name, phases, state, created)
    ${numbers} select value, 'account', '{}', 'nightly', '[]', 'running', 0 from numbers`.execute(store.db);
  await sql`
    insert into entries (parent, name, type, mtime, headers, role_tags, children)
    ${numbers} select '/demo/jobs', value, 'directory', 0, '{}', '[]', 0 from numbers where value % 2 = 0`.execute(store.db);
  let turns = 0;
  const others = setInterval(() => (turns += 1), 1);
  expect(await countJobs(store.db, selectJobs('name'))).toBe(25_000);
  clearInterval(others);
  expect(turns).toBeGreaterThan(0);
  expect(await countJobs(store.db, { ...selectJobs('name'), place: placeOf('other', 'jobs') })).toBe(0);
});
