import { chmodSync, statSync, utimesSync } from 'node:fs';
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
