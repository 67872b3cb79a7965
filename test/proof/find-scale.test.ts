import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sql } from 'kysely';
import { openDatabase } from '../../src/server/store/database.ts';
import { report } from '../support/figures.ts';
import { measureRun } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** `find` over a tree of many entries: 20,000 in the short form, a million in the long one. */

const user = useLocal();
const objects = scale(1000, 50_000);
/** One directory with more entries than many pages, and many with fewer than one. */
const folders = 19;
const entryCount = (folders + 1) * objects + folders + 1;
const mebibyte = 1024 * 1024;
/** Most memory, bytes. */
const most = 150 * mebibyte;

/** Puts entries into the database of a service that does not run: as many by requests would take an hour. */
async function fill(): Promise<void> {
  const db = await openDatabase(user.local.dataDir);
  const top = '/demo/stor/tree';
  const addEntries = (parent: string, count: number): Promise<unknown> =>
    sql`
      with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      insert into entries (parent, name, type, etag, mtime, size, md5, copies, headers, role_tags, children)
      select ${parent}, printf('object %07d', i), 'object', printf('00000000-0000-4000-8000-%012d', i), i, i, '', 2, '{}', '[]', 0 from n
    `.execute(db);
  const addFolder = (parent: string, name: string, children: number): Promise<unknown> =>
    sql`
      insert into entries (parent, name, type, mtime, headers, role_tags, children)
      values (${parent}, ${name}, 'directory', 0, '{}', '[]', ${children})
    `.execute(db);
  await sql`begin`.execute(db);
  await addFolder('/demo/stor', 'tree', folders + objects);
  await addEntries(top, objects);
  for (let folder = 1; folder <= folders; folder += 1) {
    await addFolder(top, `folder ${folder}`, objects);
    await addEntries(`${top}/folder ${folder}`, objects);
  }
  await sql`commit`.execute(db);
  await db.destroy();
}

/** Milliseconds until the first line, and until the last. */
function timeLines(words: readonly string[]): Promise<{ first: number; last: number; lines: number }> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: ['ignore', 'pipe', 'inherit'] });
    let first = 0;
    let lines = 0;
    child.stdout.on('data', (piece: Buffer) => {
      if (first === 0) first = performance.now() - started;
      for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) lines += 1;
    });
    child.on('error', reject);
    child.on('close', () => resolve({ first, last: performance.now() - started, lines }));
  });
}

test(`find over ${entryCount} entries: the first line at once, memory flat`, { timeout: scale(120_000, 1_800_000) }, async () => {
  const { local } = user;
  await user.cloud(['local', 'stop']);
  await fill();
  const ports = [local.computeUrl, local.storUrl].map((url) => new URL(url).port);
  await user.cloud(['local', 'start', '--compute-port', ports[0] ?? '', '--stor-port', ports[1] ?? '']);
  const bare = await timeLines(['stor', 'find', 'tree', '--maxdepth', '0']);
  const { first, last, lines } = await timeLines(['stor', 'find', 'tree']);
  expect(lines).toBe(entryCount);
  report('proof', {
    name: `find over ${entryCount} entries: first line; find of one entry`,
    ours: `${Math.round(first)} ms`,
    theirs: `${Math.round(bare.first)} ms`,
    ratio: first / bare.first,
    promise: `at once; all of them took ${(last / 1000).toFixed(1)} s`,
  });
  expect(first).toBeLessThan(bare.first * 2 + 200);
  for (const line of ['find tree', 'find tree --name "*999*" -o jsonl', 'du tree', 'ls -l "tree/folder 1"']) {
    const { seconds, peak } = await measureRun(user, `cloud stor ${line} > out`);
    report('proof', {
      name: `${entryCount} entries: cloud stor ${line}`,
      ours: `${seconds.toFixed(1)} s, ${Math.round(peak / mebibyte)} MiB`,
      promise: `under ${most / mebibyte} MiB`,
    });
    expect(peak).toBeLessThan(most);
  }
});
