import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { followRequests, measureRun, type LoggedRequest } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** Snapshots of a tree of many objects: 1,000 in the short form, 100,000 in the long one. */

const user = useLocal();
const objectCount = scale(1000, 100_000);
const folderCount = objectCount / 200;
const mebibyte = 1024 * 1024;
/** Most memory of each run, bytes. */
const most = 150 * 1_000_000;
const timeout = scale(120_000, 3_600_000);

beforeAll(async () => {
  for (let folder = 0; folder < folderCount; folder += 1) {
    mkdirSync(join(user.home, `tree/folder ${folder}`), { recursive: true });
    for (let number = 0; number < 200; number += 1)
      writeFileSync(join(user.home, `tree/folder ${folder}/file ${number}`), `content of ${number} in ${folder} `.repeat(number % 20));
  }
  await user.cloud(['stor', 'put', '-r', '-q', 'tree', 'tree']);
  for (let number = 0; number < 10; number += 1)
    await user.here(['stor', 'meta', 'set', `tree/folder ${number % folderCount}/file ${number}`, `colour=shade ${number}`]);
}, timeout);

async function measure(name: string, ...words: string[]): Promise<string> {
  const { stdout, seconds, peak } = await measureRun(user, ['cloud', 'stor', 'snapshot', ...words, '-q', '-o', 'jsonl'].join(' '));
  const ours = `${seconds.toFixed(1)} s, ${Math.round(peak / mebibyte)} MiB`;
  report('proof', { name: `snapshot of ${objectCount} objects: ${name}`, ours, promise: 'no content moves, under 150 MB' });
  expect([name, peak]).toEqual([name, expect.toSatisfy((bytes: number) => bytes < most)]);
  return stdout;
}

/** Everything of the tree but times: names, sizes, MD5s; and the headers that were set. */
async function describeTree(): Promise<string> {
  const listed = await user.shell(
    `cloud stor find tree -o jsonl --columns path,type,size,contentMD5,contentType; for n in {0..9}; do cloud stor meta get "tree/folder $((n % ${folderCount}))/file $n" -j; done`,
  );
  expect(listed.code).toBe(0);
  return listed.stdout;
}

/** Requests of which a body with content is read or sent, but for manifests and markers. */
function movesContent({ method, target, status }: LoggedRequest): boolean {
  const isOwn = target.includes('/manifests/') || target.includes('/unfinished/');
  return !isOwn && target.includes('file') && (method === 'GET' || method === 'POST') && status < 300;
}

function countLinks(requests: readonly LoggedRequest[]): number {
  return requests.filter(({ method, target }) => method === 'PUT' && /\/trees\/.*\/file%20\d+$/.test(target)).length;
}

test('no content moves; unchanged objects get no link; diff streams; restore after rm -r brings back everything', { timeout }, async () => {
  const before = await describeTree();
  const requests = followRequests(user);
  const first = JSON.parse(await measure('first', 'create', 'tree@first')) as object;
  expect(first).toMatchObject({ objects: objectCount, linked: objectCount, directories: folderCount });
  const made = requests();
  expect([made.filter(movesContent), countLinks(made)]).toEqual([[], objectCount]);

  const changed = 10;
  writeFileSync(join(user.home, 'other'), 'another content');
  for (let number = 0; number < changed; number += 1)
    await user.here(['stor', 'put', '-q', 'other', `tree/folder ${number % folderCount}/file ${100 + number}`]);
  requests();
  const next = JSON.parse(await measure(`${changed} changes`, 'create', 'tree@second')) as { linked: number };
  const again = countLinks(requests());
  // What was written in the second in which the first one began has to be linked again.
  expect([again, next.linked < objectCount / 2]).toEqual([next.linked, true]);

  const differences = (await measure('diff of two', 'diff', 'tree@first', 'tree@second')).trim().split('\n');
  expect(differences.length).toBe(changed);

  await user.cloud(['stor', 'rm', '-r', '-y', '-q', 'tree']);
  requests();
  const steps = (await measure('restore after rm -r', 'restore', 'tree@first')).trim().split('\n');
  expect([steps.length, requests().filter(movesContent)]).toEqual([objectCount + folderCount, []]);
  expect(await describeTree()).toBe(before);
  const back = await user.shell('cloud stor get -r -q tree back && diff -r tree back');
  expect([back.code, back.stdout]).toEqual([0, '']);

  // The second one has most of its objects as links of the first.
  await measure('delete', 'delete', 'tree@first', '-y');
  await user.cloud(['stor', 'rm', '-r', '-y', '-q', 'tree']);
  await measure('restore of what remains', 'restore', 'tree@second');
  expect((await user.cloud(['stor', 'snapshot', 'diff', 'tree@second', '-j', '-q'])).stdout.trim()).toBe('[]');
  await user.cloud(['stor', 'snapshot', 'delete', 'tree@second', '-y', '-q']);
});

/** Begins a snapshot and kills it when so many links were made. */
async function kill(name: string, links: number, signal: NodeJS.Signals): Promise<void> {
  const requests = followRequests(user);
  const words = ['stor', 'snapshot', 'create', `tree@${name}`, '-q'];
  const child = spawn(join(user.home, 'bin/cloud'), words, { cwd: user.home, env: user.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  for (let made = 0; made < links && child.exitCode === null; made += countLinks(requests())) await sleep(5);
  child.kill(signal);
  await ended;
  expect([child.exitCode, child.signalCode]).toEqual([null, signal]);
}

test('an interrupted snapshot is never whole, and what it left goes; one beside changes is of what was there', { timeout }, async () => {
  await kill('killed', objectCount / 4, 'SIGKILL');
  await kill('stopped', objectCount / 4, 'SIGINT');
  const listed = await user.json<{ name: string; state: string }[]>('stor', 'snapshot', 'list', 'tree');
  expect(listed.map(({ name, state }) => [name, state])).toEqual([
    ['killed', 'unfinished'],
    ['stopped', 'unfinished'],
  ]);
  for (const { name } of listed) expect((await user.here(['stor', 'snapshot', 'restore', `tree@${name}`])).code).toBe(3);
  await user.here(['stor', 'snapshot', 'delete', 'tree@killed', 'tree@stopped', '-y', '-q']);
  expect(await user.json('stor', 'ls', '.snapshots')).toEqual([]);

  const making = user.cloud(['stor', 'snapshot', 'create', 'tree@busy', '-j', '-q']);
  const state = { isMade: false };
  void making.finally(() => {
    state.isMade = true;
  });
  for (let number = 0; !state.isMade; number += 1) {
    const name = `tree/folder ${number % folderCount}/file ${number % 200}`;
    await user.here(number % 2 === 0 ? ['stor', 'rm', '-y', '-q', name] : ['stor', 'put', '-q', 'other', name]);
  }
  const [{ objects }] = JSON.parse((await making).stdout) as [{ objects: number }];
  const restored = await user.shell(
    'cloud stor snapshot restore tree@busy --to beside -q && cloud stor find beside --type f -o name | wc -l',
  );
  expect([restored.code, Number(restored.stdout)]).toEqual([0, objects]);
  // Each object is whole: the one that there was, or the one that came.
  const odd = await user.shell(
    'cloud stor get -r -q beside beside && diff -rq tree beside | sed -n "s/^Files tree.* and \\(.*\\) differ$/\\1/p" | while read -r f; do cmp -s "$f" other || echo "$f"; done; diff -rq tree beside | grep "^Only in beside"; true',
  );
  expect([odd.code, odd.stdout]).toEqual([0, '']);
});
