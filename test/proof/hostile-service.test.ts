import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { report } from '../support/figures.ts';
import { scenarios, startHostileService, type HostileService, type Scenario } from '../support/hostile-service.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { changes, reads, samples } from './command-cases.ts';

/**
 * Every command that asks a service, against one that is hostile. Whatever it answers: no hang, no signal, no stack trace, no control character on
 * stderr, little memory, and a documented exit code.
 */

const user = useLocal('--http');
const random = createRandom(seed);
const mebibyte = 1024 * 1024;
const workers = 3;
/** Limits that each command is given. */
const [timeoutMs, maxTimeMs] = [1000, 4000];
const limits = `--timeout ${timeoutMs}ms --max-time ${maxTimeMs}ms --retries 0`;
/** Where bytes come, each request of a command has its own time: generous for all of them on a machine that is busy. */
const longestMs = 30_000;
/** What is promised where nothing useful comes: the silence and this, beyond the start of the program. */
const graceMs = 2000;
const useless: ReadonlySet<Scenario> = new Set(['silence', 'endless interim responses', 'endless headers']);
const most = 300_000_000;
/** `cloud help exit-codes`. */
const exitCodes = [0, 1, 2, 3, 4, 5, 6];
/** What polls asks again by itself: there a hostile exchange is one of many. */
const polls = /^jobs (?:wait|watch|run)|^images wait|--wait/u;

interface Worker {
  readonly number: number;
  readonly compute: HostileService;
  readonly stor: HostileService;
}
const all: Worker[] = [];
let [runs, happened, peak, longest, longestSilent, startMs] = [0, 0, 0, 0, 0, 0];

beforeAll(async () => {
  const { code, stderr } = await user.shell(`set -e${samples}`);
  if (code !== 0) throw new Error(`the samples cannot be made: ${stderr}`);
  for (let number = 0; number < workers; number += 1) {
    const compute = await startHostileService(user.local.computeUrl, random);
    all.push({ number, compute, stor: await startHostileService(user.local.storUrl, random) });
  }
  const started = Date.now();
  await Promise.all(all.map(() => user.shell('cloud keys list -j')));
  startMs = Date.now() - started;
});
afterAll(() => Promise.all(all.flatMap(({ compute, stor }) => [compute.close(), stor.close()])));

async function attack({ number, compute, stor }: Worker, line: string, scenario: Scenario): Promise<void> {
  const peakFile = join(user.home, `peak-${number}`);
  const write = `require('fs').writeFileSync(${JSON.stringify(peakFile)}, require('fs').readFileSync('/proc/self/status'))`;
  const hook = user.write(`peak-${number}.cjs`, `require('node:worker_threads').isMainThread && process.on('exit', () => ${write});`);
  rmSync(peakFile, { force: true });
  const at = random() < 0.6 ? 0 : Math.floor(random() * 3);
  for (const service of [compute, stor]) service.plan(scenario, at, polls.test(line) ? 1 : Infinity);
  const started = Date.now();
  const words = `${line} --url ${compute.url} --stor-url ${stor.url} ${limits} -q`;
  // What comes without end is more than this process could hold.
  const { code, stderr } = await user.shell(`timeout -s KILL 60 cloud ${words} > /dev/null`, {
    env: { EDITOR: 'sed -i s/getobject/putobject/', NODE_OPTIONS: `--require "${hook}"` },
  });
  const duration = Date.now() - started;
  const told = `${line}: ${scenario} at ${at}, seed ${seed}`;
  expect([told, exitCodes.includes(code ?? -1)], stderr.slice(0, 2000)).toEqual([told, true]);
  expect(stderr, told).not.toMatch(/unexpected error|Warning:|^\s+at /mu);
  // oxlint-disable-next-line no-control-regex
  expect(stderr, told).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u202e]/u);
  if (code !== 0 && !line.startsWith('stor diff')) expect(stderr, told).toMatch(/^(?:cloud .*: .+|\{"code":".+\})\n/mu);
  const isUseless = useless.has(scenario) && compute.happened + stor.happened > 0;
  expect(duration, told).toBeLessThan(isUseless ? startMs + timeoutMs + graceMs : longestMs);
  const [, kibibytes = '0'] = existsSync(peakFile) ? (/VmHWM:\s+(\d+) kB/u.exec(readFileSync(peakFile, 'utf8')) ?? []) : [];
  expect(Number(kibibytes) * 1024, told).toBeLessThan(most);
  runs += 1;
  happened += Math.min(1, compute.happened + stor.happened);
  [peak, longest] = [Math.max(peak, Number(kibibytes) * 1024), Math.max(longest, duration)];
  if (isUseless) longestSilent = Math.max(longestSilent, duration);
}

/** Does the work for all cases, some at once, and tells all that went wrong. */
async function spread<T>(cases: readonly T[], work: (worker: Worker, one: T, scenario: Scenario) => Promise<void>): Promise<void> {
  const queue = cases.flatMap((one, at) => {
    const chosen = isLong ? scenarios : [scenarios[(at + seed) % scenarios.length] ?? 'silence'];
    return chosen.map((scenario) => ({ one, scenario }));
  });
  const wrong: string[] = [];
  await Promise.all(
    all.map(async (worker) => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        await work(worker, next.one, next.scenario).catch((error: unknown) => wrong.push(String(error)));
      }
    }),
  );
  expect(wrong).toEqual([]);
}

test(`${reads.length} commands that read, seed ${seed}`, { timeout: scale(300_000, 7_200_000) }, async () => {
  await spread(reads, (worker, { line }, scenario) => attack(worker, line, scenario));
});

let names = 0;

test(`${changes.length} commands that change, seed ${seed}`, { timeout: scale(400_000, 14_400_000) }, async () => {
  await spread(changes, async (worker, { line, before }, scenario) => {
    names += 1;
    const name = `h${names}x`;
    if (before !== undefined) expect([before, (await user.shell(before.replaceAll('NAME', name))).code]).toEqual([before, 0]);
    await attack(worker, line.replaceAll('NAME', name), scenario);
  });
  expect(happened).toBeGreaterThan(runs * 0.5);
  report('proof', {
    name: `${runs} commands against a hostile service of ${scenarios.length} scenarios`,
    ours: `at most ${Math.round(peak / mebibyte)} MiB and ${(longest / 1000).toFixed(1)} s, ${(longestSilent / 1000).toFixed(1)} s where nothing useful came, ${happened} were met by it`,
    promise: 'no crash, less than 300 MB, and --timeout (1 s) plus 2 s where nothing useful comes',
  });
});
