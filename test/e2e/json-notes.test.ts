import { chownSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** With a JSON format a program can read all of stderr: each line is a JSON object. */

const user = useLocal('--empty');

beforeAll(async () => {
  user.write('tree/a.txt', 'a');
  symlinkSync('/etc', join(user.home, 'tree/link'));
  mkdirSync(join(user.home, 'down'));
  const { code, stderr } = await user.here(['stor', 'put', '-rq', 'tree', 'tree', '--type', 'text/x-own']);
  if (code !== 0) throw new Error(stderr);
});

/** What a command says on stderr, line by line, each read as JSON. */
async function readNotes(...words: string[]): Promise<{ code: number | null; lines: Record<string, string>[] }> {
  const { code, stderr } = await user.here(words);
  const lines = stderr.split('\n').filter((line) => line !== '');
  return { code, lines: lines.map((line) => JSON.parse(line) as Record<string, string>) };
}

const one = (name: string, part: string) => [{ [name]: expect.stringContaining(part) as string }];

test('notes are JSON lines with -j and -o jsonl, and text otherwise', async () => {
  expect(await readNotes('stor', 'get', 'tree/a.txt', 'down', '-j')).toEqual({ code: 0, lines: one('note', 'a.txt') });
  expect(await readNotes('stor', 'sync', 'tree', 'stor:copy', '-o', 'jsonl')).toEqual({ code: 0, lines: one('note', 'skipped') });
  expect(await readNotes('stor', 'sync', 'stor:tree', 'bare', '-j')).toEqual({ code: 0, lines: one('note', 'cannot store') });
  expect(await readNotes('stor', 'get', 'tree/a.txt', 'down', '-j', '-q')).toEqual({ code: 0, lines: [] });
  const { stderr } = await user.here(['stor', 'get', 'tree/a.txt', 'down']);
  expect(stderr).toMatch(/^\/demo\/stor\/tree\/a\.txt -> /);
  // What --jq makes is JSON; whoever asked for no more reads stderr.
  expect((await user.cloud(['stor', 'get', 'tree/a.txt', 'down', '--jq', '.'])).stderr).toBe(stderr);
});

test('warnings, traces and errors are JSON lines beside them', async () => {
  const { code, lines } = await readNotes('stor', 'stat', 'missing', 'tree/a.txt', '-j', '-v', '--insecure');
  expect(code).toBe(5);
  expect(lines).toContainEqual(one('warning', '--insecure')[0]);
  expect(lines).toContainEqual(one('trace', 'HEAD ')[0]);
  expect(lines).toContainEqual(expect.objectContaining({ code: 'ResourceNotFound' }));
});

test('a folder that is not used is named in JSON too', async () => {
  mkdirSync(join(user.home, 'state/cloud'), { recursive: true });
  chownSync(join(user.home, 'state/cloud'), 65_534, 65_534);
  const env = { XDG_STATE_HOME: join(user.home, 'state') };
  const { code, stderr } = await user.here(['stor', 'sync', '-jq', 'tree', 'stor:tree', '--links', 'skip'], { env });
  expect(code).toBe(0);
  expect(JSON.parse(stderr)).toEqual(one('warning', 'not using the state folder: ')[0]);
});
