import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { useLocal, type Outcome } from '../support/sandbox.ts';

/** A plan touches nothing outside of the two directories of its first line, and deletes nothing without a yes. */

const user = useLocal('--http');
let number = 0;
let folder = '';
let remote = '';

const place = (name: string): string => join(folder, name);
const run = (line: string): Promise<Outcome> => user.shell(line.replaceAll('REMOTE', remote), { cwd: folder });
const listThere = async (path: string): Promise<string[]> =>
  (await user.json<{ name: string }[]>('stor', 'ls', path)).map(({ name }) => name);

beforeEach(async () => {
  number += 1;
  remote = `plan${number}`;
  folder = join(user.home, `case${number}`);
  mkdirSync(place('tree/d'), { recursive: true });
  writeFileSync(place('tree/a'), 'a');
  writeFileSync(place('tree/d/b'), 'b');
  writeFileSync(place('secret'), 'the private key');
  await run('cloud stor mkdir -q REMOTE; echo other | cloud stor put -q - REMOTE-other');
});

describe('a forged plan', () => {
  interface Forgery {
    /** Changes of the first line, by which a plan up or down is named. */
    readonly head?: object;
    readonly step: object;
  }
  const up = (rel: string, more: object = {}): object => ({
    action: 'copy',
    from: place(`tree/${rel}`),
    to: `stor:/demo/stor/${remote}/${rel}`,
    rel,
    target: { etag: '' },
    size: 1,
    reason: 'new',
    ...more,
  });
  const down = (rel: string, more: object = {}): object => ({
    ...up(rel),
    from: `stor:/demo/stor/${remote}/${rel}`,
    to: place(`tree/${rel}`),
    target: { size: -1 },
    ...more,
  });
  const heads = {
    up: () => ({ plan: 1, from: place('tree'), to: `stor:/demo/stor/${remote}`, deletes: true }),
    down: () => ({ plan: 1, from: `stor:/demo/stor/${remote}`, to: place('tree'), deletes: true }),
  };
  const forgeries: readonly [name: string, way: 'up' | 'down', forgery: () => Forgery, message: string][] = [
    ['reads a file elsewhere', 'up', () => ({ step: up('a', { from: place('secret') }) }), 'is not a below'],
    ['reads by ..', 'up', () => ({ step: up('../secret', { to: 'stor:/demo/stor/secret' }) }), 'not a path below'],
    ['reads by .. in the place alone', 'up', () => ({ step: up('x', { from: `${place('tree')}/x/../../secret` }) }), 'is not x below'],
    ['writes an object elsewhere', 'up', () => ({ step: up('a', { to: 'stor:/demo/stor/elsewhere' }) }), 'is not a below'],
    ['writes to another account', 'up', () => ({ step: up('a', { to: `stor:/other/stor/${remote}/a` }) }), 'is not a below'],
    ['writes a file elsewhere', 'down', () => ({ step: down('a', { to: place('secret') }) }), 'is not a below'],
    [
      'writes a file by ..',
      'down',
      () => ({ step: down('../secret', { from: 'stor:/demo/stor/secret', to: place('secret') }) }),
      'not a path below',
    ],
    [
      'deletes elsewhere',
      'up',
      () => ({ step: { action: 'delete', rel: 'x', to: `stor:/demo/stor/${remote}-other`, target: { etag: 'e' } } }),
      'is not x below',
    ],
    [
      'deletes a file elsewhere',
      'down',
      () => ({ step: { action: 'delete', rel: 'secret', to: place('secret'), target: { size: 15 } } }),
      'is not secret below',
    ],
    ['deletes its root', 'down', () => ({ step: { action: 'rmdir', rel: '', to: place('tree') } }), 'not a path below'],
    ['has no condition', 'down', () => ({ step: down('a', { target: undefined }) }), '"target" does not describe'],
    ['has half a condition', 'down', () => ({ step: down('a', { target: { size: 1 } }) }), '"target" does not describe'],
    ['has the condition of the other kind', 'up', () => ({ step: up('a', { target: { size: -1 } }) }), '"target" does not describe'],
    [
      'deletes without a condition',
      'up',
      () => ({ step: { action: 'delete', rel: 'a', to: `stor:/demo/stor/${remote}/a` } }),
      '"target" does not describe',
    ],
    ['has no first line', 'up', () => ({ head: { plan: undefined }, step: up('a') }), 'the two directories of the plan'],
    ['has roots that are no places', 'up', () => ({ head: { from: 'tree' }, step: up('a') }), 'absolute file path'],
    [
      'has a root with ..',
      'up',
      () => ({ head: { from: `${place('tree')}/..` }, step: up('secret', { from: place('secret') }) }),
      'not an absolute, normalized path',
    ],
    [
      'deletes though it says not to',
      'up',
      () => ({ head: { deletes: false }, step: { action: 'rmdir', rel: 'd', to: `stor:/demo/stor/${remote}/d` } }),
      'without --delete',
    ],
    [
      'is for two local directories',
      'down',
      () => ({ head: { from: place('other') }, step: down('a', { from: place('other/a') }) }),
      'both',
    ],
  ];

  test.each(forgeries)('that %s is refused before anything is done', async (_, way, forge, message) => {
    const { head = {}, step } = forge();
    const good = way === 'up' ? up('d') : down('d');
    const lines = [{ ...heads[way](), ...head }, { ...good, action: 'mkdir', from: undefined }, step];
    writeFileSync(place('plan'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    for (const line of ['cloud stor run plan --yes', 'cat plan | cloud stor run - --yes']) {
      const { code, stderr } = await run(line);
      expect([line, code, stderr]).toEqual([line, 2, expect.stringContaining(message)]);
    }
    expect([readFileSync(place('secret'), 'utf8'), existsSync(place('tree/d/b'))]).toEqual(['the private key', true]);
    expect((await run('cloud stor cat REMOTE-other')).stdout).toBe('other\n');
    expect(await listThere(remote)).not.toContain('a');
  });

  test('is led nowhere by links either', async () => {
    mkdirSync(place('outside'));
    writeFileSync(place('outside/b'), 'mine');
    symlinkSync('../outside', place('tree/link'));
    symlinkSync('../secret', place('tree/key'));
    await run('echo new | cloud stor put -q -p - REMOTE/link/b');
    const attack = async (way: 'up' | 'down', ...steps: object[]): Promise<Outcome> => {
      writeFileSync(place('plan'), [heads[way](), ...steps].map((line) => `${JSON.stringify(line)}\n`).join(''));
      return await run('cloud stor run plan --yes');
    };
    const { size, mtime } = { size: 4, mtime: (await run('date -u -r outside/b +%Y-%m-%dT%H:%M:%S.%NZ')).stdout.trim() };
    for (const step of [
      { action: 'delete', rel: 'link/b', to: place('tree/link/b'), target: { size, mtime } },
      { action: 'rmdir', rel: 'link/d', to: place('tree/link/d') },
      { action: 'mkdir', rel: 'link/d', to: place('tree/link/d'), target: { size: -1 } },
      down('link/b', { target: { size, mtime } }),
      down('link/new', { from: `stor:/demo/stor/${remote}/link/new` }),
    ]) {
      const { code, stderr } = await attack('down', step);
      expect([step, code, stderr]).toEqual([step, 1, expect.stringContaining('link')]);
    }
    for (const rel of ['key', 'link/b']) {
      const { code, stderr } = await attack('up', up(rel, { target: { etag: '' } }));
      expect([rel, code, stderr]).toEqual([rel, 1, expect.stringContaining('leads out of')]);
    }
    expect([readFileSync(place('outside/b'), 'utf8'), existsSync(place('outside/d')), existsSync(place('outside/new'))]).toEqual([
      'mine',
      false,
      false,
    ]);
    expect(await listThere(remote)).toEqual(['link']);
  });
});

test('a plan is what sync does, with its directories in the first line, and can be filtered and run again', async () => {
  await run('cloud stor put -q secret REMOTE/extra; cloud stor sync tree stor:REMOTE --delete --plan plan -q');
  const [head = ''] = readFileSync(place('plan'), 'utf8').split('\n');
  expect(JSON.parse(head)).toEqual({ plan: 1, from: place('tree'), to: `stor:/demo/stor/${remote}`, deletes: true });
  const asked = await run('cloud stor run plan');
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
  expect(await listThere(remote)).toEqual(['extra']);
  const piped = await run('cat plan | cloud stor run -');
  expect([piped.code, piped.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
  expect(await listThere(remote)).toEqual(['extra']);
  expect((await run('grep -v extra plan > some; cloud stor run some')).code).toBe(0);
  expect(await listThere(remote)).toEqual(['a', 'd', 'extra']);
  expect((await run('cloud stor run plan --yes && cloud stor run - -y < plan')).code).toBe(0);
  expect(await listThere(remote)).toEqual(['a', 'd']);
});

test('a plan for a directory that is new, and one with nothing to do', async () => {
  expect((await run('cloud stor sync tree stor:REMOTE/new --plan plan -q && cloud stor run plan')).code).toBe(0);
  expect(await listThere(`${remote}/new`)).toEqual(['a', 'd']);
  expect((await run('cloud stor sync stor:REMOTE/new fresh --plan plan -q && cloud stor run plan && cmp fresh/d/b tree/d/b')).code).toBe(0);
  expect(await run('cloud stor sync stor:REMOTE/new fresh --plan - | cloud stor run -')).toMatchObject({ code: 0 });
});
