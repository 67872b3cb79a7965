import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openJournal, type Journal } from '../../../src/config/journal.ts';
import { openState } from '../../../src/config/state.ts';

/** What the journal has on the disk at which moment: only that survives a kill. */

let folder: string;
let journal: Journal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cloud-journal-'));
  const state = openState(folder, () => undefined);
  const connection = { profile: undefined, options: {}, env: {}, service: 'https://stor.example.com', account: 'jill' };
  journal = openJournal({ state, pid: process.pid, now: Date.now, cwd: () => '/', connection: () => connection });
});
afterEach(() => rmSync(folder, { recursive: true }));

function begin(options = {}): ReturnType<Journal['begin']> {
  return journal.begin({ command: 'stor get', kind: 'download', args: {}, options, placed: [] });
}

/** The items in the list of the only entry. */
function readDone(): unknown[] {
  const list = readdirSync(join(folder, 'resume')).find((name) => name.endsWith('.jsonl')) ?? '';
  const lines = readFileSync(join(folder, 'resume', list), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as unknown[])[1]);
}

test('notes are written before the next turn of the event loop: they survive a kill', async () => {
  const entry = begin();
  entry.note('a', '1');
  await setImmediate();
  expect(readDone()).toEqual(['a']);
  entry.note('b', '1');
  entry.note('c', '1');
  await setImmediate();
  expect(readDone()).toEqual(['a', 'b', 'c']);
  entry.close(false);
});

test('the end of a run writes what it noted last, and nothing is noted after it', async () => {
  const entry = begin();
  entry.note('a', '1');
  entry.close(false);
  expect(readDone()).toEqual(['a']);
  entry.note('b', '1');
  await setImmediate();
  expect(readDone()).toEqual(['a']);
});

test('the next run finds what was noted, and removes the entry when all is done', () => {
  const entry = begin();
  entry.note('a', 'version 1');
  entry.close(false);
  const next = journal.claim(entry.id);
  expect(next?.find('a')).toBe('version 1');
  next?.close(true);
  expect(readdirSync(join(folder, 'resume')).filter((name) => name.includes(entry.id))).toEqual([]);
});

test('a run that ends before it passes what is done keeps the counts of the earlier run', () => {
  const entry = begin();
  entry.add(2, 500);
  entry.close(false);
  const next = journal.claim(entry.id);
  next?.add(0, 100);
  next?.close(false);
  expect(journal.list()).toMatchObject([{ doneItems: 2, doneBytes: 500 }]);
  const last = journal.claim(entry.id);
  last?.add(3, 700);
  last?.close(false);
  expect(journal.list()).toMatchObject([{ doneItems: 3, doneBytes: 700 }]);
});

test('a new run replaces the entry of the same work at another speed, and keeps that of other work', () => {
  const slow = begin({ recursive: true, bwlimit: 1024, progress: 'plain' });
  slow.close(false);
  const fast = begin({ recursive: true, parallel: 4, partSize: 1 });
  const other = begin({ recursive: false });
  expect([fast.id, other.id === fast.id, journal.list().length]).toEqual([slow.id, false, 2]);
});

test('an entry that cannot be written leaves no list of items', () => {
  const { id, close } = begin();
  close(true);
  mkdirSync(join(folder, 'resume', `${id}.json`));
  expect([begin().id, readdirSync(join(folder, 'resume')).filter((name) => name.endsWith('.jsonl'))]).toEqual(['', []]);
});
