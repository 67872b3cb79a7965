import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** `--link-known`: what this machine stored before is linked instead of sent, only where it is unchanged at the service. */

const user = useShared('--http');

const run = (...words: string[]) => user.here(['stor', ...words]);
const md5 = async (path: string): Promise<string> => (await user.json<{ 'content-md5': string }>('stor', 'stat', path))['content-md5'];
const etag = async (path: string): Promise<string> => (await user.json<{ etag: string }>('stor', 'stat', path)).etag;
/** What the option says that it did. */
const linked = (stderr: string): string | undefined => /\d+ files? (?:was|were) linked/.exec(stderr)?.[0];

beforeAll(() => {
  for (const name of ['a', 'd/b']) user.write(`photos/${name}`, name.repeat(200_000));
  user.write('photos/small', 'small');
});

test('a tree that was stored before is linked, with the times and headers of its files', async () => {
  const first = await run('put', '-r', '-T', 'photos', 'monday', '--link-known');
  expect([first.code, linked(first.stderr)]).toEqual([0, undefined]);
  utimesSync(join(user.home, 'photos/a'), 1_000_000_000, 1_000_000_000);
  const second = await run('put', '-r', '-T', 'photos', 'tuesday', '--link-known', '-m', 'colour=red');
  expect([second.code, linked(second.stderr)]).toEqual([0, '2 files were linked']);
  expect([await etag('tuesday/a'), await etag('tuesday/d/b')]).toEqual([await etag('monday/a'), await etag('monday/d/b')]);
  expect(await user.json('stor', 'meta', 'get', 'tuesday/a')).toMatchObject({ 'm-mtime': '2001-09-09T01:46:40.000Z', 'm-colour': 'red' });
  expect((await run('cat', 'tuesday/small')).stdout).toBe('small');
  expect(await user.json('stor', 'meta', 'get', 'monday/a')).not.toHaveProperty('m-colour');
  const synced = await run('sync', 'photos', 'stor:wednesday', '--link-known');
  expect([synced.code, linked(synced.stderr)]).toEqual([0, '2 files were linked']);
  expect(await etag('wednesday/a')).toBe(await etag('monday/a'));
  // Nothing is left for the next sync to do.
  expect(await user.json('stor', 'sync', 'photos', 'stor:wednesday', '-n')).toEqual([]);
  // What one name gets later is not the other's.
  user.write('other', 'other');
  await run('put', '-q', 'other', 'tuesday/a');
  expect(await md5('monday/a')).toBe(await md5('wednesday/a'));
});

test('without the option everything is sent, and roles of the directory count, not those of the object that is linked', async () => {
  expect(linked((await run('put', 'photos/a', 'plain')).stderr)).toBeUndefined();
  expect(await etag('plain')).not.toBe(await etag('monday/a'));
  for (const role of ['dev', 'ops']) await user.json('roles', 'create', role, '--wait');
  await user.json('stor', 'roles', 'set', '-r', 'wednesday', 'dev');
  await run('mkdir', 'closed');
  await user.json('stor', 'roles', 'set', 'closed', 'ops');
  expect(linked((await run('put', 'photos/a', 'closed/a', '--link-known')).stderr)).toBe('1 file was linked');
  expect((await user.json<{ roles: string[] }>('stor', 'roles', 'get', 'closed/a')).roles).toEqual(['ops']);
});

test('an object that was changed, removed or replaced since is no source, nor is one of another number of copies', async () => {
  const content = 'unique'.repeat(50_000);
  user.write('file', content);
  const check = async (target: string, ...words: string[]): Promise<string | undefined> => {
    const { code, stderr } = await run('put', 'file', target, '--link-known', ...words);
    expect([code, (await run('cat', target)).stdout === content]).toEqual([0, true]);
    return linked(stderr);
  };
  expect(await check('source')).toBeUndefined();
  expect(await check('copies', '--copies', '3')).toBeUndefined();
  await run('rm', '-q', 'copies');
  expect(await check('removed')).toBeUndefined();
  user.write('changed', 'x'.repeat(content.length));
  await run('put', '-q', 'changed', 'removed');
  expect(await check('next')).toBeUndefined();
  expect(await check('next-linked')).toBe('1 file was linked');
  // Conditions of the target stay: what is there is left alone.
  expect(linked((await run('put', 'file', 'changed-target', '--link-known', '--no-clobber')).stderr)).toBe('1 file was linked');
  await run('put', '-q', 'changed', 'taken');
  expect((await run('put', 'file', 'taken', '--link-known', '--no-clobber')).stderr).toContain('left alone');
  expect((await run('cat', 'taken')).stdout).toBe('x'.repeat(content.length));
});

test('where links are switched off, the account is another one, or the notes are damaged, the bytes are sent', async () => {
  const fault = await user.json<{ id: number }[]>('local', 'faults', 'add', 'putsnaplink', '403');
  expect(fault.length).toBeGreaterThan(0);
  const refused = await run('put', 'photos/a', 'sent', '--link-known');
  expect([refused.code, linked(refused.stderr), await md5('sent')]).toEqual([0, undefined, await md5('monday/a')]);
  await user.here(['local', 'faults', 'clear']);
  const folder = join(user.home, '.local/state/cloud/stored');
  const [name = ''] = readdirSync(folder);
  const notes = readFileSync(join(folder, name), 'utf8');
  // Notes that name another object, another account, and nothing at all.
  const forged = notes.replaceAll('/demo/stor/', '/other/public/');
  const swapped = notes.replaceAll(/"\/demo\/stor\/[^"]*"/g, '"/demo/stor/other-object"');
  await run('put', '-q', 'other', 'other-object');
  for (const [at, text] of [forged, swapped, `{"\n[1]\n["x",2,3,4]\n${'\0'.repeat(100)}`].entries()) {
    writeFileSync(join(folder, name), text);
    const { code, stderr } = await run('put', 'photos/a', `attacked-${at}`, '--link-known');
    expect([code, linked(stderr), await md5(`attacked-${at}`)]).toEqual([0, undefined, await md5('monday/a')]);
  }
});
