import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

test('help has a page for each group of shared options, and the whole tree of commands as JSON', async () => {
  const options = await user.here(['help', 'options']);
  for (const name of ['--output', '--no-input', '--profile', '--max-requests-per-second', '--help']) expect(options.stdout).toContain(name);
  expect((await user.here(['help', 'transfer'])).stdout).toMatch(/^Transfer options:\n[^]*  -P, --parallel N /);
  expect((await user.here(['help', 'compare'])).stdout).toContain('--checksum');
  expect((await user.here(['help', 'filters'])).stdout).toContain('--exclude-from');
  expect((await user.here(['help', 'names'])).stdout).toContain('--paths-from');
  interface Tree {
    globalOptions: { name: string }[];
    commands: { command: string; options: { name: string; topic?: string }[]; examples: unknown[] }[];
  }
  const tree = await user.json<Tree>('help');
  expect(tree.globalOptions).toContainEqual(expect.objectContaining({ name: '--output', short: '-o' }));
  const sync = tree.commands.find(({ command }) => command === 'stor sync');
  expect(sync?.options).toContainEqual(expect.objectContaining({ name: '--exclude', kind: 'list', topic: 'filters' }));
  expect(tree.commands.every(({ examples }) => examples.length > 1)).toBe(true);
});

test.each([
  [['stor', 'upload', 'a', 'b'], 'cloud stor put a b'],
  [['stor', 'mb', 'x'], 'cloud stor mkdir x'],
  [['stor', 'head', 'x'], 'cloud stor stat x'],
  [['whoami'], 'cloud account get'],
  [['login'], 'cloud profile create NAME'],
  [['imges', 'list', '--os', 'linux'], 'cloud images list'],
  [['users', 'new', 'jill'], 'cloud users create jill'],
  [['keys', 'describe', 'x'], 'cloud keys get x'],
])('%j names the command that was meant', async (words, hint) => {
  const { code, stderr } = await user.here(words);
  expect([code, stderr.split('\n')[1]]).toEqual([2, `hint: ${hint}`]);
});

test('an option that takes one value is refused twice; --no-input never asks', async () => {
  const twice = await user.here(['images', 'list', '--os', 'linux', '--os', 'bsd']);
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('--os is given more than once')]);
  expect((await user.here(['images', 'list', '-o', 'json', '-o', 'name'])).code).toBe(0);
  await user.here(['stor', 'mkdir', 'asked']);
  const asked = await user.here(['stor', 'rm', 'asked', '--no-input']);
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('Nothing was done: --no-input is given\nhint: add --yes')]);
});

test.each([
  'profile',
  'account',
  'user',
  'role',
  'key-id',
  'key-file',
  'url',
  'stor-url',
  'api-version',
  'ca',
  'timeout',
  'max-time',
  'retries',
  'max-requests-per-second',
  'columns',
  'sort',
])('--%s without a value is refused, as an unset variable gives it', async (name) => {
  for (const words of [[`--${name}=`], [`--${name}`, '']]) {
    const { code, stderr } = await user.here(['keys', 'list', ...words], { env: { CLOUD_PROFILE: '', CLOUD_ROLE: '' } });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`: --${name}: the value is empty\nhint: probably an unset variable`)]);
  }
});

test.each([
  ['jobs', 'run', '--map', 'wc', '--name', ''],
  ['keys', 'create', 'key.pub', '--name', ''],
  ['stor', 'put', 'key.pub', 'x', '--type', ''],
  ['local', 'start', '--host', ''],
  ['images', 'update', 'web', '--tag', ''],
  ['stor', 'put', 'key.pub', 'x', '--meta', ''],
  ['stor', 'find', 'x', '--exclude', ''],
  ['jobs', 'run', '--map', 'wc', '--asset', ''],
  ['jobs', 'run', '--map', ''],
])('cloud %s %s: an empty value is no option left out', async (...words) => {
  const { code, stderr } = await user.here(words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`: ${words.at(-2)}: the value is empty\nhint: probably an unset variable`)]);
});

test.each<[words: string[], message: string]>([
  [['server', 'gateway', '--no-jobs', '--job-slots', '2'], '--no-jobs and --job-slots cannot be combined'],
  [['server', 'gateway', '--no-jobs', '--job-time-limit', '5m'], '--no-jobs and --job-time-limit cannot be combined'],
  [['server', 'gateway', '--no-jobs', '--isolation', 'none'], '--no-jobs and --isolation cannot be combined'],
  [['local', 'run', '--empty', '--snapshot', 'x', '--', 'true'], '--empty and --snapshot cannot be combined'],
])('cloud %j: an option without an effect is refused', async (words, message) => {
  const { code, stderr } = await user.here(words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test.each([
  [{ CLOUD_TIMEOUT: 'abc' }, [], 'environment CLOUD_TIMEOUT: "abc" is not a duration'],
  [{}, ['--max-time', 'abc'], 'option --max-time: "abc" is not a duration'],
])('a limit that is no duration is named with its source', async (env, words, message) => {
  const { code, stderr } = await user.here(['keys', 'list', ...words], { env });
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('at most so many requests are sent per second', async () => {
  const words = ['stor', 'stat', 'a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of words.slice(2)) await user.here(['stor', 'mkdir', name]);
  const start = performance.now();
  expect((await user.here([...words, '--max-requests-per-second', '5'])).code).toBe(0);
  // Six requests or more: one is sent at once, each other 200 ms later.
  expect(performance.now() - start).toBeGreaterThan(1000);
  expect((await user.here(['stor', 'ls', '--max-requests-per-second', '0'])).code).toBe(2);
});

test('aliases stand for command lines, and programs on the PATH are commands', async () => {
  expect(await user.here(['alias', 'set', 'linux', 'images list --os linux'])).toMatchObject({ code: 0 });
  expect((await user.here(['linux', '-o', 'name'])).stdout).toBe(
    (await user.here(['images', 'list', '--os', 'linux', '-o', 'name'])).stdout,
  );
  expect((await user.here(['alias', 'list', '-H'])).stdout).toMatch(/^linux +images list --os linux\n$/);
  expect(await user.here(['help', 'linux'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^cloud linux is an alias for: cloud images list --os linux\n\n[^]*List [^]*--os/) as string,
  });
  expect((await user.here(['alias', 'set', 'images', 'keys list'])).stderr).toContain('"images" is a command of cloud');
  expect((await user.here(['alias', 'set', 'x', 'nonsense'])).code).toBe(2);
  for (const words of [['-q'], ['--profile', 'local'], ['-o', 'json']]) expect((await user.here([...words, 'linux', '-H'])).code).toBe(0);
  const placeholder = await user.here(['alias', 'set', 'of', 'images list --os "$1"']);
  expect([placeholder.code, placeholder.stderr]).toEqual([
    2,
    expect.stringContaining('no placeholders such as $1: the other arguments follow'),
  ]);
  const pipe = await user.here(['alias', 'set', 'pipe', 'images list | head']);
  expect([pipe.code, pipe.stderr]).toEqual([2, expect.stringContaining('"|" is shell syntax')]);
  expect(await user.json('alias', 'set', 'mine', 'images list')).toEqual({ name: 'mine', line: 'images list' });
  expect(await user.json('alias', 'delete', 'mine')).toEqual([{ name: 'mine' }]);
  expect(await user.json('profile', 'use', 'local')).toEqual({ name: 'local' });
  expect((await user.here(['images', 'list', '-j', '-o', 'table'])).stderr).toContain('-j and -o table cannot be combined');
  expect((await user.here(['alias', 'delete', 'linux'])).code).toBe(0);
  expect((await user.here(['linux'])).code).toBe(2);
  mkdirSync(join(user.home, 'plugins'));
  const file = user.write('plugins/cloud-hello', '#!/bin/sh\necho "hello $*"; exit 7\n');
  chmodSync(file, 0o755);
  const env = { PATH: `${join(user.home, 'plugins')}:${process.env['PATH'] ?? ''}` };
  expect(await user.cloud(['hello', 'you', '-j'], { env })).toMatchObject({ code: 7, stdout: 'hello you -j\n' });
  expect((await user.cloud(['-q', '--profile', 'local', 'hello', 'you'], { env })).stdout).toBe('hello -q --profile local you\n');
  // A relative folder is not trusted.
  expect((await user.cloud(['hello'], { env: { PATH: 'plugins' } })).code).toBe(2);
});

test('completion offers what is on this machine, as it is now, and the further names of a list', async () => {
  const offer = async (source: string, typed: string, ...words: string[]): Promise<string[]> =>
    (await user.here(['__complete', source, typed, ...words])).stdout.split('\n').map((line) => line.split('\t')[0] ?? '');
  await user.here(['alias', 'set', 'mine', 'images list --mine']);
  expect(await offer('alias', '', 'alias', 'delete')).toEqual(['mine', '']);
  await user.here(['alias', 'delete', 'mine']);
  expect(await offer('alias', '', 'alias', 'delete')).toEqual(['']);
  expect(await offer('snapshot', '', 'local', 'snapshot', 'restore')).not.toContain('ready');
  await user.here(['local', 'snapshot', 'create', 'ready']);
  expect(await offer('snapshot', 'rea', 'local', 'snapshot', 'restore')).toEqual(['ready', '']);
  expect(await offer('snapshot', '', 'local', 'snapshot', 'restore', '--data', 'nosuch')).toEqual(['']);
  expect(await offer('failure', 'st', 'local', 'faults', 'add', 'listkeys')).toEqual(['stall', 'stall-upload', 'stale:3s', '']);
  expect(await offer('failure', 'Vm', 'local', 'faults', 'add', 'imagecreation')).toEqual(['VmHasNoOrigin', '']);
  expect(await offer('datacenter', 'local,l', 'images', 'list', '--dc')).toEqual(['local,local-2', '']);
  expect(await offer('field-list', 'id,ver', 'images', 'list', '--columns')).toEqual(['id,version', '']);
  expect(await offer('field-list', 'os,-vers', 'images', 'list', '--sort')).toEqual(['os,-version', '']);
  const help = await user.here(['profile', 'edit', '--help']);
  expect(help.stdout).toContain('--default-output table|json|jsonl|yaml|csv|tsv|name');
});
