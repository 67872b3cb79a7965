import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/** Command lines by `stor run -`: 600 mixed ones in the short form, 10,000 in the long one. */

const user = useLocal();
const lineCount = scale(600, 10_000);
const timeout = scale(120_000, 1_200_000);

interface Receipt {
  readonly line: number;
  readonly exitCode: number;
  readonly command: string;
}

beforeAll(() => {
  mkdirSync(join(user.home, 'tree'));
  for (let number = 0; number < lineCount; number += 1) writeFileSync(join(user.home, `tree/${number}`), `content of ${number}`);
});

/** A line and the exit code that it ends with. */
function planLine(number: number): { line: string; exitCode: number; file?: string } {
  if (number % 50 === 7) return { line: `stat run/no-${number}`, exitCode: 3 };
  if (number % 10 === 1) return { line: `rm -y run/${number - 1}`, exitCode: 0 };
  if (number % 10 === 2) return { line: `ln run/${number + 1} run/link-${number}`, exitCode: 3 };
  return { line: `put -T tree/${number} run/${number}`, exitCode: 0, file: String(number) };
}

test('mixed lines are done at the rate of put -r, and each receipt is true', { timeout }, async () => {
  const lines = Array.from({ length: lineCount }, (_, number) => planLine(number));
  // Sources of links come after them, so that these fail.
  await user.here(['stor', 'mkdir', 'run', '-q']);
  let started = performance.now();
  expect((await user.cloud(['stor', 'put', '-r', '-q', '-T', 'tree', 'all'])).code).toBe(0);
  const theirs = performance.now() - started;
  started = performance.now();
  const outcome = await user.cloud(['stor', 'run', '-'], { input: lines.map(({ line }) => line).join('\n') });
  const ours = performance.now() - started;
  expect([outcome.code, outcome.stderr]).toEqual([5, expect.stringContaining(`of ${lineCount} lines failed`)]);
  const receipts = outcome.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Receipt);
  expect(receipts.map(({ line }) => line)).toEqual(lines.map((_, at) => at + 1));
  const wrong = receipts.filter(({ line, exitCode }) => exitCode !== lines[line - 1]?.exitCode);
  expect(wrong).toEqual([]);
  const there = (await user.json<{ name: string }[]>('stor', 'ls', 'run')).map(({ name }) => name);
  const gone = new Set(lines.flatMap(({ line }) => (line.startsWith('rm') ? [line.replace('rm -y run/', '')] : [])));
  const expected = lines.flatMap(({ file }) => (file === undefined || gone.has(file) ? [] : [file]));
  expect(there.toSorted()).toEqual(expected.toSorted());
  report('proof', {
    name: `${lineCount} mixed lines by stor run -, against put -r of as many files`,
    ours: `${(ours / 1000).toFixed(1)} s`,
    theirs: `${(theirs / 1000).toFixed(1)} s`,
    ratio: theirs / ours,
    least: 0.7,
  });
});

test('a reader that goes away leaves receipts for all that was done', { timeout }, async () => {
  await user.here(['stor', 'mkdir', 'cut', '-q']);
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'run', '-'], { cwd: user.home, env: user.env });
  let [out, err] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => {
    err += piece.toString();
  });
  child.stdin.on('error', () => undefined);
  child.stdin.write(Array.from({ length: lineCount }, (_, number) => `put -T tree/${number} cut/${number}\n`).join(''));
  const ended = new Promise((resolve) => void child.on('close', resolve));
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (piece: Buffer) => {
      out += piece.toString();
      if (out.split('\n').length < 10) return;
      // What the pipe holds is read to its end, as `head` would leave it.
      child.stdout.destroy();
      resolve();
    });
  });
  await ended;
  const whole = [...out.split('\n').slice(0, -1), ...err.split('\n')].filter((line) => line.startsWith('{"line"'));
  const told = new Set(whole.map((line) => (JSON.parse(line) as Receipt).command.split('/').at(-1)));
  const made = (await user.json<{ name: string }[]>('stor', 'ls', 'cut')).map(({ name }) => name);
  expect([...told].filter((name) => !made.includes(name ?? ''))).toEqual([]);
  expect(made.length).toBeLessThan(lineCount);
  expect(err).toContain('{"line"');
});
