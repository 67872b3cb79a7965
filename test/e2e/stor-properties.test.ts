import { chmodSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

/** Stored headers, types and permission bits follow where `sync` is asked for them, and stay where the content alone changes. */

const user = useShared('--http');

async function sync(...words: string[]): Promise<string[]> {
  const steps = await user.json<{ action: string; rel: string; reason: string }[]>('stor', 'sync', ...words);
  return steps.map(({ action, rel, reason }) => `${action} ${rel} ${reason}`);
}

async function headersOf(path: string): Promise<Record<string, string>> {
  return await user.json('stor', 'meta', 'get', path);
}

test('between directories of the object storage, headers that changed alone follow with --headers or --checksum', async () => {
  user.write('tree/a', 'a');
  user.write('tree/b', 'b');
  await user.here(['stor', 'put', '-r', 'tree', 'one', '-q']);
  await sync('stor:one', 'stor:two');
  expect(await sync('stor:one', 'stor:two', '--headers')).toEqual([]);
  await user.here(['stor', 'meta', 'set', 'one/a', 'author=Zoë', '--type', 'text/markdown', '-q']);
  expect(await sync('stor:one', 'stor:two')).toEqual([]);
  expect(await sync('stor:one', 'stor:two', '--checksum', '-n')).toEqual(['headers a headers']);
  expect(await user.json<{ change: string }[]>('stor', 'diff', 'stor:one', 'stor:two', '--headers')).toMatchObject([{ change: 'changed' }]);
  await user.here(['stor', 'sync', 'stor:one', 'stor:two', '--headers', '--plan', 'plan.jsonl', '-q']);
  for (let run = 0; run < 2; run += 1) expect((await user.here(['stor', 'run', 'plan.jsonl', '-q'])).stderr).toBe('');
  expect(await headersOf('two/a')).toEqual(await headersOf('one/a'));
  expect(await headersOf('two/a')).toMatchObject({ 'm-author': 'Zoë', 'content-type': 'text/markdown' });
  expect(await sync('stor:one', 'stor:two', '--headers')).toEqual([]);
});

test('a change of mode alone follows with --modes, either way', async () => {
  const file = user.write('modes/tool', '#!/bin/sh');
  chmodSync(file, 0o644);
  await sync('modes', 'stor:modes', '--modes');
  expect(await sync('modes', 'stor:modes', '--modes')).toEqual([]);
  chmodSync(file, 0o755);
  expect(await sync('modes', 'stor:modes')).toEqual([]);
  expect(await sync('modes', 'stor:modes', '--modes', '-n')).toEqual(['headers tool mode']);
  expect(await sync('modes', 'stor:modes', '--modes')).toEqual(['headers tool mode']);
  expect((await headersOf('modes/tool'))['m-mode']).toBe('0755');
  expect(await sync('modes', 'stor:modes', '--modes')).toEqual([]);
  chmodSync(file, 0o600);
  expect(await sync('stor:modes', 'modes', '--modes')).toEqual(['headers tool mode']);
  expect(statSync(file).mode & 0o777).toBe(0o755);
  expect(await sync('stor:modes', 'modes', '--modes')).toEqual([]);
});

test('content that changes on the way up keeps type, own headers and copies of the object, unless told otherwise', async () => {
  const file = user.write('up/page.txt', 'one');
  await user.here(['stor', 'put', 'up/page.txt', 'up/page.txt', '-p', '-q', '--copies', '3']);
  await user.here(['stor', 'meta', 'set', 'up/page.txt', 'author=ann', '--type', 'text/markdown', '-q']);
  user.write('up/page.txt', 'longer');
  utimesSync(file, 1e9, 1e9);
  expect(await sync('up', 'stor:up')).toEqual(['copy page.txt size']);
  expect(await headersOf('up/page.txt')).toMatchObject({
    'content-type': 'text/markdown',
    'm-author': 'ann',
    'm-mtime': '2001-09-09T01:46:40.000Z',
  });
  expect((await user.json<{ durability: number }>('stor', 'stat', 'up/page.txt')).durability).toBe(3);
  user.write('up/page.txt', 'longer still');
  await sync('up', 'stor:up', '--reset-headers');
  expect(await headersOf('up/page.txt')).toMatchObject({ 'content-type': 'text/plain' });
  expect(Object.keys(await headersOf('up/page.txt'))).not.toContain('m-author');
});

test.each([
  ['put', 'empty', 'kept', '--type', 'text/plain; type=directory'],
  ['put', 'empty', 'kept', '--header', 'content-type:application/json; type=link'],
  ['put', '-r', 'typed', 'kept', '--type', 'application/json; type=directory'],
  ['put', '--untar', 'typed.tar', 'kept', '--type', 'application/json; type=directory'],
  ['cp', 'empty', 'stor:kept', '--type', 'a/b; type="directory"'],
  ['meta', 'set', 'kept', '--type', 'text/plain; type=directory'],
  ['meta', 'set', 'kept', 'content-type=text/plain; type=directory'],
  ['meta', 'replace', 'kept', '--header', 'content-type:text/plain; type=directory'],
])(
  'a content type that services create directories or links by is refused before anything is sent: stor %s %s %s %s %s',
  async (...words) => {
    await user.shell('printf kept > here; : > empty; mkdir -p typed; : > typed/a; tar cf typed.tar typed');
    await user.here(['stor', 'put', 'here', 'kept', '-q']);
    const { code, stderr } = await user.here(['stor', '-v', ...words.filter((word) => word !== undefined)]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/is not that of an object[^]*hint: give another type/u)]);
    expect(stderr).not.toContain('PUT');
    expect((await user.here(['stor', 'cat', 'kept'])).stdout).toBe('kept');
  },
);

test('the content type of a directory is not taken from a manifest', async () => {
  user.write('listed/a', 'a');
  await user.here(['stor', 'put', '-r', 'listed', 'listed', '-q']);
  await user.shell('cloud stor get -rq --with-headers listed relisted');
  const manifest = join(user.home, 'relisted', '.cloud-headers.jsonl');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('application/octet-stream', 'text/plain; type=directory'));
  const { code, stderr } = await user.here(['stor', 'put', '-rT', 'relisted', 'listed']);
  expect([code, stderr.includes('is not that of an object')]).toEqual([5, true]);
  expect((await user.here(['stor', 'cat', 'listed/a'])).stdout).toBe('a');
});

test('files with the same etag in a manifest are stored as links only if their contents are the same', async () => {
  user.write('mixed/a', 'one');
  user.write('mixed/b', 'two');
  await user.here(['stor', 'put', '-r', 'mixed', 'mixed', '-q']);
  await user.shell('cloud stor get -rq --with-headers mixed mixed-back');
  const manifest = join(user.home, 'mixed-back', '.cloud-headers.jsonl');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replaceAll(/"etag":"[^"]*"/gu, '"etag":"1"'));
  for (const target of ['mixed-new', 'mixed']) {
    expect(await user.here(['stor', 'put', '-rTq', 'mixed-back', target])).toMatchObject({ code: 0, stderr: '' });
    expect((await user.here(['stor', 'cat', `${target}/a`, `${target}/b`])).stdout).toBe('onetwo');
  }
});

test('a file that was a link and is changed keeps its content to itself, however often its tree is synced', async () => {
  user.write('linked/a', 'one');
  await user.here(['stor', 'put', '-r', 'linked', 'linked', '-q']);
  for (const name of ['b', 'c']) await user.here(['stor', 'ln', 'linked/a', `linked/${name}`, '-q']);
  await user.shell('cloud stor get -rq --with-headers linked linked-back');
  user.write('linked-back/a', 'longer');
  for (let run = 0; run < 2; run += 1) await sync('linked-back', 'stor:linked-new');
  expect((await user.here(['stor', 'cat', 'linked-new/a', 'linked-new/b', 'linked-new/c'])).stdout).toBe('longeroneone');
  const etags = await Promise.all(
    ['b', 'c'].map(async (name) => (await user.json<{ etag: string }>('stor', 'stat', `linked-new/${name}`)).etag),
  );
  expect(new Set(etags).size).toBe(1);
});

test.each(['text/x; subtype=directory', 'application/json; type=directoryx', 'a/b; xtype=directory'])(
  'an object of the type %s is not a directory',
  async (type) => {
    user.write('plain', 'plain');
    expect((await user.here(['stor', 'put', 'plain', 'plain/a', '-pq', '--type', type])).code).toBe(0);
    expect((await user.here(['stor', 'cat', 'plain/a'])).stdout).toBe('plain');
    expect(await user.json('stor', 'stat', 'plain/a')).toMatchObject({ type: 'object', contentType: type });
    expect((await user.here(['stor', 'get', '-rq', 'plain', 'back'])).code).toBe(0);
    expect((await user.here(['stor', 'mv', '-q', 'plain/a', 'plain/b'])).code).toBe(0);
    expect((await user.here(['stor', 'rm', '-yq', 'plain/b'])).code).toBe(0);
  },
);

test('the content type of a directory cannot be changed, and its other headers can', async () => {
  await user.here(['stor', 'mkdir', 'fixed', '-q']);
  for (const words of [
    ['set', 'fixed', '--type', 'text/plain'],
    ['set', 'fixed', 'content-type=text/plain'],
    ['replace', 'fixed', '--type', 'a/b'],
  ]) {
    const { code, stderr } = await user.here(['stor', 'meta', ...words]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('/demo/stor/fixed is a directory: its content type cannot be changed')]);
  }
  expect((await user.here(['stor', 'meta', 'set', 'fixed', 'author=Zoë', '-q'])).code).toBe(0);
  expect(await headersOf('fixed')).toEqual({ 'content-type': 'application/x-json-stream; type=directory', 'm-author': 'Zoë' });
  expect((await user.here(['stor', 'meta', 'replace', 'fixed', '-q'])).code).toBe(0);
  expect(await headersOf('fixed')).toEqual({ 'content-type': 'application/x-json-stream; type=directory' });
});
