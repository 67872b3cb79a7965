import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

interface Receipt {
  readonly line: number;
  readonly command: string;
  readonly exitCode: number;
  readonly results: readonly Record<string, unknown>[];
  readonly error?: { readonly code: string; readonly message: string; readonly hint?: string };
  readonly failures?: readonly object[];
}

function readReceipts(text: string): Receipt[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{"line"'))
    .map((line) => JSON.parse(line) as Receipt);
}

async function run(lines: readonly string[], ...words: string[]) {
  const outcome = await user.here(['stor', 'run', '-', ...words], { input: `${lines.join('\n')}\n` });
  return { ...outcome, receipts: readReceipts(outcome.stdout) };
}

test('lines depend on each other as their paths do, and each has a receipt with its records', async () => {
  user.write('a b.txt', 'a text');
  const { code, receipts, stderr } = await run([
    '# a comment',
    'mkdir -p run/d',
    "put 'a b.txt' run/d/",
    'cloud stor ln "run/d/a b.txt" run/link',
    'stor mv run/link run/moved',
    'stat run/moved',
    '',
    'meta set run/moved colour=red',
    'get run/moved back.txt',
    'rm -y run/d/a\\ b.txt',
    'ls run/d',
    'put "a b.txt" run/d/again --no-clobber',
    'put "a b.txt" run/d/again --no-clobber',
  ]);
  expect([code, stderr]).toEqual([0, '']);
  expect(receipts.map(({ line, exitCode }) => [line, exitCode])).toEqual([2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13].map((line) => [line, 0]));
  expect(receipts[0]?.results).toEqual([{ path: '/demo/stor/run/d', made: true }]);
  expect(receipts[1]?.results).toMatchObject([{ path: '/demo/stor/run/d/a b.txt', size: 6 }]);
  expect(receipts[4]?.results).toMatchObject([{ path: '/demo/stor/run/moved', type: 'object' }]);
  expect(receipts[8]?.results).toEqual([]);
  expect(receipts[10]?.results).toEqual([]);
  expect((await user.shell('cmp "a b.txt" back.txt')).code).toBe(0);
});

test('a failing line says why, conditions hold, and the others are done', async () => {
  await user.json('stor', 'mkdir', 'fails');
  const { code, receipts, stderr } = await run([
    'put nowhere fails/a',
    "put 'a b.txt' fails/b",
    "put 'a b.txt' fails/b --if-match 00000000-0000-4000-8000-000000000000",
    'stat fails/missing',
    'rm fails/b',
    'put - fails/c',
    'cat fails/b',
    'nonsense',
    'put "x',
    'put a > b',
    'ls --profile other',
    'run plan',
    'stat fails/b fails/missing',
  ]);
  const told = receipts.map(({ line, exitCode, error }) => [line, exitCode, error?.message ?? '']);
  const has = (text: string): unknown => expect.stringContaining(text);
  expect(told).toEqual([
    [1, 2, has('no such file')],
    [2, 0, ''],
    [3, 1, has('')],
    [4, 3, has('does not exist')],
    [5, 2, has('Delete /demo/stor/fails/b?')],
    [6, 2, has('a line cannot read stdin')],
    [7, 2, has('writes to stdout, which is used for receipts')],
    [8, 2, has('"nonsense" is not a command')],
    [9, 2, has('a quote is not closed')],
    [10, 2, has('is shell syntax')],
    [11, 2, has('--profile cannot be used in a line')],
    [12, 2, has('"run" is not a command')],
    [13, 5, has('1 of 2 failed')],
  ]);
  expect([code, stderr]).toEqual([5, expect.stringContaining('12 of 13 lines failed')]);
  expect(receipts[2]?.error?.code).toBe('PreconditionFailed');
  expect(receipts[12]).toMatchObject({ results: [{ path: '/demo/stor/fails/b' }], failures: [{ code: 'ResourceNotFound' }] });
});

test('cp copies between this machine and the storage', async () => {
  user.write('up.txt', 'text');
  const { code, receipts } = await run([
    'mkdir both',
    'cp up.txt stor:both/up',
    'cp stor:both/up down.txt',
    'cp - stor:both/stdin',
    'cp nowhere stor:both/x',
    'cp stor:both/up -',
  ]);
  expect(code).toBe(5);
  expect(receipts.map(({ exitCode, error }) => [exitCode, error?.message ?? ''])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
    [2, 'a line cannot read stdin'],
    [2, expect.stringContaining('nowhere: no such file or directory')],
    [2, expect.stringContaining('writes to stdout, which is used for receipts')],
  ]);
  expect((await user.shell('cmp up.txt down.txt')).code).toBe(0);
});

test('a line waits for a tree or an archive that an earlier line stores or downloads into a directory with a slash', async () => {
  for (let number = 0; number < 20; number += 1) user.write(`packed/in/${number}`, 'text');
  await user.shell('tar cf packed.tar -C packed in');
  const { code, receipts } = await run([
    'mkdir waits',
    'put --untar packed.tar waits/',
    'rm -y waits/in/19',
    'get -r waits/in/ fetched/',
    'put fetched/18 waits/again',
    'mkdir -p waits/deep/er',
    'put packed.tar waits/deep/archive',
  ]);
  expect(receipts.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  expect([code, receipts.length]).toEqual([0, 7]);
});

test('stdout has only receipts: find --exec is refused as cat is; a line that would never end too', async () => {
  await user.json('stor', 'mkdir', '-p', 'only/a');
  const { code, stdout, receipts } = await run(['find only --exec "echo raw {}"', 'sync . stor:only --watch', 'find only']);
  expect([code, stdout]).toEqual([5, expect.not.stringMatching(/^raw/mu)]);
  expect(receipts.map(({ exitCode, error }) => [exitCode, error?.message ?? ''])).toEqual([
    [2, expect.stringContaining('writes to stdout, which is used for receipts')],
    [2, expect.stringContaining('--watch cannot be used in a line')],
    [0, ''],
  ]);
});

test.each([
  ['nothing', ''],
  ['an empty line', '\n'],
  ['a comment', '# nothing\n'],
])('input with %s does nothing and is no failure', async (_, input) => {
  expect(await user.here(['stor', 'run', '-'], { input })).toMatchObject({ code: 0, stdout: '', stderr: '' });
  user.write('empty', input);
  expect(await user.here(['stor', 'run', 'empty'])).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

test('--stop-on-error begins nothing more; --yes is for all lines; a table and a file are possible', async () => {
  user.write('lines', 'mkdir stop\nstat stop/missing\nmkdir stop/a\nmkdir stop/b\n');
  const stopped = await user.here(['stor', 'run', 'lines', '--stop-on-error', '-P', '1']);
  expect([stopped.code, readReceipts(stopped.stdout).map(({ line }) => line)]).toEqual([5, [1, 2]]);
  expect(stopped.stderr).toContain('lines without a receipt were not started');
  const removed = await run(['rm stop'], '--yes', '-o', 'tsv', '-H');
  expect([removed.code, removed.stdout]).toEqual([0, '1\t0\trm stop\n']);
});

test('when the reader of the receipts has gone, nothing more begins, and what was begun is told on stderr', async () => {
  await user.json('stor', 'mkdir', 'cut');
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'run', '-', '-P', '4'], { cwd: user.home, env: user.env });
  // More than are made before this process, which waits for its turn too, reads the first receipt.
  const most = 3000;
  let [out, err] = ['', ''];
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', (piece: Buffer) => {
    err += piece.toString();
  });
  const ended = new Promise<number | null>((resolve) => void child.on('close', resolve));
  child.stdout.once('data', (piece: Buffer) => {
    out += piece.toString();
    child.stdout.destroy();
  });
  // The writer does not end: whoever waits for one more line would wait for ever.
  for (let number = 0; number < most; number += 1) child.stdin.write(`mkdir cut/${number}\n`);
  expect([await ended, err.replaceAll(/^\{"line".*\n/gmu, '')]).toEqual([0, '']);
  const told = new Set([...readReceipts(out), ...readReceipts(err)].map(({ command }) => command.replace('mkdir cut/', '')));
  const made = (await user.json<{ name: string }[]>('stor', 'ls', 'cut')).map(({ name }) => name);
  expect(made.length).toBeLessThan(most);
  // What went into the pipe before its reader closed it has been told there.
  const untold = made.filter((name) => !told.has(name));
  expect(untold.length).toBeLessThanOrEqual(made.length - readReceipts(out).length);
  expect([...told].filter((name) => !made.includes(name))).toEqual([]);
});

test('where nobody reads the receipts, each line that was begun is told on stderr', async () => {
  await user.json('stor', 'mkdir', 'unread');
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'run', '-', '-P', '4'], { cwd: user.home, env: user.env });
  let err = '';
  child.stdin.on('error', () => undefined);
  child.stderr.on('data', (piece: Buffer) => {
    err += piece.toString();
  });
  const ended = new Promise<void>((resolve) => void child.on('close', () => resolve()));
  await new Promise<void>((resolve) => void child.stdout.once('close', () => resolve()).destroy());
  for (let number = 0; number < 200; number += 1) child.stdin.write(`mkdir unread/${number}\n`);
  await ended;
  const made = (await user.json<{ name: string }[]>('stor', 'ls', 'unread')).map(({ name }) => name);
  expect(made.length).toBeGreaterThan(0);
  expect(
    readReceipts(err)
      .map(({ command }) => command.replace('mkdir unread/', ''))
      .toSorted(),
  ).toEqual(made.toSorted());
});

test('the receipt of a line comes before the next line is written', async () => {
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'run', '-'], { cwd: user.home, env: user.env });
  const receipts = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise<number | null>((resolve) => void child.on('close', resolve));
  for (const line of ['mkdir prompt', 'mkdir prompt/a', 'stat prompt/missing']) {
    child.stdin.write(`${line}\n`);
    const { value } = await receipts.next();
    expect(JSON.parse(String(value))).toMatchObject({ command: line });
  }
  child.stdin.end();
  expect(await ended).toBe(5);
});

test('a plan is still a plan', async () => {
  user.write('planned/x', 'text');
  await user.here(['stor', 'mkdir', 'planned']);
  await user.here(['stor', 'sync', 'planned', 'stor:planned', '--plan', 'plan']);
  expect(await user.json('stor', 'run', 'plan')).toMatchObject([{ action: 'copy', rel: 'x' }]);
  expect(existsSync(join(user.home, 'plan'))).toBe(true);
});

test('a file with a name that is not UTF-8 changes nothing; of a stream, earlier lines are done', async () => {
  user.write('latin', Buffer.from('mkdir latin-1\nmkdir caf\u00e9\nmkdir caf\u00e8\n', 'latin1'));
  const file = await user.here(['stor', 'run', 'latin']);
  expect([file.code, file.stdout, file.stderr]).toEqual([2, '', expect.stringContaining('latin, line 2: not UTF-8')]);
  expect((await user.here(['stor', 'stat', 'latin-1'])).code).toBe(3);
  const stream = await user.shell("(printf 'mkdir latin-1\\n'; sleep 1; printf 'mkdir caf\\351\\n') | cloud stor run -");
  expect([stream.code, stream.stderr]).toEqual([2, expect.stringContaining('stdin, line 2: not UTF-8')]);
  expect(readReceipts(stream.stdout)).toMatchObject([{ line: 1, exitCode: 0 }]);
  expect((await user.shell('cloud stor ls / -o name | grep caf')).code).toBe(1);
});

test('lines may end as on Windows, begin with a byte order mark, and hold any other character', async () => {
  const { code, receipts } = await run(['\uFEFFmkdir win-1\r', 'mkdir win-1/a\u2028b\r']);
  expect(code).toBe(0);
  expect(receipts.map(({ results }) => results)).toMatchObject([[{ path: '/demo/stor/win-1' }], [{ path: '/demo/stor/win-1/a\u2028b' }]]);
});
