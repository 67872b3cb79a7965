import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { resolve } from 'node:path';

const file = resolve(import.meta.dirname, '../bench/README.md');

/** One line of the table: what was measured, ours, what it is compared with, and the ratio that the promise is about. */
export interface BenchRow {
  name: string;
  ours: string;
  theirs?: string;
  ratio?: number;
}

/** Conditions of a measurement, as they stand behind each row. */
function describeRun(): string {
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, ${cpus().length} cores, Node.js ${process.versions.node}, Linux ${release()}`;
}

/** Shows a row; with CLOUD_BENCH_WRITE=1 it also takes the place of the row of that name in the table of test/bench/README.md. */
export function report({ name, ours, theirs = '', ratio }: BenchRow): void {
  const start = `| ${name} |`;
  const line = `${start} ${ours} | ${theirs} | ${ratio === undefined ? '' : ratio.toFixed(2)} | ${describeRun()} |`;
  process.stdout.write(`${line}\n`);
  if (process.env['CLOUD_BENCH_WRITE'] !== '1') return;
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  const at = lines.findIndex((each) => each.startsWith(start));
  if (at >= 0) lines[at] = line;
  else lines.push(line);
  writeFileSync(file, `${lines.join('\n')}\n`);
}
