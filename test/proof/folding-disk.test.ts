import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/** Two names that are one file where the disk folds case or composes accents: the second fails by name, and nothing is lost on either side. */

const user = useLocal('--http');
let library = '';
let number = 0;
let folder = '';
let remote = '';

beforeAll(() => {
  library = join(user.home, 'folding-disk.so');
  execFileSync('gcc', ['-shared', '-fPIC', '-w', '-o', library, resolve(import.meta.dirname, '../support/folding-disk.c'), '-ldl']);
});

beforeEach(() => {
  number += 1;
  remote = `r${number}`;
  folder = join(user.home, `disk${number}`);
  mkdirSync(folder);
});

const place = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(place(name), 'utf8');
/** Runs a line where the disk folds names below the folder. */
const run = (line: string): Promise<Outcome> =>
  user.shell(line.replaceAll('REMOTE', remote), { cwd: folder, env: { LD_PRELOAD: library, FOLDING: folder } });
/** Stores objects, each with its name as content. */
const store = (...names: string[]): Promise<Outcome> =>
  user.shell(
    `cloud stor mkdir -q ${remote}; ${names.map((name) => `printf %s '${name}' | cloud stor put -q -p - '${remote}/${name}'`).join('; ')}`,
  );
const listThere = async (): Promise<string[]> =>
  (await user.json<{ path: string; type: string }[]>('stor', 'find', remote))
    .filter(({ type }) => type === 'object')
    .map(({ path }) => path.slice(`/demo/stor/${remote}/`.length))
    .toSorted();

test('the disk of this test folds names, and is one of its kind only below its folder', async () => {
  const script = `const fs = require('node:fs'); fs.writeFileSync('README', 'a'); fs.writeFileSync('readme', 'b'); fs.writeFileSync('e\u0301', 'c'); fs.writeFileSync('\u00e9', 'd');
    console.log(fs.readdirSync('.').length, fs.readFileSync('ReadMe', 'utf8'), fs.statSync('README').ino === fs.statSync('readme').ino)`;
  // Paths have to be whole, as those of the program are.
  const whole = script.replaceAll(/'(README|readme|ReadMe|e\u0301|\u00e9|\.)'/gu, (_, name: string) =>
    JSON.stringify(name === '.' ? folder : place(name)),
  );
  const { stdout } = await run(`node -e '${whole.replaceAll("'", `'\\''`)}'`);
  expect(stdout).toBe('2 b true\n');
  expect(statSync(place('README')).size).toBe(1);
});

const pairs: readonly [first: string, second: string][] = [
  ['README', 'readme'],
  ['e\u0301t', '\u00e9t'],
];

test.each(pairs)('%s and %s: get -r, sync and a plan fail with both names, and the first one stays whole', async (first, second) => {
  await store(first, second, 'other');
  for (const line of [
    'cloud stor get -r REMOTE got',
    'cloud stor sync stor:REMOTE got',
    'cloud stor sync stor:REMOTE synced',
    'cloud stor sync stor:REMOTE synced',
    'cloud stor sync stor:REMOTE planned --plan plan; cloud stor run plan',
    'cloud stor sync stor:REMOTE synced --delete -y',
    `mkdir many; cloud stor get 'REMOTE/${first}' 'REMOTE/${second}' many/`,
  ]) {
    const { code, stderr } = await run(line);
    expect([line, code, stderr.includes(first), stderr.includes(second)]).toEqual([line, 5, true, true]);
    expect(stderr).toContain('the same file on this file system');
  }
  for (const name of ['got', 'synced', 'planned', 'many']) {
    const [there = '', ...more] = readdirSync(place(name)).filter((each) => each !== 'other');
    expect([name, [first, second].includes(there), read(`${name}/${there}`) === there, more]).toEqual([name, true, true, []]);
  }
});

test('sync --delete back deletes nothing that it cannot tell apart', async () => {
  await store('README', 'readme', 'gone', 'D/x', 'd/y');
  await run('cloud stor sync stor:REMOTE tree; rm -f tree/gone');
  const { code, stderr } = await run('cloud stor sync tree stor:REMOTE --delete -y');
  expect([code, stderr.includes('tree/README'), stderr.includes('tree/readme')]).toEqual([5, true, true]);
  const there = await listThere();
  expect(there).toEqual(expect.arrayContaining(['README', 'readme', 'D/x', 'd/y']));
  expect(there).not.toContain('gone');
});

test.each(['cloud stor get -r REMOTE tree', 'cloud stor sync stor:REMOTE tree', 'cloud stor sync stor:REMOTE tree --delete -y'])(
  'two directories that are one are not mixed: %s',
  async (line) => {
    await store('D/x', 'D/same', 'd/y', 'd/same');
    for (let time = 0; time < 2; time += 1) {
      const { code, stderr } = await run(
        line
          .replace('tree', time === 0 ? 'tree' : 'tree -T')
          .replace(/(sync .*) -T/, '$1')
          .replace('tree -T', 'tree'),
      );
      expect([code, stderr]).toEqual([5, expect.stringMatching(/tree\/(r\d+\/)?d and .*tree\/(r\d+\/)?D are the same file/u)]);
    }
    const [name = ''] = readdirSync(place('tree'));
    expect(name).toMatch(/^(D|r\d+)$/u);
    expect(readdirSync(place('tree/D')).toSorted()).toEqual(['same', 'x']);
    expect(read('tree/D/same')).toBe('D/same');
    expect(await listThere()).toEqual(['D/same', 'D/x', 'd/same', 'd/y']);
  },
);

test('what is got again under its own name is no second file', async () => {
  await store('README', 'D/x');
  for (const line of ['cloud stor sync stor:REMOTE tree', 'cloud stor get -r REMOTE other', 'cloud stor sync stor:REMOTE other/r5']) {
    for (let time = 0; time < 2; time += 1) expect([line, (await run(line)).code]).toEqual([line, 0]);
  }
  await store('README', 'D/x');
  expect(
    (await run('printf changed! | cloud stor put -q - REMOTE/README; cloud stor sync stor:REMOTE tree && cat tree/README')).stdout,
  ).toBe('changed!');
});

test('a profile does not take the place of one that is the same file', async () => {
  const env = 'XDG_CONFIG_HOME=$PWD/config';
  const create = (name: string): string =>
    `${env} cloud profile create ${name} --url https://localhost:1 --account ${name} --key-id ${user.local.keyId} --no-test -q > made`;
  expect((await run(create('work'))).code).toBe(0);
  const { code, stderr } = await run(create('Work'));
  expect([code, stderr]).toEqual([2, expect.stringContaining('has the same file as another profile')]);
  expect(stderr).toContain('work');
  expect(JSON.parse(read('config/cloud/profiles/work.json'))).toMatchObject({ account: 'work' });
});
