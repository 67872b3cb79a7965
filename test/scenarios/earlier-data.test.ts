import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sql, type Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadSqlite } from '../../src/server/store/sqlite.ts';
import { openDatabase } from '../../src/server/store/database.ts';
import { migrate, steps } from '../../src/server/store/migrations.ts';
import type { Schema } from '../../src/server/store/schema.ts';
import { useLocal } from '../support/sandbox.ts';
import { createRsaKey } from '../support/service.ts';

/** A data directory that an earlier release (commit 690770e) has made: all of it is there, also when the migration is killed. */

/** That release's statements, as SQLite's own dump has them, and its small files. */
const earlier = JSON.parse(readFileSync(resolve(import.meta.dirname, '../support/data-690770e.json'), 'utf8')) as {
  statements: readonly string[];
  files: Readonly<Record<string, string>>;
};

/** What `seq 1 N` prints. */
const count = (most: number): Buffer => Buffer.from(Array.from({ length: most }, (_, index) => `${index + 1}\n`).join(''));
const [large, parts] = [count(10_000), count(800_000)];
const partSize = 5 * 1024 ** 2;
const files: Readonly<Record<string, Uint8Array | string>> = {
  ...earlier.files,
  '0f5c259f-e37b-4c1f-90c2-5b2cbffa852e': large,
  '0fbcd41c-ab38-423a-abe1-311d4c1c9e77': parts.subarray(0, partSize),
  '0f71d79c-14a7-4ae0-ad56-e2c0d9975969': parts.subarray(partSize),
};

const key = createRsaKey();
const folder = mkdtempSync(join(tmpdir(), 'cloud-earlier-'));

/** Makes the directory as that release has left it. */
async function makeData(name: string): Promise<string> {
  const dir = join(folder, name);
  mkdirSync(join(dir, 'keys'), { recursive: true });
  const database = (await loadSqlite())(join(dir, 'cloud.db'));
  // Tables come by their names, and not in the order of their references.
  database.exec('PRAGMA foreign_keys=OFF');
  for (const statement of earlier.statements)
    database.exec(
      statement.replace(/'ssh-rsa [^']*'/u, `'${key.line} demo@local'`).replace(/'(?:[\da-f]{2}:){15}[\da-f]{2}'/u, `'${key.fingerprint}'`),
    );
  database.closeUnlocked();
  writeFileSync(join(dir, 'keys/demo.pem'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  for (const [id, bytes] of Object.entries(files)) {
    mkdirSync(join(dir, 'bytes', id.slice(0, 2)), { recursive: true });
    writeFileSync(join(dir, 'bytes', id.slice(0, 2), id), bytes);
  }
  return dir;
}

const used = join(folder, 'used');
let killed = '';
beforeAll(async () => {
  await makeData('used');
  killed = await makeData('killed');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** All rows of all tables, by the statements that made these. */
async function dump(db: Kysely<Schema>): Promise<unknown> {
  const { rows: made } = await sql<{ name: string; type: string; sql: string }>`
    select name, type, sql from sqlite_master where sql is not null order by name`.execute(db);
  const tables = made.filter(({ type }) => type === 'table').map(({ name }) => name);
  const rows = await Promise.all(tables.map(async (name) => (await sql`select * from ${sql.table(name)} order by 1, 2`.execute(db)).rows));
  return { made, rows };
}

describe('a service that starts with it', () => {
  const user = useLocal('--data', used);
  const get = async (path: string): Promise<Buffer> => Buffer.from((await user.here(['stor', 'get', path, '-'])).bytes);

  test('has its objects, jobs, users, roles and images, and goes on with them', async () => {
    expect((await get('a/large')).equals(large)).toBe(true);
    expect((await get('a/link')).equals(large)).toBe(true);
    expect((await get('a/parts')).equals(parts)).toBe(true);
    expect((await get('a/b/small')).toString()).toBe('hi\n');
    const [job] = await user.json<{ id: string; state: string }[]>('jobs', 'list');
    expect((await user.here(['jobs', 'outputs', job?.id ?? '', '--cat'])).stdout.trim()).toBe('3');
    expect(await user.json('roles', 'list')).toEqual([
      expect.objectContaining({
        name: 'dev',
        members: [expect.objectContaining({ login: 'bob' })],
        policies: [expect.objectContaining({ name: 'readers' })],
      }),
    ]);
    expect(await user.json('users', 'list')).toEqual([expect.objectContaining({ login: 'bob', email: 'bob@example.com' })]);
    expect(await user.json('images', 'list')).toHaveLength(2);
    expect((await user.here(['stor', 'ln', 'a/parts', 'a/again'])).code).toBe(0);
    expect((await get('a/again')).equals(parts)).toBe(true);
  });
});

test('a migration that is killed at any moment is gone on with, and nothing is missing', async () => {
  // A kill leaves the file of the database and so much of its log as had been written.
  const begin = (name: string): string => {
    const dir = join(folder, name);
    mkdirSync(dir);
    copyFileSync(join(killed, 'cloud.db'), join(dir, 'cloud.db'));
    return dir;
  };
  const whole = begin('whole');
  const db = await openDatabase(whole);
  await migrate(db, whole, 1);
  const expected = await dump(db);
  const [file, log] = ['cloud.db', 'cloud.db-wal'].map((name) => readFileSync(join(whole, name)));
  await db.destroy();
  if (file === undefined || log === undefined) throw new Error('the database has no log');
  const versions = new Set<number>();
  const kills = 16;
  for (let kill = 0; kill <= kills; kill += 1) {
    const dir = begin(`killed${kill}`);
    writeFileSync(join(dir, 'cloud.db'), file);
    writeFileSync(join(dir, 'cloud.db-wal'), log.subarray(0, Math.floor((log.length * kill) / kills)));
    const opened = await openDatabase(dir);
    const { rows } = await sql<{ done: number }>`select max(number) as done from steps`.execute(opened);
    versions.add(rows[0]?.done ?? 0);
    await migrate(opened, dir, 1);
    expect([kill, await dump(opened)]).toEqual([kill, expected]);
    await opened.destroy();
    rmSync(dir, { recursive: true });
  }
  expect(versions.size).toBeGreaterThan(5);
  expect([Math.min(...versions), Math.max(...versions)]).toEqual([4, steps.length]);
});
