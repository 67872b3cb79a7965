import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { report } from '../support/figures.ts';
import { createRandom } from '../support/random.ts';
import { useLocal } from '../support/sandbox.ts';
import { scale, seed } from '../support/scale.ts';

/**
 * Each kind of work, interrupted by SIGINT and by SIGKILL when so many of its requests have come, goes on by `cloud resume --all` to
 * what a run without interruption makes, and leaves nothing behind.
 */

const user = useLocal('--http');
const random = createRandom(seed);
const points = scale(3, 20);
/** Files of the tree. */
const count = scale(24, 96);
/** A file that goes in parts. */
const largeSize = 128 * 1024 * 1024;

let proxy: FaultProxy;
let onRequest: (method: string, target: string) => void = () => undefined;
/** Requests with a body or that change something, by what they are. */
let sent: string[] = [];

beforeAll(async () => {
  proxy = await startFaultProxy(
    user.local.storUrl,
    (method, _, target) => {
      sent.push(`${method} ${target}`);
      onRequest(method, target);
      return 'none';
    },
    seed,
  );
  for (let number = 0; number < count; number += 1) {
    const content = createHash('sha512')
      .update(`${number}`)
      .digest('hex')
      .repeat(120 + number);
    user.write(`tree/${number % 3}/deep/f${number}`, content);
  }
  user.write('large', 'beginning');
  truncateSync(join(user.home, 'large'), largeSize);
  for (const line of ['put -r tree tree', 'put large large']) await user.here(['stor', ...line.split(' '), '-q']);
});

afterAll(() => proxy.close());

/** What is in a local tree: names, also hidden ones, and contents. */
function readTree(name: string): Record<string, string> {
  const root = join(user.home, name);
  if (!existsSync(root)) return {};
  if (!lstatSync(root).isDirectory()) return { '': createHash('md5').update(readFileSync(root)).digest('base64') };
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((each) => !each.isDirectory());
  const paths = files.map((each) => join(each.parentPath, each.name));
  return Object.fromEntries(paths.map((path) => [relative(root, path), createHash('md5').update(readFileSync(path)).digest('base64')]));
}

/** What is below a path of the object storage: names and MD5s. */
async function readRemote(name: string): Promise<Record<string, string>> {
  const { stdout, code } = await user.here(['stor', 'find', name, '-j']);
  if (code === 3) return {};
  const rows = JSON.parse(stdout) as { path: string; type: string; contentMD5?: string }[];
  const objects = rows.filter(({ type }) => type === 'object');
  return Object.fromEntries(
    objects.map(({ path, contentMD5 = '' }) => [path.replace(`/demo/stor/${name}`, '').replace(/^\//, ''), contentMD5]),
  );
}

/** A kind of work on NAME, which stands for a name of its own. */
interface Kind {
  readonly name: string;
  /** Run before it, without an interruption. */
  readonly before?: string;
  readonly line: string;
  /** The requests that do the work, of which there are `steps`. */
  readonly isStep: (method: string, target: string) => boolean;
  readonly steps: number;
  /** What there is afterwards. */
  readonly look: (name: string) => unknown;
  /** It leaves files of a process that is gone, which a run in this process would take for its own. */
  readonly takesProcess?: true;
}

const isFile = (target: string): boolean => /\/f\d+$/.test(target.split('?')[0] ?? '');
const puts = (method: string, target: string): boolean => method === 'PUT' && isFile(target);
const gets = (method: string, target: string): boolean => method === 'GET' && isFile(target);
const isPart = (method: string, target: string): boolean => method === 'PUT' && /\/uploads\/.*\/\d+$/.test(target);

const kinds: readonly Kind[] = [
  { name: 'upload of a tree', line: 'put -r tree NAME', isStep: puts, steps: count, look: readRemote },
  { name: 'download of a tree', line: 'get -r tree NAME', isStep: gets, steps: count, look: readTree, takesProcess: true },
  { name: 'sync to the object storage', line: 'sync tree stor:NAME', isStep: puts, steps: count, look: readRemote },
  { name: 'sync to files', line: 'sync stor:tree NAME', isStep: gets, steps: count, look: readTree, takesProcess: true },
  { name: 'copy', line: 'cp -r stor:tree stor:NAME', isStep: puts, steps: count, look: readRemote },
  {
    name: 'move',
    before: 'cp -r tree NAME-from',
    line: 'mv NAME-from NAME',
    isStep: (method, target) => method === 'DELETE' && isFile(target),
    steps: count,
    look: async (name) => [await readRemote(name), (await user.here(['stor', 'stat', `${name}-from`])).code],
  },
  {
    name: 'removal',
    before: 'cp -r tree NAME',
    line: 'rm -ry NAME',
    isStep: (method, target) => method === 'DELETE' && isFile(target),
    steps: count,
    look: async (name) => (await user.here(['stor', 'stat', name])).code,
  },
];

/** Runs a line through the proxy and ends it by a signal when a number of its steps have come. */
async function interrupt(words: readonly string[], signal: NodeJS.Signals, step: number, isStep: Kind['isStep']): Promise<void> {
  let seen = 0;
  onRequest = (method, target) => {
    if (isStep(method, target) && ++seen === step) child.kill(signal);
  };
  const child = spawn(join(user.home, 'bin/cloud'), [...words, '-q', '--stor-url', proxy.url], {
    cwd: user.home,
    env: user.env,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  await new Promise((resolve) => void child.on('close', resolve));
  onRequest = () => undefined;
  expect([words.slice(0, 3), child.signalCode, seen >= step]).toEqual([words.slice(0, 3), signal, true]);
}

/** Goes on with all that there is, which must leave no entry. @returns how many steps that took */
async function goOn(isStep: Kind['isStep'], takesProcess = false): Promise<number> {
  sent = [];
  const { code, stderr } = await (takesProcess ? user.cloud : user.here)(['resume', '--all', '-q']);
  const again = sent.filter((each) => isStep(...(each.split(' ', 2) as [string, string]))).length;
  expect([code, stderr]).toEqual([0, '']);
  expect(readdirSync(join(user.home, '.local/state/cloud/resume'))).toEqual([]);
  return again;
}

let names = 0;

async function prove(kind: Kind): Promise<void> {
  const run = async (line: string, name: string): Promise<void> => {
    const { code, stderr } = await user.here(['stor', ...line.replaceAll('NAME', name).split(' '), '-q']);
    expect([code, stderr]).toEqual([0, '']);
  };
  const words = (name: string): string[] => {
    const [verb = '', ...rest] = kind.line.replaceAll('NAME', name).split(' ');
    return ['stor', verb, ...rest, '-P', '2'];
  };
  const whole = `n${(names += 1)}`;
  if (kind.before !== undefined) await run(kind.before, whole);
  await run(kind.line, whole);
  const expected = await kind.look(whole);
  let share = 0;
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    for (let point = 0; point < points; point += 1) {
      const name = `n${(names += 1)}`;
      if (kind.before !== undefined) await run(kind.before, name);
      const half = Math.ceil(kind.steps / 2) + 1;
      const step = point === 0 ? half : 2 + Math.floor(random() * (kind.steps - 3));
      await interrupt(words(name), signal, step, kind.isStep);
      const again = await goOn(kind.isStep, kind.takesProcess);
      expect(await kind.look(name), `${kind.name}, ${signal} at step ${step}, seed ${seed}`).toEqual(expected);
      if (point === 0) share = Math.max(share, again / kind.steps);
    }
  }
  report('proof', {
    name: `${kind.name}, interrupted at half: steps of the next run`,
    ours: `${Math.round(share * 100)} %`,
    promise: 'under 60 %',
  });
  expect(share).toBeLessThan(0.6);
}

test.each(kinds)('$name', { timeout: scale(120_000, 1_200_000) }, prove);

/** Bytes of the file that is being written. */
function sizeOfPart(): number {
  const name = readdirSync(user.home).find((file) => file.endsWith('.part'));
  return name === undefined ? 0 : (lstatSync(join(user.home, name), { throwIfNoEntry: false })?.size ?? 0);
}

/** One large file: how much of it has moved is what counts. */
test.each([
  [
    'upload',
    'up',
    ['put', 'large'],
    async (name: string) => ({ '': (await user.json<{ contentMD5: string }>('stor', 'stat', name)).contentMD5 }),
  ],
  ['download', 'down', ['get', 'large'], readTree],
] as const)('%s of one file', { timeout: scale(120_000, 1_200_000) }, async (kind, direction, words, look) => {
  const expected = readTree('large');
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    for (let point = 0; point < scale(1, 20); point += 1) {
      const name = `n${(names += 1)}`;
      const part = point === 0 ? 0.5 : 0.1 + random() * 0.8;
      const before = proxy.moved[direction];
      const all = ['stor', ...words, name, '-P', '2', '--part-size', '5M', '--bwlimit', '64M', '-q', '--stor-url', proxy.url];
      const child = spawn(join(user.home, 'bin/cloud'), all, { cwd: user.home, env: user.env, stdio: 'ignore' });
      const ended = new Promise((resolve) => void child.on('close', resolve));
      const done = (): number => (direction === 'up' ? proxy.moved.up - before : sizeOfPart());
      while (done() < part * largeSize && child.exitCode === null) await sleep(5);
      child.kill(signal);
      await ended;
      expect(child.signalCode).toBe(signal);
      const interrupted = proxy.moved[direction];
      await goOn(() => false, true);
      expect(await look(name), `${signal} at ${part}, seed ${seed}`).toEqual(expected);
      const share = (proxy.moved[direction] - interrupted) / largeSize;
      if (point > 0) continue;
      report('proof', {
        name: `${kind}, ${signal} at half: bytes of the next run`,
        ours: `${Math.round(share * 100)} %`,
        promise: 'under 60 %',
      });
      expect(share).toBeLessThan(0.6);
    }
  }
  expect(readdirSync(user.home).filter((file) => file.endsWith('.part'))).toEqual([]);
  expect(await user.json('mpu', 'list')).toEqual([]);
});

test('inputs of a job', { timeout: scale(120_000, 1_200_000) }, async () => {
  // In four requests.
  const inputs = Array.from({ length: 4000 }, (_, at) => `/demo/stor/${'x'.repeat(200)}/${at}${'y'.repeat(70)}`);
  const isStep = (method: string, target: string): boolean => method === 'POST' && target.endsWith('/live/in');
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    for (let point = 0; point < points; point += 1) {
      const name = `j${(names += 1)}`;
      const step = 3 - (point % 3);
      await interrupt(['jobs', 'run', '--name', name, '--map', 'true', '-d', ...inputs], signal, step, isStep);
      const again = await goOn(isStep);
      const [id = ''] = (await user.here(['jobs', 'list', '-H', '-o', 'name', '--name', name])).stdout.trim().split('\n');
      const { stdout } = await user.here(['jobs', 'inputs', id, '-H']);
      expect(stdout.trim().split('\n'), `${signal} at request ${step}`).toEqual(inputs);
      expect((await user.json<{ inputDone: boolean }>('jobs', 'get', id)).inputDone).toBe(true);
      if (step === 3) expect(again / 4).toBeLessThan(0.6);
      await user.here(['jobs', 'cancel', id, '-y', '-q']);
    }
  }
});

test('a stream is listed as not resumable, and --drop removes its parts', { timeout: 60_000 }, async () => {
  writeFileSync(join(user.home, 'stream'), '');
  truncateSync(join(user.home, 'stream'), 40 * 1024 * 1024);
  let seen = 0;
  onRequest = (method, target) => {
    if (isPart(method, target) && ++seen === 4) child.kill('SIGKILL');
  };
  const line = `exec cloud stor put - streamed --part-size 5M -P 1 -q --stor-url ${proxy.url} < <(cat stream)`;
  const child = spawn('bash', ['-c', line], {
    cwd: user.home,
    env: { ...user.env, PATH: `${join(user.home, 'bin')}:${process.env['PATH'] ?? ''}` },
  });
  await new Promise((resolve) => void child.on('close', resolve));
  onRequest = () => undefined;
  const [row, ...others] = await user.json<{ id: string; state: string; source: string }[]>('resume');
  expect([row?.state, row?.source, others]).toEqual(['not resumable', 'stdin', []]);
  expect(await user.json<unknown[]>('mpu', 'list')).toHaveLength(1);
  expect((await user.here(['resume', row?.id ?? ''])).code).toBe(2);
  expect((await user.here(['resume', '--drop', row?.id ?? '', '-q'])).code).toBe(0);
  expect([await user.json('resume'), await user.json('mpu', 'list')]).toEqual([[], []]);
});

test('--drop removes what killed work left here and at the service; what is done stays', { timeout: 120_000 }, async () => {
  const slow = ['-P', '2', '--part-size', '5M', '--bwlimit', '64M'];
  const child = spawn(join(user.home, 'bin/cloud'), ['stor', 'get', 'large', 'dropped', ...slow, '-q', '--stor-url', proxy.url], {
    cwd: user.home,
    env: user.env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => void child.on('close', resolve));
  const journal = join(user.home, '.local/state/cloud/resume');
  const isBegun = (): boolean => existsSync(journal) && readdirSync(journal).some((name) => name.endsWith('.json'));
  while ((sizeOfPart() === 0 || !isBegun()) && child.exitCode === null) await sleep(5);
  child.kill('SIGKILL');
  await ended;
  await interrupt(['stor', 'put', 'large', 'dropped', ...slow], 'SIGKILL', 4, isPart);
  await interrupt(['stor', 'put', '-r', 'tree', 'dropped-tree', '-P', '1'], 'SIGKILL', count / 2, puts);
  const inputs = Array.from({ length: 2000 }, (_, at) => `/demo/stor/${'x'.repeat(200)}/${at}${'y'.repeat(70)}`);
  await interrupt(['jobs', 'run', '--name', 'dropped', '--map', 'true', '-d', ...inputs], 'SIGKILL', 2, (method, target) => {
    return method === 'POST' && target.endsWith('/live/in');
  });
  const listParts = (): string[] => readdirSync(user.home).filter((file) => file.endsWith('.part'));
  const listKinds = async (): Promise<string[]> => (await user.json<{ kind: string }[]>('resume')).map(({ kind }) => kind);
  expect((await listKinds()).toSorted()).toEqual(['download', 'job', 'upload', 'upload']);
  expect([listParts().length, (await user.json<unknown[]>('mpu', 'list')).length]).toEqual([1, 1]);

  const { code, stderr } = await user.cloud(['resume', '--drop', '--all', '-q']);
  expect([code, stderr]).toEqual([0, '']);
  expect([await listKinds(), readdirSync(journal)]).toEqual([[], []]);
  expect([listParts(), await user.json('mpu', 'list'), existsSync(join(user.home, 'dropped'))]).toEqual([[], [], false]);
  expect((await user.here(['stor', 'stat', 'dropped'])).code).toBe(3);
  expect(await user.json('jobs', 'get', 'dropped')).toMatchObject({ cancelled: true });
  const stored = Object.keys(await readRemote('dropped-tree')).length;
  expect([stored > 0, stored < count]).toEqual([true, true]);
});

test('of two that go on at once, one does the work', { timeout: 60_000 }, async () => {
  await interrupt(['stor', 'put', '-r', 'tree', 'both', '-P', '1'], 'SIGKILL', count / 2, puts);
  sent = [];
  const both = await Promise.all([user.cloud(['resume', '--all', '-q']), user.cloud(['resume', '--all', '-q'])]);
  expect(both.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  const stored = sent.filter((each) => puts(...(each.split(' ', 2) as [string, string])));
  expect(stored.length).toBe(new Set(stored).size);
  expect(await readRemote('both')).toEqual(await readRemote('tree'));
  expect(await user.json('resume')).toEqual([]);
});
