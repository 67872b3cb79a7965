import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { execFileSync, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared();
const program = resolve(import.meta.dirname, '../../bin/cloud');

/** What each command has loaded: one run answers all that is asked of it. */
const known = new Map<string, string[]>();

/** Names of the chunks and built-in modules that a command loads. */
function listLoaded(...words: string[]): string[] {
  const before = known.get(words.join(' '));
  if (before !== undefined) return before;
  const hook = join(user.home, 'hook.cjs');
  const file = join(user.home, 'loaded.json');
  const script = `process.on('exit', () => require('fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify([...Object.keys(require.cache), ...process.moduleLoadList])));`;
  writeFileSync(hook, script);
  execFileSync(process.execPath, ['--require', hook, program, ...words], { env: user.env, stdio: 'ignore' });
  const loaded = (JSON.parse(readFileSync(file, 'utf8')) as string[]).map((name) => (name.startsWith('/') ? basename(name) : name));
  rmSync(file);
  known.set(words.join(' '), loaded);
  return loaded;
}

const packages = /^(npm-(?!commander-)|libsql\b)/;

test.each([[['--version']], [['--help']], [['images', '--help']], [['completion', 'bash']]])('%j loads no outside package', (words) => {
  expect(listLoaded(...words).filter((name) => packages.test(name))).toEqual([]);
});

test.each([[['--version']], [['--help']], [['images', '--help']]])('%j loads no signing and no HTTP', (words) => {
  expect(listLoaded(...words).filter((name) => /^(signer|send-|NativeModule (https|http|tls|crypto)$)/.test(name))).toEqual([]);
});

test('--version does not even load the parser', () => {
  expect(listLoaded('--version').filter((name) => name.startsWith('npm-commander-'))).toEqual([]);
});

test.each([[['images', 'list']], [['keys', 'list', '-j']]])('%j loads commander alone of the outside packages', (words) => {
  expect(listLoaded(...words).filter((name) => packages.test(name))).toEqual([]);
});

test.each([[['images', 'list']], [['packages', 'list']]])('%j, without an option, loads no outside package', (words) => {
  expect(listLoaded(...words).filter((name) => name.startsWith('npm-'))).toEqual([]);
});

test.each([
  ['--help', 3],
  ['images list --help', 6],
  ['images list', 6],
  ['stor ls', 8],
  ['stor ls --help', 9],
  ['stor get --help', 14],
  ['jobs list --help', 11],
])('%s loads few files of the program: each takes a third of a millisecond', (line, most) => {
  const own = listLoaded(...line.split(' ')).filter((name) => /-[\w-]{8}\.js$/.test(name));
  expect(own).toContainEqual(expect.stringMatching(/^start-/));
  expect(own.length, own.join()).toBeLessThanOrEqual(most);
});

test('short output to a pipe needs no stream', () => {
  expect(listLoaded('--help').filter((name) => /^NativeModule (net|stream)$/.test(name))).toEqual([]);
});

test('a TLS session is kept for one release of Node.js: what another made would be reported as a broken key', async () => {
  const folder = join(user.home, '.cache/cloud/tls');
  await user.json('images', 'list');
  const kept = readdirSync(folder);
  const hook = join(user.home, 'release.cjs');
  writeFileSync(hook, `Object.defineProperty(process, 'version', { value: 'v99.0.0' });`);
  execFileSync(process.execPath, ['--require', hook, program, 'images', 'list'], { env: user.env });
  const both = readdirSync(folder);
  expect(both).toHaveLength(kept.length + 1);
  expect(both).toEqual(expect.arrayContaining(kept));
});

test('each place of the program keeps compiled code of its own, and what is old goes', () => {
  const folder = join(user.home, 'own/cloud/code');
  const env = { ...user.env, XDG_CACHE_HOME: join(user.home, 'own') };
  const run = (file: string): Buffer => execFileSync(process.execPath, [file, '--version'], { env });
  run(program);
  const old = join(folder, 'v20.0.0');
  writeFileSync(old, 'old');
  utimesSync(old, 0, 0);
  for (const part of ['bin', 'dist']) {
    cpSync(join(program, '../..', part), join(user.home, 'other', part), { recursive: true, verbatimSymlinks: true });
  }
  run(join(user.home, 'other/bin/cloud'));
  expect(readdirSync(folder)).not.toContain('v20.0.0');
  const names = readdirSync(folder).filter((name) => name.startsWith(`${process.version}-`));
  expect(names).toHaveLength(2);
  const look = (): number[] => names.map((name) => statSync(join(folder, name)).mtimeMs);
  const before = look();
  for (const file of [program, join(user.home, 'other/bin/cloud'), program]) run(file);
  expect(look()).toEqual(before);
});

test('another build in the same place runs its own code, also where a file has kept its name and its length', () => {
  const folder = join(user.home, 'built');
  for (const part of ['bin', 'dist']) cpSync(join(program, '../..', part), join(folder, part), { recursive: true, verbatimSymlinks: true });
  const env = { ...user.env, XDG_CACHE_HOME: join(user.home, 'built-cache') };
  const help = (): string => execFileSync(process.execPath, [join(folder, 'bin/cloud'), '--help'], { env, encoding: 'utf8' });
  const words = 'cloud manages a cloud';
  for (const _ of [1, 2]) expect(help()).toContain(words);
  const bundle = readdirSync(join(folder, 'dist')).find((name) => name.startsWith('bundle-')) ?? '';
  const next = bundle.replace(/[0-9a-f]{12}/, '0123456789ab');
  writeFileSync(
    join(folder, 'dist', next),
    readFileSync(join(folder, 'dist', bundle), 'latin1').replace(words, words.toUpperCase()),
    'latin1',
  );
  const start = join(folder, 'dist/start.js');
  writeFileSync(start, readFileSync(start, 'latin1').replace(bundle, next), 'latin1');
  for (const _ of [1, 2]) expect(help()).toContain(words.toUpperCase());
});

test.each([
  ['missing', undefined],
  ['empty', ''],
])('with HOME %s, files are kept in the home folder of the user database, and not in the root of the disk', (name, value) => {
  const home = join(user.home, `home-${name}`);
  const hook = join(user.home, 'home.cjs');
  writeFileSync(hook, `require('node:os').homedir = () => process.env.HOME ?? ${JSON.stringify(home)};`);
  const { XDG_CACHE_HOME: _, XDG_CONFIG_HOME: __, ...env } = user.env;
  const words = ['--require', hook, program, 'alias', 'set', 'pics', 'images list'];
  execFileSync(process.execPath, words, { env: { ...env, HOME: value } });
  expect(readdirSync(join(home, '.cache/cloud/code'))).toHaveLength(1);
  expect(readdirSync(join(home, '.config/cloud'))).toEqual(['aliases.json']);
});

test('a full disk is left as it was: of compiled code that did not fit nothing stays', () => {
  const hook = join(user.home, 'full.cjs');
  writeFileSync(
    hook,
    `const fs = require('node:fs'); const { writeFileSync } = fs;
    fs.writeFileSync = (path, bytes) => { writeFileSync(path, bytes.subarray(0, 100)); throw new Error('ENOSPC'); };`,
  );
  const env = { ...user.env, XDG_CACHE_HOME: join(user.home, 'full') };
  execFileSync(process.execPath, ['--require', hook, program, '--version'], { env });
  expect(readdirSync(join(user.home, 'full/cloud/code'))).toEqual([]);
});

test('a run of a new kind adds what it calls to the compiled code, and the same run adds nothing', () => {
  const fresh = { ...user.env, XDG_CACHE_HOME: join(user.home, 'fresh') };
  const size = (...words: string[]): number => {
    execFileSync(process.execPath, [program, ...words], { env: fresh });
    const folder = join(user.home, 'fresh/cloud/code');
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  };
  const version = size('--version');
  const help = size('--help');
  expect(help).toBeGreaterThan(version);
  expect([size('--version'), size('--help')]).toEqual([help, help]);
});

test.each([
  [20, 'stor get -r -q tree-20 got', 'opt'],
  [20, 'stor put -r -q tree-20 kept', 'opt'],
  [600, 'stor sync -q tree-600 stor:tree-600', 'incremental-marking'],
])('what V8 compiles of %i files while it puts off work is accepted by the next command: %s', async (count, line, preparation) => {
  const folder = `tree-${count}`;
  for (let number = 0; number < count; number += 1) user.write(`${folder}/${number}`, String(number));
  // The content of a file that has just been changed is read again.
  await user.shell(`touch -d 2026-01-01 ${folder}/*`);
  for (const _ of [1, 2]) await user.line(`cloud stor sync -q ${folder} stor:${folder}`);
  const hook = join(user.home, 'rejected.cjs');
  const log = join(user.home, `rejected-${line.split(' ')[1]}`);
  const script = `const vm = require('node:vm'); const { Script } = vm; const v8 = require('node:v8'); const { setFlagsFromString } = v8;
    const note = (text) => require('node:fs').appendFileSync(${JSON.stringify(log)}, text + '\\n');
    vm.Script = class extends Script { constructor(...given) { super(...given); note(this.cachedDataRejected); } };
    v8.setFlagsFromString = (flag) => { note(flag); setFlagsFromString(flag); };`;
  writeFileSync(hook, script);
  const env = { ...user.env, XDG_CACHE_HOME: `${log}-cache` };
  const options = { env, cwd: user.home };
  for (const _ of [1, 2]) execFileSync(process.execPath, ['--require', hook, program, ...line.split(' ')], options);
  const noted = readFileSync(log, 'utf8').trim().split('\n');
  expect([noted.includes('false'), noted.includes('true')]).toEqual([true, false]);
  const flags = noted.filter((text) => text.startsWith('--'));
  // After a second the flag is set back, and at the end of the program.
  expect([...new Set(flags)]).toEqual(process.versions.node.startsWith('20.') ? [`--no-${preparation}`, `--${preparation}`] : []);
  expect(flags.at(-1) ?? '').not.toContain('--no-');
});

test.each(['find many', 'tree many', 'ls -0 many'])('stor %s writes its lines together, not each by itself', async (line) => {
  for (let number = 0; number < 20; number += 1) user.write(`many/${number}`, String(number));
  await user.line('cloud stor put -r -q many many');
  const hook = join(user.home, 'writes.cjs');
  const log = join(user.home, 'writes.txt');
  const script = `const fs = require('node:fs'); const { writeSync } = fs; let writes = 0;
    fs.writeSync = (fd, ...given) => { if (fd === 1) writes += 1; return writeSync(fd, ...given); };
    process.on('exit', () => fs.writeFileSync(${JSON.stringify(log)}, String(writes)));`;
  writeFileSync(hook, script);
  const { code, stdout } = await user.shell(`cloud stor ${line} > out && tr '\\0' '\\n' < out`, {
    env: { NODE_OPTIONS: `--require "${hook}"` },
  });
  expect([code, stdout.split('\n').length > 20]).toEqual([0, true]);
  expect(Number(readFileSync(log, 'utf8'))).toBeLessThan(4);
});

test('after a first command a TLS session is resumed', async () => {
  await user.json('images', 'list');
  const log = join(user.home, 'reused.txt');
  const hook = join(user.home, 'reused.cjs');
  const script = `const tls = require('node:tls'); const { connect } = tls; tls.connect = (...given) => { const socket = connect(...given);
    socket.on('secureConnect', () => require('node:fs').appendFileSync(${JSON.stringify(log)}, socket.isSessionReused() + '\\n')); return socket; };`;
  writeFileSync(hook, script);
  execFileSync(process.execPath, ['--require', hook, program, 'images', 'list'], { env: user.env });
  expect(readFileSync(log, 'utf8')).toBe('true\n');
});

test.each<[line: string, code: number]>([
  ['--version', 0],
  ['--help', 0],
  ['images list', 0],
  ['stor ls nothing-there', 3],
  ['keys --frobnicate', 2],
])('%s: the program runs the same without compiled code (CLOUD_NO_CODE_CACHE=1), and keeps none', async (line, code) => {
  const cache = join(user.home, `cache-${line.replaceAll(' ', '-')}`);
  const run = (env: Record<string, string>) => user.cloud(line.split(' '), { env: { XDG_CACHE_HOME: cache, ...env } });
  const without = await run({ CLOUD_NO_CODE_CACHE: '1' });
  expect(existsSync(join(cache, 'cloud/code'))).toBe(false);
  const first = await run({});
  expect(readdirSync(join(cache, 'cloud/code'))).toHaveLength(1);
  const second = await run({});
  const show = ({ code: exit, stdout, stderr }: typeof first) => ({ exit, stdout, stderr });
  expect(without.code).toBe(code);
  for (const each of [first, second]) expect(show(each)).toEqual(show(without));
});

test('compiled code that would run in the place of the own code of the program is not even looked at with CLOUD_NO_CODE_CACHE=1', async () => {
  const cache = join(user.home, 'damaged');
  const run = (env: Record<string, string>) => user.cloud(['--help'], { env: { XDG_CACHE_HOME: cache, ...env } });
  const first = await run({});
  const file = join(cache, 'cloud/code', readdirSync(join(cache, 'cloud/code'))[0] ?? '');
  writeFileSync(file, 'damaged');
  expect(await run({ CLOUD_NO_CODE_CACHE: '1' })).toEqual(first);
  expect([first.code, readFileSync(file, 'utf8')]).toEqual([0, 'damaged']);
});

test.each<[line: string, code: number]>([
  ['--version', 0],
  ['images list', 0],
  ['images lst', 2],
  ['stor cat none', 3],
])('%s ends by itself where process.exit can wait forever, and elsewhere by process.exit, which is quicker', (line, code) => {
  const hook = join(user.home, 'exit.cjs');
  const file = join(user.home, 'exit-called');
  rmSync(file, { force: true });
  const script = `const { reallyExit } = process; process.reallyExit = (code) => { require('fs').writeFileSync(${JSON.stringify(file)}, ''); reallyExit.call(process, code); };`;
  writeFileSync(hook, script);
  const { status } = spawnSync(process.execPath, ['--require', hook, program, ...line.split(' ')], { env: user.env, stdio: 'ignore' });
  expect([status, existsSync(file)]).toEqual([code, Number.parseInt(process.versions.node, 10) < 24]);
});
