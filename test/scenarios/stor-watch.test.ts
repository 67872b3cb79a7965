import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

const program = resolve(import.meta.dirname, '../../bin/cloud');
const user = useShared('--http');
let running: ChildProcess | undefined;
afterEach(() => running?.kill('SIGKILL'));

interface Watching {
  /** Waits for a line of stdout or stderr that was not waited for before. */
  until(pattern: RegExp): Promise<string>;
  /** Sends a signal and waits for the end; a signal that ended the process is what it ended by. */
  end(signal: NodeJS.Signals): Promise<{ by: number | string | null; stderr: string }>;
}

function watchIn(words: readonly string[]): Watching {
  const child = spawn(process.execPath, [program, 'stor', 'sync', ...words, '-o', 'jsonl'], { cwd: user.home, env: user.env });
  running = child;
  const lines: string[] = [];
  const err: Buffer[] = [];
  let wake = (): void => undefined;
  const take = (piece: Buffer): void => {
    lines.push(...piece.toString().trimEnd().split('\n'));
    wake();
  };
  child.stdout.on('data', take);
  child.stderr.on('data', (piece: Buffer) => {
    err.push(piece);
    take(piece);
  });
  const ended = new Promise<number | string | null>((done) => child.on('close', (code, signal) => done(signal ?? code)));
  return {
    until: async (pattern) => {
      for (;;) {
        const at = lines.findIndex((line) => pattern.test(line));
        if (at >= 0) return lines.splice(at, 1)[0] ?? '';
        const isOver = await Promise.race([ended.then(() => true), new Promise<boolean>((next) => (wake = () => next(false)))]);
        if (isOver) throw new Error(`ended without ${pattern.source}: ${Buffer.concat(err).toString()}`);
      }
    },
    end: async (signal) => {
      child.kill(signal);
      return { by: await ended, stderr: Buffer.concat(err).toString() };
    },
  };
}

const watching = /Watching .*Ctrl-C ends it/;
const read = async (path: string): Promise<string> => (await user.here(['stor', 'get', path, '-'])).stdout;

test('what changes in files goes to the object storage, also in directories that are new, until Ctrl-C', async () => {
  user.write('site/first', 'one');
  const watch = watchIn(['site', 'stor:site', '--watch', '--delete', '--yes']);
  await watch.until(/"rel":"first"/);
  await watch.until(watching);
  user.write('site/second', 'two');
  await watch.until(/"rel":"second"/);
  user.write('site/deep/in/it', 'three');
  await watch.until(/"rel":"deep\/in\/it"/);
  user.write('site/deep/in/more', 'four');
  await watch.until(/"rel":"deep\/in\/more"/);
  user.write('site/second', 'two, changed');
  await watch.until(/"rel":"second"/);
  rmSync(join(user.home, 'site/first'));
  await watch.until(/"action":"delete".*"rel":"first"|"rel":"first".*"action":"delete"/);
  expect(await watch.end('SIGINT')).toMatchObject({ by: 'SIGINT', stderr: expect.stringContaining('stopped watching') });
  expect([await read('site/second'), await read('site/deep/in/it')]).toEqual(['two, changed', 'three']);
  expect(await user.json('resume')).toEqual([]);
});

test('from the object storage it looks again and again; a run that fails is tried again', async () => {
  await user.here(['stor', 'mkdir', 'far']);
  await user.here(['stor', 'put', '-', 'far/a'], { input: 'a' });
  const watch = watchIn(['stor:far', 'near', '--watch', '--watch-interval', '100ms']);
  await watch.until(watching);
  await user.here(['stor', 'put', '-', 'far/b'], { input: 'b' });
  await watch.until(/"rel":"b"/);
  await user.here(['stor', 'mv', 'far', 'elsewhere']);
  await watch.until(/far does not exist|no such/);
  await user.here(['stor', 'mv', 'elsewhere', 'far']);
  await user.here(['stor', 'put', '-', 'far/c'], { input: 'c' });
  await watch.until(/"rel":"c"/);
  expect((await watch.end('SIGTERM')).by).toBe('SIGTERM');
  expect(['a', 'b', 'c'].map((name) => readFileSync(join(user.home, 'near', name), 'utf8'))).toEqual(['a', 'b', 'c']);
});

test('an emptied source deletes nothing, and what comes back is taken', async () => {
  user.write('disk/kept', 'kept');
  const watch = watchIn(['disk', 'stor:disk', '--watch', '--watch-interval', '100ms', '--delete', '--yes']);
  await watch.until(watching);
  // As when a disk is taken out: the directory is there, and nothing in it.
  renameSync(join(user.home, 'disk'), join(user.home, 'out'));
  mkdirSync(join(user.home, 'disk'));
  await watch.until(/is empty: --delete would delete everything/);
  expect(await read('disk/kept')).toBe('kept');
  rmSync(join(user.home, 'disk'), { recursive: true });
  renameSync(join(user.home, 'out'), join(user.home, 'disk'));
  writeFileSync(join(user.home, 'disk/new'), 'new');
  await watch.until(/"rel":"new"/);
  expect((await watch.end('SIGINT')).by).toBe('SIGINT');
});

test.each([
  [['--watch', '--dry-run'], '--watch and --dry-run cannot be combined'],
  [['--watch', '--plan', 'p'], '--watch and --plan cannot be combined'],
  [['--watch-interval', '1s'], '--watch-interval needs --watch'],
  [['--watch', '-o', 'table'], '--watch has no end'],
  [['--watch', '--delete'], 'there is no terminal'],
])('%j is refused in one line, and nothing is done', async (words, message) => {
  user.write('refused/f', 'f');
  const { code, stderr } = await user.here(['stor', 'sync', 'refused', 'stor:refused', ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect((await user.here(['stor', 'ls', 'refused'])).code).not.toBe(0);
});

test('at a terminal it asks once before it deletes, and leaves the terminal as it was', async () => {
  user.write('typed/f', 'f');
  const line =
    'trap : INT; stty -g > before; cloud stor sync typed stor:typed --watch --delete; echo "code $?"; stty -g > after; diff before after';
  const session = openTerminal(line, { env: user.env, cwd: user.home });
  await session.until(/now and whenever something is removed from/);
  session.type('y\n');
  await session.until(watching);
  session.type('\u0003');
  const { code, text } = await session.end();
  expect([code, text]).toEqual([0, expect.stringContaining('code 130')]);
});
