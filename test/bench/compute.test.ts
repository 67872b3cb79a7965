import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { addCrowd } from '../support/crowd.ts';
import { median, report } from '../support/figures.ts';
import { useLocal, type Sandbox } from '../support/sandbox.ts';
import { scale } from '../support/scale.ts';

/**
 * Lists of a thousand entries through the whole program, against bare HTTP responses to the same signed request. "Twice the time" is
 * promised in two ways, and both must hold:
 * - whole processes, start-up and all, against a program of Node.js that only sends the request and prints the response: both begin with
 *   the start of Node.js and a handshake, and ours signs, checks, and lays out a table besides;
 * - what a thousand entries add to the time of the program, against all that curl takes, which starts in a few milliseconds.
 * The other lines show the rest: what the entries add on either side, and whole processes against curl, most of which is the start of
 * Node.js; `startup.test.ts` says what that costs.
 */

const few = useLocal();
const many = useLocal();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const nouns = ['keys', 'users', 'roles', 'policies'] as const;
const rounds = scale(3, 21);
const count = 1000;

/** Fills the data of a sandbox while its service is stopped. */
async function fill(user: Sandbox, from: number, to: number): Promise<void> {
  await user.cloud(['local', 'stop']);
  await addCrowd(user.local.dataDir, from, to);
  await user.json('local', 'start', '--compute-port', '0', '--stor-port', '0');
}

beforeAll(async () => {
  await fill(few, 1, 2);
  await fill(many, 1, count + 1);
}, 120_000);

/** A process, and what it has to print at least. */
interface Start {
  readonly user: Sandbox;
  readonly words: readonly string[];
  readonly least: number;
}

/** Milliseconds of a whole process whose output goes through a pipe. */
function time({ user, words: [file = '', ...words], least }: Start): number {
  const started = performance.now();
  const { stdout, status, stderr } = spawnSync(file, words, { env: user.env, cwd: user.home, maxBuffer: 100_000_000 });
  const taken = performance.now() - started;
  expect([words, status, stderr.toString()]).toEqual([words, 0, '']);
  expect(stdout.toString().split(/\n|"name":|"login":/).length).toBeGreaterThan(least);
  return taken;
}

/** Medians of starts that take turns. */
function measure(starts: readonly Start[]): number[] {
  const times = starts.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) for (const [at, start] of starts.entries()) times[at]?.push(time(start));
  return times.map(median);
}

/** Sends what it is told to and prints the response, and nothing else. */
const bareProgram = `const [url, ca, ...lines] = process.argv.slice(2);
const headers = Object.fromEntries(lines.map((line) => line.split(/: (.*)/)));
require('node:https').get(url, { ca: require('node:fs').readFileSync(ca), headers, agent: false }, (response) => response.pipe(process.stdout));`;

/** curl and bare Node.js with the request that the program would send, signed now. */
async function sign(user: Sandbox, noun: string): Promise<{ curl: string[]; bare: string[] }> {
  const { stdout } = await user.cloud([noun, 'list', '--curl']);
  const line = stdout.trim();
  const headers = [...line.matchAll(/ -H '([^']*)'/g)].map(([, header = '']) => header);
  const url = line.split(' ').at(-1) ?? '';
  const file = user.write('bare.cjs', bareProgram);
  return { curl: ['bash', '-c', `exec ${line} -sS --fail`], bare: [process.execPath, file, url, user.local.caFile, ...headers] };
}

test.each([
  ['tables', []],
  ['JSON lines', ['-o', 'jsonl']],
])(`${count} keys, users, roles and policies as %s`, { timeout: 900_000 }, async (format, options) => {
  const sums = [0, 0, 0, 0, 0];
  for (const noun of nouns) {
    const words = [process.execPath, program, noun, 'list', ...options];
    const { curl, bare } = await sign(many, noun);
    const times = measure([
      { user: many, words, least: count },
      { user: many, words: curl, least: count },
      { user: many, words: bare, least: count },
      { user: few, words, least: 1 },
      { user: few, words: (await sign(few, noun)).curl, least: 1 },
    ]);
    for (const [at, taken] of times.entries()) sums[at] = (sums[at] ?? 0) + taken;
  }
  const [ours = 0, theirs = 0, bare = 0, oursOfOne = 0, theirsOfOne = 0] = sums;
  const entries = ours - oursOfOne;
  const milliseconds = (value: number): string => `${value.toFixed(0)} ms`;
  const lists = `lists of ${count} keys, users, roles, policies as ${format}`;
  report('bench', {
    name: `${lists}: whole processes; node:https alone`,
    ours: milliseconds(ours),
    theirs: milliseconds(bare),
    ratio: ours / bare,
    most: 2,
  });
  report('bench', {
    name: `${lists}: what the entries add to the time of the program; curl, the whole responses`,
    ours: milliseconds(entries),
    theirs: milliseconds(theirs),
    ratio: entries / theirs,
    most: 2,
  });
  report('bench', {
    name: `${lists}: what the entries add on either side`,
    ours: milliseconds(entries),
    theirs: milliseconds(theirs - theirsOfOne),
    ratio: entries / (theirs - theirsOfOne),
  });
  report('bench', {
    name: `${lists}: whole processes; curl`,
    ours: milliseconds(ours),
    theirs: milliseconds(theirs),
    ratio: ours / theirs,
  });
});

/** Most memory of the program, MiB. */
function peak(user: Sandbox, words: readonly string[]): number {
  const hook = user.write(
    'peak.cjs',
    `process.on('exit', () => require('fs').writeFileSync('peak', String(process.resourceUsage().maxRSS)));`,
  );
  const { status } = spawnSync(process.execPath, ['--require', hook, program, ...words], { env: user.env, cwd: user.home, maxBuffer: 1e8 });
  expect(status).toBe(0);
  return Number(readFileSync(join(user.home, 'peak'), 'utf8')) / 1024;
}

/** Most memory of the service since it was asked last, MiB. */
function peakOfService(pid: number, work: () => void): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  work();
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}

test('memory of lists', { timeout: 900_000 }, async () => {
  async function measureMemory(user: Sandbox): Promise<{ tool: number; service: number }> {
    // What earlier work has left in the memory of the service is no part of it.
    const [compute, stor] = [user.local.computeUrl, user.local.storUrl].map((url) => new URL(url).port);
    await user.cloud(['local', 'stop']);
    const { pid } = await user.json<{ pid: number }>('local', 'start', '--compute-port', compute ?? '', '--stor-port', stor ?? '');
    let tool = 0;
    const service = peakOfService(pid, () => {
      for (const noun of nouns) tool = Math.max(tool, peak(user, [noun, 'list']), peak(user, [noun, 'list', '-j']));
    });
    return { tool, service };
  }
  const one = await measureMemory(few);
  async function compare(entries: number, most: number): Promise<void> {
    const measured = await measureMemory(many);
    const mebibytes = (value: number): string => `${value.toFixed(0)} MiB`;
    for (const [who, name] of [
      ['tool', 'the program'],
      ['service', 'the service'],
    ] as const) {
      report('bench', {
        name: `most memory of ${name} that lists ${entries} entries; the same lists of one entry`,
        ours: mebibytes(measured[who]),
        theirs: mebibytes(one[who]),
        ratio: measured[who] / one[who],
        most,
      });
    }
  }
  await compare(count, 1.5);
  await fill(many, count + 1, 10_000);
  await compare(10_000, 3);
});
