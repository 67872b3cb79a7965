import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { followRequests, measureRun, type LoggedRequest } from '../support/measured-run.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** `sync` of a tree of many small files: 5,000 in the short form, 100,000 in the long one. */

const user = useLocal();
const fileCount = scale(5000, 100_000);
const folderCount = fileCount / 250;
/** One folder has more entries than a page of a listing. */
const largeFolder = fileCount / 20;
const mebibyte = 1024 * 1024;
/** Most memory of each run, bytes. */
const most = 200 * mebibyte;
const timeout = scale(120_000, 3_600_000);

/** Where the file of a number is below the root of the tree. */
function nameFile(number: number): string {
  return number < largeFolder ? `large/file ${number}` : `folder ${number % folderCount}/file ${number}`;
}

function locate(number: number): string {
  return join(user.home, 'tree', nameFile(number));
}

/** Files that are changed: every one of a kind lies in another place of the tree. */
function choose(count: number, kind: number): number[] {
  const step = Math.floor(fileCount / count);
  return Array.from({ length: count }, (_, at) => at * step + kind);
}

const changes = { both: choose(70, 1), size: choose(10, 2), time: choose(10, 3), none: choose(10, 4) };

/** Writes a file anew; `keeps` is what cannot be seen of that. */
function change(number: number, keeps: readonly ('size' | 'time')[]): void {
  const file = locate(number);
  const { mtimeMs, size } = statSync(file);
  writeFileSync(file, 'changed '.repeat(40).slice(0, keeps.includes('size') ? size : size + 1));
  const time = keeps.includes('time') ? mtimeMs / 1000 : 2e9;
  utimesSync(file, time, time);
}

beforeAll(() => {
  mkdirSync(join(user.home, 'tree/large'), { recursive: true });
  for (let folder = 0; folder < folderCount; folder += 1) mkdirSync(join(user.home, `tree/folder ${folder}`));
  for (let number = 0; number < fileCount; number += 1) writeFileSync(locate(number), `content of ${number} `.repeat(1 + (number % 20)));
}, timeout);

function isFile({ target }: LoggedRequest): boolean {
  return /\/file%20\d+$/.test(target);
}

/** Runs `sync` and gives the paths of what it did. Its time and memory go into the table. */
async function sync(name: string, ...words: string[]): Promise<string[]> {
  const line = ['cloud', 'stor', 'sync', '-q', ...words, '-o', 'jsonl'].join(' ');
  const { stdout, seconds, peak } = await measureRun(user, line);
  const promise = `under ${most / mebibyte} MiB`;
  const ours = `${seconds.toFixed(1)} s, ${Math.round(peak / mebibyte)} MiB`;
  report('proof', { name: `sync of ${fileCount} files: ${name}`, ours, promise });
  expect(peak).toBeLessThan(most);
  const steps = stdout.split('\n').filter((step) => step !== '');
  return steps.map((step) => (JSON.parse(step) as { rel: string }).rel);
}

/** Starts `sync` and ends it by a signal when so many files have been stored. */
async function interrupt(signal: NodeJS.Signals, count: number, requests: () => LoggedRequest[]): Promise<void> {
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'sync', 'tree', 'stor:tree', '-q'], {
    cwd: user.home,
    env: user.env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  let stored = 0;
  while (stored < count && child.exitCode === null) {
    stored += requests().filter((request) => request.method === 'PUT' && isFile(request)).length;
    await sleep(5);
  }
  child.kill(signal);
  await ended;
  expect([child.exitCode, child.signalCode]).toEqual([null, signal]);
}

function sorted(numbers: readonly number[]): string[] {
  return numbers.map(nameFile).toSorted();
}

test('interrupted runs converge, and what they have stored is not stored again', { timeout }, async () => {
  const requests = followRequests(user);
  const seen: LoggedRequest[] = [];
  const follow = (): LoggedRequest[] => {
    const latest = requests();
    for (const request of latest) seen.push(request);
    return latest;
  };
  await interrupt('SIGKILL', fileCount / 20, follow);
  await interrupt('SIGINT', fileCount / 20, follow);
  await sync('the rest of an interrupted first run', 'tree', 'stor:tree');
  follow();
  const puts = seen.filter((request) => request.method === 'PUT' && isFile(request));
  expect(new Set(puts.map(({ target }) => target)).size).toBe(fileCount);
  // What was on its way when a run ended may have been stored without anybody having been told.
  expect(puts.filter(({ status }) => status === 204).length).toBeLessThan(fileCount + 50);
  await user.cloud(['stor', 'rm', '-r', '-y', '-q', 'tree']);
  rmSync(join(user.home, '.local/state/cloud/sync'), { recursive: true });
});

test('first run, nothing to do, 100 changes, removals, and back', { timeout }, async () => {
  const first = await sync('first run', 'tree', 'stor:tree');
  expect(first.length).toBe(fileCount + folderCount + 1);

  const requests = followRequests(user);
  expect(await sync('nothing to do', 'tree', 'stor:tree')).toEqual([]);
  const asked = requests();
  expect(asked.filter((request) => isFile(request) || !['GET', 'HEAD'].includes(request.method))).toEqual([]);
  // A listing for each directory, and some more pages for the large one.
  expect(asked.length).toBeLessThan(folderCount + largeFolder / 900 + 10);

  for (const number of changes.both) change(number, []);
  for (const number of changes.size) change(number, ['size']);
  for (const number of changes.time) change(number, ['time']);
  for (const number of changes.none) change(number, ['size', 'time']);
  const changed = [...changes.both, ...changes.size, ...changes.time, ...changes.none];
  const all = await sync('100 changes, --checksum --dry-run', 'tree', 'stor:tree', '--checksum', '--dry-run');
  expect(all.toSorted()).toEqual(sorted(changed));
  requests();
  // Changes of neither size nor time are seen by the time of the last change of a file, which sync remembers.
  const done = await sync('100 changes', 'tree', 'stor:tree');
  expect(done.toSorted()).toEqual(sorted(changed));
  // The headers of what is replaced are asked for, to be kept.
  expect(requests().filter(isFile).length).toBe(2 * changed.length);
  expect(await sync('nothing to do, --checksum', 'tree', 'stor:tree', '--checksum')).toEqual([]);

  const gone = choose(50, 5);
  for (const number of gone) rmSync(locate(number));
  rmSync(join(user.home, 'tree/folder 7'), { recursive: true });
  const inFolder = Array.from({ length: fileCount - largeFolder }, (_, at) => at + largeFolder).filter((each) => each % folderCount === 7);
  expect(await sync('what left stays without --delete', 'tree', 'stor:tree')).toEqual([]);
  const removed = await sync('--delete', 'tree', 'stor:tree', '--delete', '--yes');
  expect(removed.toSorted()).toEqual([...new Set([...sorted([...gone, ...inFolder]), 'folder 7'])].toSorted());

  await sync('the other way into an empty directory', 'stor:tree', 'back');
  expect((await user.shell('diff -r tree back')).stdout).toBe('');
  expect(await sync('the other way, nothing to do', 'stor:tree', 'back')).toEqual([]);
});
