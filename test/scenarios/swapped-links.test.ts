import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';

/** Trees in which links take the place of files and directories while a command is under way. */

const user = useShared('--http');
const at = (name: string): string => join(user.home, name);
let proxy: FaultProxy | undefined;

afterEach(async () => {
  await proxy?.close();
});

/** Runs a command, one transfer at a time; changes the tree when the first request for `name` arrives. */
async function runWhile(name: string, change: () => void, ...words: string[]) {
  let isDone = false;
  const choose = (method: string, _random: () => number, target: string): 'none' => {
    if (!isDone && ['GET', 'PUT'].includes(method) && target.split('?')[0]?.endsWith(name) === true) {
      isDone = true;
      change();
    }
    return 'none';
  };
  const started = await startFaultProxy(user.local.storUrl, choose, 1);
  proxy = started;
  // A pipe that nobody writes to would hold the program for ever, and no signal would end it.
  const line = `timeout -s KILL 40 cloud stor ${words.join(' ')} -P 1 -q --stor-url ${started.url}`;
  const outcome = await user.shell(line);
  expect(isDone).toBe(true);
  return outcome;
}

/** A tree, and a directory beside it with files of the same names. */
function makeTrees(tree: string): void {
  for (const name of ['a', 'b', 'm/key', 'm/z']) user.write(`${tree}/${name}`, `${name} of the tree`);
  for (const name of ['key', 'z']) user.write(`outside/${name}`, `${name} outside, not to be touched`);
}

function leadOut(folder: string): void {
  renameSync(folder, `${folder}.gone`);
  symlinkSync(at('outside'), folder);
}

async function readStored(path: string): Promise<string> {
  return (await user.here(['stor', 'cat', path])).stdout;
}

test.each([
  ['get -r', ['get', '-r', 'down']],
  ['sync', ['sync', 'stor:down']],
])('%s writes to no directory that a link leads to by now', async (_, words) => {
  makeTrees('source');
  await user.here(['stor', 'put', '-r', '-T', 'source', 'down']);
  rmSync(at('local'), { recursive: true, force: true });
  const { code, stderr } = await runWhile('/m/key', () => leadOut(at('local/m')), ...words, 'local');
  expect([code, stderr]).toEqual([5, expect.stringContaining('local/m is a symbolic link and is not followed') as string]);
  expect(['key', 'z'].map((name) => readFileSync(at(`outside/${name}`), 'utf8'))).toEqual([
    'key outside, not to be touched',
    'z outside, not to be touched',
  ]);
});

test.each([
  ['put -r', ['put', '-r', '-T', 'tree', 'up']],
  ['sync', ['sync', 'tree', 'stor:up2']],
])('%s stores nothing that a link leads to by now', async (_, words) => {
  rmSync(at('tree'), { recursive: true, force: true });
  makeTrees('tree');
  const target = words.at(-1)?.replace('stor:', '') ?? '';
  const { code, stderr } = await runWhile(
    '/a',
    () => {
      rmSync(at('tree/b'));
      symlinkSync(at('outside/key'), at('tree/b'));
      leadOut(at('tree/m'));
    },
    ...words,
  );
  expect([code, stderr]).toEqual([5, expect.stringContaining('tree/') as string]);
  expect([await readStored(`${target}/a`), await readStored(`${target}/b`), await readStored(`${target}/m/z`)]).toEqual([
    'a of the tree',
    '',
    '',
  ]);
});

test.each([
  ['put -r', ['put', '-r', '-T', 'pipes', 'pipes']],
  ['sync', ['sync', 'pipes', 'stor:pipes2']],
])('%s does not wait for a pipe that has taken the place of a file', async (_, words) => {
  rmSync(at('pipes'), { recursive: true, force: true });
  mkdirSync(at('pipes'));
  for (const name of ['a', 'b']) user.write(`pipes/${name}`, name);
  await user.shell('rm -f pipe; mkfifo pipe');
  const { code, signal, stderr } = await runWhile('/a', () => renameSync(at('pipe'), at('pipes/b')), ...words);
  expect([code, signal, stderr]).toEqual([5, null, expect.stringContaining('pipes/b') as string]);
});
