import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/** Files of the cache, damaged as disks and crashes do it. Commands go on, at the latest the second time, and never say a word of it. */

const user = useLocal();
const random = createRandom(seed);
const cases = scale(60, 600);
const below = (limit: number): number => Math.floor(random() * limit);
const folder = (): string => join(user.home, 'cache/cloud');

type Damage = (bytes: Buffer) => Buffer;

/** A place in one of the beginnings, which hold lengths and heads, or anywhere. */
function choosePlace({ length }: Buffer): number {
  return below(2) === 0 ? below(Math.min(200, length)) : below(length);
}

const damages: Readonly<Record<string, Damage>> = {
  'a block of zeros': (bytes) => {
    const at = choosePlace(bytes);
    return Buffer.from(bytes).fill(0, at, Math.min(at + 4096, bytes.length));
  },
  'eight bytes': (bytes) => {
    const copy = Buffer.from(bytes);
    const at = choosePlace(bytes);
    for (let each = at; each < Math.min(at + 8, copy.length); each += 1) copy[each] = below(256);
    return copy;
  },
  'one bit': (bytes) => {
    const copy = Buffer.from(bytes);
    const at = choosePlace(bytes);
    copy[at] = (copy[at] ?? 0) ^ (1 << below(8));
    return copy;
  },
  // The same in both halves: the lengths themselves are what is wrong.
  'wrong lengths': (bytes) => {
    const wrong = below(1_000_000);
    return Buffer.from(bytes.toString('latin1').replaceAll(/,\d+(?=[,\]])/gu, `,${wrong}`), 'latin1');
  },
  'cut short': (bytes) => bytes.subarray(0, choosePlace(bytes)),
  'two blocks exchanged': (bytes) => {
    const size = Math.min(512, Math.floor(bytes.length / 4));
    const [one, other] = [below(bytes.length / 2 - size), Math.floor(bytes.length / 2) + below(bytes.length / 2 - size)];
    const copy = Buffer.from(bytes);
    bytes.copy(copy, one, other, other + size);
    bytes.copy(copy, other, one, one + size);
    return copy;
  },
};

const lines = [['--version'], ['images', '--help'], ['images', 'list', '-o', 'name'], ['keys', 'list', '-j'], ['stor', 'ls']];
let expected: string[] = [];
const env = (): Record<string, string> => ({ XDG_CACHE_HOME: join(user.home, 'cache') });

beforeAll(async () => {
  for (const line of [...lines, ...lines]) await user.cloud(line, { env: env() });
  expected = await Promise.all(lines.map(async (line) => (await user.cloud(line, { env: env() })).stdout));
});

function listFiles(): string[] {
  const names = readdirSync(folder(), { recursive: true, encoding: 'utf8' });
  return names.map((name) => join(folder(), name)).filter((file) => statSync(file).isFile());
}

test(
  `${cases} damaged cache files, seed ${seed}: every command works at once or the second time`,
  { timeout: scale(300_000, 3_600_000) },
  async () => {
    const names = Object.keys(damages);
    const kept = new Map(listFiles().map((file) => [file, readFileSync(file)]));
    let [first, second] = [0, 0];
    for (let number = 0; number < cases; number += 1) {
      const name = names[number % names.length] ?? '';
      // The compiled code is what can crash; the other files take their turn.
      const files = number % 3 === 2 ? [...kept.keys()] : [...kept.keys()].filter((file) => file.includes('/code/'));
      const file = files[below(files.length)] ?? '';
      for (const [path, bytes] of kept) writeFileSync(path, bytes);
      writeFileSync(file, damages[name]?.(kept.get(file) ?? Buffer.alloc(0)) ?? '');
      const at = number % lines.length;
      const told = `${number}: ${name}, ${file}, ${lines[at]?.join(' ')}`;
      let outcome = await user.cloud(lines[at] ?? [], { env: env() });
      if (outcome.code === 0) first += 1;
      else {
        second += 1;
        expect(outcome.stderr, told).toBe('');
        outcome = await user.cloud(lines[at] ?? [], { env: env() });
      }
      expect([told, outcome.code, outcome.stderr, outcome.stdout]).toEqual([told, 0, '', expected[at]]);
    }
    report('proof', {
      name: `${cases} damaged cache files of six kinds`,
      ours: `${first} commands worked at once, ${second} the second time`,
      promise: 'at the latest the second time, without a word',
    });
  },
);

test('a start that crashed is the last one with what it started with', async () => {
  const file = listFiles().find((path) => path.includes('/code/')) ?? '';
  const mark = `${file}.starting`;
  const before = readFileSync(file);
  // A process that is gone.
  const pid = execFileSync('bash', ['-c', 'echo $$']).toString().trim();
  symlinkSync(pid, mark);
  // Damage that only crashing shows: the file itself is sound.
  expect((await user.cloud(['--version'], { env: env() })).stdout).toBe(expected[0]);
  expect(listFiles().filter((path) => path.startsWith(file))).toEqual([file]);
  expect(readFileSync(file).length).not.toBe(before.length);
  // One that runs is none that crashed.
  symlinkSync(String(process.pid), mark);
  const now = readFileSync(file);
  await user.cloud(['--version'], { env: env() });
  expect([readFileSync(file).equals(now), readlinkSync(mark)]).toEqual([true, String(process.pid)]);
  rmSync(mark);
});

test('a whole start that dies leaves a mark, and the next one works', async () => {
  const file = listFiles().find((path) => path.includes('/code/')) ?? '';
  const hook = user.write(
    'die.cjs',
    `const { Script } = require('node:vm'); Script.prototype.runInThisContext = () => process.kill(process.pid, 'SIGSEGV');`,
  );
  mkdirSync(join(user.home, 'none'), { recursive: true });
  const died = await user.cloud(['--version'], { env: { ...env(), NODE_OPTIONS: `--require ${hook}` } });
  expect([died.code, died.signal]).toEqual([null, 'SIGSEGV']);
  expect(readlinkSync(`${file}.starting`)).toMatch(/^\d+$/u);
  const next = await user.cloud(['--version'], { env: env() });
  expect([next.code, next.stdout, next.stderr]).toEqual([0, expected[0], '']);
});

test('doctor --clear-cache removes a cache of which every file is damaged, whatever the damage is', async () => {
  for (const [name, damage] of Object.entries(damages)) {
    for (const line of lines) await user.cloud(line, { env: env() });
    const files = listFiles();
    expect([name, files.length > 2]).toEqual([name, true]);
    for (const file of files) writeFileSync(file, damage(readFileSync(file)));
    // The first start after the damage may crash; the cache is cleared at the latest by the second.
    let outcome = await user.cloud(['doctor', '--clear-cache'], { env: env() });
    if (outcome.code !== 0) outcome = await user.cloud(['doctor', '--clear-cache'], { env: env() });
    expect([name, outcome.code, outcome.stderr]).toEqual([name, 0, '']);
    expect(outcome.stdout).toContain(`${folder()}: cleared`);
    const left = listFiles().filter((file) => files.includes(file) && !file.includes('/code/') && !file.includes('/tls/'));
    expect([name, left]).toEqual([name, []]);
    expect([name, (await user.cloud(['images', 'list', '-o', 'name'], { env: env() })).stdout]).toEqual([name, expected[2]]);
  }
});
