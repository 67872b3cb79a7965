import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy, type Fault, type FaultProxy } from '../support/fault-proxy.ts';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal, type Outcome } from '../support/sandbox.ts';
import { isLong, scale, seed } from '../support/scale.ts';
import { commands } from '../unit/cli/tree.ts';
import { changes, others, reads, samples, type ChangeCase } from './command-cases.ts';

/**
 * Every command that lists, transfers or changes, through a proxy that damages one of its exchanges. Whatever happens: exit code 0
 * and the right result, or another code and one clear line; never a list that is short, never anything made twice, never a hang.
 */

const user = useLocal('--http');
/** Each with proxies of its own, so that a fault meets the command that it is meant for. */
const workers = 3;
const random = createRandom(seed);
const faults: readonly Fault[] = [
  'cut up',
  'cut down',
  'flip up',
  'flip down',
  'stall up',
  'stall down',
  'head only',
  'no response',
  'busy',
];
/** Milliseconds that any command may take with its retries. */
const timeoutMs = 45_000;

/** What the commands that edit do to what they are given. */
const editor = 'sed -i -e s/getobject/putobject/ -e s/reads/writes/';

/** What happens to the exchanges of one command: from the `at`th on, `length` of them are damaged. */
interface Plan {
  fault: Fault;
  at: number;
  length: number;
  seen: number;
  happened: number;
}

interface Worker {
  plan: Plan;
  compute: FaultProxy;
  stor: FaultProxy;
}

const all: Worker[] = [];

async function startWorker(number: number): Promise<Worker> {
  const plan: Plan = { fault: 'none', at: 0, length: 0, seen: 0, happened: 0 };
  const choose = (): Fault => {
    const isMeant = plan.seen >= plan.at && plan.seen < plan.at + plan.length;
    plan.seen += 1;
    if (isMeant) plan.happened += 1;
    return isMeant ? plan.fault : 'none';
  };
  const compute = await startFaultProxy(user.local.computeUrl, choose, seed + number);
  const stor = await startFaultProxy(user.local.storUrl, choose, seed + number);
  return { plan, compute, stor };
}

beforeAll(async () => {
  const { code, stderr } = await user.shell(`set -e${samples}`);
  if (code !== 0) throw new Error(`the samples cannot be made: ${stderr}`);
  for (let number = 0; number < workers; number += 1) all.push(await startWorker(number));
});
afterAll(() => Promise.all(all.flatMap(({ compute, stor }) => [compute.close(), stor.close()])));

/** Runs a command line through the proxies of a worker, with one of its exchanges damaged. */
async function runDamaged({ plan, compute, stor }: Worker, line: string, damage: Partial<Plan>): Promise<Outcome> {
  Object.assign(plan, { fault: 'none', at: 0, length: 0, seen: 0, happened: 0 }, damage);
  const started = Date.now();
  const through = `--url ${compute.url} --stor-url ${stor.url} --timeout 700ms --retries 2`;
  const outcome = await user.shell(`cloud ${line} ${through} -q`, { env: { EDITOR: editor } });
  expect(Date.now() - started, `${line}: ${JSON.stringify(plan)}`).toBeLessThan(timeoutMs);
  return outcome;
}

/** Exit code of a command some of whose items failed: each has its line. */
const partly = 5;

/** One line that says what failed, and perhaps how to go on; several items may each have theirs. */
function checkWords(line: string, { code, stderr }: Outcome, several = false): void {
  // With JSON output an error is JSON too.
  const words = / -(?:j|o json)/u.test(line) ? /^(?:\{"code":".+\}\n)+$/u : /^cloud .*: .+\n/u;
  if (code === 0) expect(stderr, line).toBe('');
  else expect(stderr, line).toMatch(words);
  expect(stderr).not.toMatch(/unexpected error|^\s+at /mu);
  if (!several && code !== partly) expect(stderr.trim().split('\n').length, `${line}: ${stderr}`).toBeLessThanOrEqual(2);
}

/** Which exchange is damaged, and how many after it: sometimes so many that no retry helps. */
function planDamage(fault: Fault, exchanges: number): Partial<Plan> {
  const lengths = fault === 'busy' ? [1, 2, 100] : [1, 1, 100];
  return { fault, at: Math.floor(random() * exchanges), length: lengths[Math.floor(random() * lengths.length)] ?? 1 };
}

/** The faults that a command meets: all in the long form, twice; one at random in the short one. */
function chooseFaults(): readonly Fault[] {
  if (isLong) return [...faults, ...faults];
  return [faults[Math.floor(random() * faults.length)] ?? 'none'];
}

/** Does the work for all cases, some at once, and tells all that went wrong. */
async function spread<T>(cases: readonly T[], work: (worker: Worker, one: T) => Promise<void>): Promise<void> {
  const queue = [...cases];
  const wrong: unknown[] = [];
  await Promise.all(
    all.map(async (worker) => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        await work(worker, one).catch((error: unknown) => wrong.push(String(error)));
      }
    }),
  );
  expect(wrong).toEqual([]);
}

let [runs, succeeded, happened] = [0, 0, 0];

function count({ code }: Outcome, { plan }: Worker): void {
  runs += 1;
  if (code === 0) succeeded += 1;
  if (plan.happened > 0) happened += 1;
}

test('every command that asks a service is among them', () => {
  const lines = [...reads, ...changes].map(({ line }) => `${line.replace(/^api (?=--|\/|POST)/u, 'api call ')} `);
  const missing = commands.map(([path]) => path).filter((path) => !others.test(path) && !lines.some((line) => line.startsWith(`${path} `)));
  expect(missing).toEqual([]);
});

test(`${reads.length} commands that read print everything or fail, seed ${seed}`, { timeout: scale(300_000, 3_600_000) }, async () => {
  await spread(reads, async (worker, { line, several }) => {
    const whole = await runDamaged(worker, line, {});
    expect([whole.code, whole.stderr], line).toEqual([line.startsWith('stor diff') || whole.code === 5 ? whole.code : 0, '']);
    const exchanges = Math.max(1, worker.plan.seen);
    for (const fault of chooseFaults()) {
      const damage = planDamage(fault, exchanges);
      const outcome = await runDamaged(worker, line, damage);
      count(outcome, worker);
      const told = `${line}: ${JSON.stringify(damage)}`;
      if (outcome.code === whole.code) expect(outcome.stdout, told).toBe(whole.stdout);
      else checkWords(told, outcome, several);
    }
  });
});

/** What a line of the shell prints about NAME, the same for every name. */
async function look({ look: line }: ChangeCase, name: string): Promise<string> {
  const { stdout, stderr, code } = await user.shell(line.replaceAll('NAME', name));
  return `${code} ${stdout}${stderr}`.replaceAll(name, 'NAME').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|request [\w-]+/gu, 'ID');
}

let names = 0;

async function prepare({ before }: ChangeCase): Promise<string> {
  names += 1;
  const name = `n${names}x`;
  if (before === undefined) return name;
  const { code, stderr } = await user.shell(before.replaceAll('NAME', name));
  expect([code, stderr], before).toEqual([0, expect.any(String)]);
  return name;
}

test(`${changes.length} commands that change do it once, or say that they failed`, { timeout: scale(600_000, 7_200_000) }, async () => {
  await spread(changes, async (worker, one) => {
    const first = await prepare(one);
    const before = await look(one, first);
    const whole = await runDamaged(worker, one.line.replaceAll('NAME', first), {});
    expect([whole.code, whole.stderr], one.line).toEqual([0, '']);
    const exchanges = Math.max(1, worker.plan.seen);
    const after = await look(one, first);
    for (const fault of chooseFaults()) {
      const damage = planDamage(fault, exchanges);
      const name = await prepare(one);
      const outcome = await runDamaged(worker, one.line.replaceAll('NAME', name), damage);
      count(outcome, worker);
      const told = `${one.line}: ${JSON.stringify(damage)}`;
      checkWords(told, outcome, one.several);
      const found = await look(one, name);
      if (outcome.code === 0) expect(found, told).toBe(after);
      else if (one.several !== true) expect([before, after], told).toContain(found);
    }
  });
  // Nothing half is left under a name that looks whole, nor beside it: only beginnings that are worth going on with.
  const isLeft = (name: string): boolean => name.startsWith('.cloud-') && statSync(join(user.home, name)).size < 1024 * 1024;
  expect(readdirSync(user.home).filter(isLeft)).toEqual([]);
  expect(happened).toBeGreaterThan(runs * 0.7);
  report('proof', {
    name: `${reads.length + changes.length} commands, one exchange of each damaged, ${runs} times`,
    ours: `${succeeded} went on to the right result, ${runs - succeeded} said what failed`,
    promise: 'no short list, nothing made twice, no hang',
  });
});
