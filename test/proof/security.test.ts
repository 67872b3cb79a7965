import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, lstatSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

const user = useLocal();

/** What tasks of jobs see of a data directory, under users of their own: programs and system files, no data. */
const seenByTasks = /^(?:local\/)?(?:sandbox|tools)(?:\/|$)/u;

/** Files and folders below a folder that others than their owner can read, write or enter. */
function findOpen(folder: string): string[] {
  const paths = ['', ...readdirSync(folder, { recursive: true }).map(String)];
  return paths.filter((path) => {
    const stats = lstatSync(join(folder, path));
    return !stats.isSymbolicLink() && (stats.mode & (seenByTasks.test(path) ? 0o022 : 0o077)) !== 0;
  });
}

test('what the program keeps for itself is for its owner only, whatever the umask', async () => {
  const { code, stderr } = await user.shell(`umask 000
    mkdir -p tree/sub && echo a > tree/sub/a
    cloud profile create other --url ${user.local.computeUrl} --stor-url ${user.local.storUrl} --account demo --key-file ${user.local.keyFile} --ca ${user.local.caFile} >made 2>&1 || true
    cloud stor sync tree stor:tree -q && cloud stor sync stor:tree back -q
    cloud __complete -- stor ls '' >/dev/null
    cloud --profile local keys list >/dev/null
    cloud local start --data data --compute-port 0 --stor-port 0 --profile second >/dev/null 2>&1 || cloud local start --data data --compute-port 0 --stor-port 0 >/dev/null
    cloud local stop --data data`);
  expect([code, stderr]).toEqual([0, expect.any(String)]);
  for (const folder of ['.config/cloud', '.cache/cloud', '.local/state/cloud', '.local/share/cloud', 'data']) {
    const path = join(user.home, folder);
    if (existsSync(path)) expect([folder, findOpen(path)]).toEqual([folder, []]);
  }
  expect(existsSync(join(user.home, '.config/cloud')) && existsSync(join(user.home, 'data'))).toBe(true);
});

test('links in the destination lead nothing out of it', async () => {
  expect((await user.shell('mkdir -p t/d && echo new > t/d/f && echo new > t/g && cloud stor put -r -q t t')).code).toBe(0);
  const place = (name: string): string => join(user.home, name);
  for (const [name, words] of [
    ['got', ['stor', 'get', '-r', 't', 'got']],
    ['synced', ['stor', 'sync', 'stor:t', './synced']],
  ] as const) {
    mkdirSync(place(`${name}-outside`));
    // A tree goes below a directory that is there.
    const root = name === 'got' ? 'got/t' : name;
    mkdirSync(place(root), { recursive: true });
    writeFileSync(place(`${name}-outside/g`), 'old');
    symlinkSync(place(`${name}-outside`), place(`${root}/d`));
    symlinkSync(place(`${name}-outside/g`), place(`${root}/g`));
    const { code, stderr } = await user.cloud([...words]);
    expect(code).not.toBe(0);
    expect(stderr).toContain('link');
    expect(readdirSync(place(`${name}-outside`))).toEqual(['g']);
    expect(readFileSync(place(`${name}-outside/g`), 'utf8')).toBe('old');
  }
  // What stands in the place of a file is neither replaced nor followed.
  expect(lstatSync(place('got/t/g')).isSymbolicLink()).toBe(true);
});

test('a file that somebody else has put under the name of an unfinished one is not written to', async () => {
  await user.shell('head -c 3000000 /dev/urandom > large && cloud stor put -q large large && mkdir -p shared');
  const [{ etag }] = [await user.json<{ etag: string }>('stor', 'stat', 'large')];
  const name = execFileSync('bash', ['-c', `printf 'large\\n%s' '${etag}' | sha256sum | cut -c1-20`])
    .toString()
    .trim();
  const planted = join(user.home, 'shared', `.cloud-${name}-99999999-0123abcd.part`);
  writeFileSync(join(user.home, 'victim'), 'mine');
  symlinkSync(join(user.home, 'victim'), planted);
  linkSync(join(user.home, 'victim'), planted.replace('0123abcd', 'abcd0123'));
  expect((await user.cloud(['stor', 'get', '-q', 'large', 'shared/large'])).code).toBe(0);
  expect(readFileSync(join(user.home, 'victim'), 'utf8')).toBe('mine');
  expect(statSync(join(user.home, 'shared', 'large')).size).toBe(3_000_000);
});

test('no process shows a secret to those who list processes', async () => {
  const words = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'latin1')];
      } catch {
        return [];
      }
    });
  const own = words.filter((line) => line.includes(user.home));
  expect(own.length).toBeGreaterThan(0);
  expect(own.join('\n')).not.toMatch(/PRIVATE KEY|signature=|secret/u);
});
