import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { resolve } from 'node:path';
import { expect } from 'vitest';
import { isLong } from './scale.ts';

/** Which table a figure belongs to: test/bench/README.md or test/proof/README.md. */
export type FigureTable = 'bench' | 'proof';

/** One line of a table: what was measured, ours, what it is compared with, the ratio of both, and what is promised. */
export interface Figure {
  readonly name: string;
  readonly ours: string;
  readonly theirs?: string;
  readonly ratio?: number;
  /** Largest or smallest ratio that is promised. */
  readonly most?: number;
  readonly least?: number;
  /** A promise that is no ratio, in words; the test itself holds it. */
  readonly promise?: string;
}

/** The value in the middle; 0 of none. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The commit that is measured; nothing outside of a repository. */
function readCommit(): string {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: import.meta.dirname, encoding: 'utf8' });
  return status === 0 ? `commit ${stdout.trim()}, ` : '';
}

/** Conditions of a measurement, as they stand behind each line. */
function describeRun(): string {
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, ${readCommit()}${cpus().length} cores, Node.js ${process.versions.node}, Linux ${release()}`;
}

function describePromise({ most, least, promise = '' }: Figure): string {
  if (most !== undefined) return `at most ${most}`;
  return least === undefined ? promise : `at least ${least}`;
}

function writeLine(table: FigureTable, start: string, line: string): void {
  const file = resolve(import.meta.dirname, '..', table, 'README.md');
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const at = lines.findIndex((each) => each.startsWith(start));
  if (at >= 0) lines[at] = line;
  else lines.push(line);
  writeFileSync(file, `${lines.join('\n')}\n`);
}

/**
 * Shows a figure. In the long form it also takes the place of the line of that name in the table, and a ratio that breaks its promise
 * fails the test at its end; in the short one machines are too busy and samples too few to judge.
 */
export function report(table: FigureTable, figure: Figure): void {
  const { name, ours, theirs = '', ratio, most = Infinity, least = -Infinity } = figure;
  const start = `| ${name} |`;
  const shown = ratio === undefined ? '' : ratio.toFixed(2);
  const line = `${start} ${ours} | ${theirs} | ${shown} | ${describePromise(figure)} | ${describeRun()} |`;
  process.stdout.write(`${line}\n`);
  if (!isLong) return;
  writeLine(table, start, line);
  if (ratio === undefined) return;
  expect.soft(ratio, name).toBeLessThanOrEqual(most);
  expect.soft(ratio, name).toBeGreaterThanOrEqual(least);
}
