import { expect, test } from 'vitest';
import { control } from '../../src/commands/local/control.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');

interface Step {
  readonly action: string;
  readonly reason: string;
  readonly rel: string;
}

interface Change {
  readonly change: string;
  readonly rel: string;
}

/** Everything of a directory: paths, bytes by MD5, and stored headers. */
async function describe(directory: string): Promise<unknown[]> {
  const found = await user.json<{ path: string }[]>('stor', 'find', directory);
  const paths = found.map(({ path }) => path).filter((path) => !path.endsWith(`/stor/${directory}`));
  const all = await user.json<Record<string, string>[]>('stor', 'stat', ...paths, '--columns', 'all');
  return all.map(({ mtime: _mtime, etag: _etag, durability: _durability, path = '', ...rest }) => ({
    ...rest,
    rel: path.slice(path.indexOf(`/${directory}/`) + directory.length + 2),
  }));
}

async function listLinks(directory: string): Promise<string[]> {
  const found = await user.json<{ path: string }[]>('stor', 'find', `.snapshots/stor%2F${directory}/trees`, '--type', 'f', '--literal');
  return found.map(({ path }) => path);
}

async function fill(directory: string): Promise<void> {
  for (const name of ['a.txt', 'b/c.txt', 'b/d.bin', 'e f/ü.txt']) user.write(`tree/${name}`, `content of ${name}`);
  await user.json('stor', 'put', '-r', '-T', 'tree', directory);
  await user.json('stor', 'mkdir', `${directory}/empty`);
  await user.json('stor', 'meta', 'set', `${directory}/a.txt`, 'colour=red');
  await user.json('stor', 'meta', 'set', `${directory}/b`, 'note=a directory');
}

test('a snapshot brings back every byte and header after rm -r, and moves no bytes', async () => {
  await fill('whole');
  const before = await describe('whole');
  const [made] = await user.json<object[]>('stor', 'snapshot', 'create', 'whole@one');
  expect(made).toMatchObject({ name: 'one', objects: 4, directories: 3, linked: 4, kept: 0, gone: 0 });
  await user.json('stor', 'rm', '-r', '-y', 'whole');
  const planned = await user.json<Step[]>('stor', 'snapshot', 'restore', 'whole@one', '--dry-run');
  expect(planned.filter(({ action }) => action === 'copy').map(({ rel }) => rel)).toEqual(['a.txt', 'b/c.txt', 'b/d.bin', 'e f/ü.txt']);
  expect((await user.here(['stor', 'ls', 'whole'])).code).toBe(3);
  await user.json('stor', 'snapshot', 'restore', 'whole@one');
  expect(await describe('whole')).toEqual(before);
  expect(await user.json('stor', 'snapshot', 'restore', 'whole@one')).toEqual([]);
});

test('the next snapshot links only what changed; diff tells contents, headers, new and gone', async () => {
  await fill('steps');
  // What changed within the same second as the snapshot was begun is linked again by the next one.
  await control(user.local.dataDir, 'clock', { advance: 2000 });
  await user.json('stor', 'snapshot', 'create', 'steps@one');
  expect(await listLinks('steps')).toHaveLength(4);
  expect(await user.json('stor', 'snapshot', 'diff', 'steps@one')).toEqual([]);
  user.write('changed', 'another content');
  await user.json('stor', 'put', 'changed', 'steps/b/c.txt');
  await user.json('stor', 'put', 'changed', 'steps/new');
  await user.json('stor', 'rm', '-y', 'steps/b/d.bin');
  await user.json('stor', 'meta', 'set', 'steps/a.txt', 'colour=blue');
  const [made] = await user.json<object[]>('stor', 'snapshot', 'create', 'steps@two');
  expect(made).toMatchObject({ objects: 4, linked: 3, kept: 1, base: 'one' });
  const changes = [
    { change: 'changed', rel: 'a.txt' },
    { change: 'changed', rel: 'b/c.txt' },
    { change: 'gone', rel: 'b/d.bin' },
    { change: 'new', rel: 'new' },
  ];
  const between = await user.json<Change[]>('stor', 'snapshot', 'diff', 'steps@one', 'steps@two');
  expect(between.map(({ change, rel }) => ({ change, rel }))).toEqual(changes);
  const since = await user.json<Change[]>('stor', 'snapshot', 'diff', 'steps@one');
  expect(since.map(({ change, rel }) => ({ change, rel }))).toEqual(changes);

  // The links that the second one has of the first stay when that is deleted; the others go.
  await user.json('stor', 'snapshot', 'delete', 'steps@one', '-y');
  expect(await listLinks('steps')).toHaveLength(4);
  const now = await describe('steps');
  await user.json('stor', 'rm', '-r', '-y', 'steps');
  await user.json('stor', 'snapshot', 'restore', 'steps@two');
  expect(await describe('steps')).toEqual(now);
  await user.json('stor', 'snapshot', 'delete', 'steps@two', '-y');
  expect((await user.json<{ name: string }[]>('stor', 'ls', '.snapshots')).map(({ name }) => name)).not.toContain('stor%2Fsteps');
});

test('restore leaves what came later, unless --delete is given, which asks; filters choose', async () => {
  await fill('later');
  await user.json('stor', 'snapshot', 'create', 'later@one');
  user.write('changed', 'another content');
  await user.json('stor', 'put', 'changed', 'later/a.txt');
  await user.json('stor', 'put', 'changed', 'later/b/new');
  await user.json('stor', 'rm', '-y', 'later/b/c.txt');
  const some = await user.json<Step[]>('stor', 'snapshot', 'restore', 'later@one', '-n', '--exclude', 'b');
  expect(some.map(({ action, rel }) => [action, rel])).toEqual([['copy', 'a.txt']]);
  const refused = await user.here(['stor', 'snapshot', 'restore', 'later@one', '--delete']);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('add --yes')]);
  await user.json('stor', 'snapshot', 'restore', 'later@one');
  expect((await user.here(['stor', 'cat', 'later/a.txt'])).stdout).toBe('content of a.txt');
  expect((await user.here(['stor', 'cat', 'later/b/new'])).stdout).toBe('another content');
  const removed = await user.json<Step[]>('stor', 'snapshot', 'restore', 'later@one', '--delete', '--yes');
  expect(removed.map(({ action, rel }) => [action, rel])).toEqual([['delete', 'b/new']]);
  await user.json('stor', 'snapshot', 'restore', 'later@one', '--to', 'beside/it');
  expect(await describe('beside/it')).toEqual(await describe('later'));
});

test('what is no whole snapshot is never used as one', async () => {
  await fill('broken');
  await user.json('stor', 'snapshot', 'create', 'broken@good');
  const home = '/demo/stor/.snapshots/stor%2Fbroken';
  const [{ tree }] = await user.json<[{ tree: string }]>('stor', 'snapshot', 'list', 'broken');
  // As a run leaves it that is killed: with its marker.
  user.write('marker', '');
  await user.json('stor', 'put', 'marker', `${home}/unfinished/${tree}`, '-m', 'name=good');
  const [listed] = await user.json<object[]>('stor', 'snapshot', 'list', 'broken');
  expect(listed).toMatchObject({ name: 'good', state: 'unfinished' });
  const refused = await user.here(['stor', 'snapshot', 'restore', 'broken@good']);
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('is unfinished and cannot be used')]);
  await user.json('stor', 'rm', '-y', `${home}/unfinished/${tree}`);

  const manifest = await user.here(['stor', 'cat', `${home}/manifests/good`]);
  const damages = {
    // It lost its end, which is noticed whatever was read before.
    cut: { content: manifest.stdout.split('\n').slice(0, -2).join('\n'), message: 'entries are missing' },
    hostile: { content: manifest.stdout.replace('"a.txt"', '"../a.txt"'), message: 'is not an entry' },
    headers: { content: manifest.stdout.replace('"roleTag":""', '"roleTag":"","headers":"m-x"'), message: 'is not an entry' },
    size: { content: manifest.stdout.replace('"type":"directory"', '"type":"directory","size":"1"'), message: 'is not an entry' },
    garbled: { content: manifest.stdout.replace(/\n/, '\n{"rel\n'), message: 'line 2 is damaged' },
    // Each byte of it would cost thirty in memory.
    flood: { content: `[${'{},'.repeat(700_000)}{}]\n`, message: 'a line of the response is too long' },
  };
  for (const [name, { content, message }] of Object.entries(damages)) {
    user.write(name, content);
    await user.json('stor', 'put', name, `${home}/manifests/${name}`, '-m', `tree=${tree}`, '-m', 'created=2026-01-01T00:00:00.000Z');
    const { code, stderr } = await user.here(['stor', 'snapshot', 'restore', `broken@${name}`, '--to', 'elsewhere']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});

test('restore sends no header of a manifest but those that are stored with a directory', async () => {
  await user.here(['stor', 'mkdir', '-p', 'tagged/sub']);
  await user.json('stor', 'snapshot', 'create', 'tagged@good');
  const home = '/demo/stor/.snapshots/stor%2Ftagged';
  const [{ tree }] = await user.json<[{ tree: string }]>('stor', 'snapshot', 'list', 'tagged');
  const manifest = await user.here(['stor', 'cat', `${home}/manifests/good`]);
  const headers = { 'role-tag': 'admin', 'if-match': 'x', 'content-length': '7', 'm-count': 5, 'm-kept': 'yes' };
  user.write('changed', manifest.stdout.replace('"rel":"sub"', `"rel":"sub","headers":${JSON.stringify(headers)}`));
  await user.json('stor', 'put', 'changed', `${home}/manifests/bad`, '-m', `tree=${tree}`, '-m', 'created=2026-01-01T00:00:00.000Z');
  expect(await user.here(['stor', 'snapshot', 'restore', 'tagged@bad'])).toMatchObject({ code: 0 });
  const restored = await user.here(['stor', 'stat', 'tagged/sub', '--columns', 'all', '-j']);
  expect(restored.stdout).toMatch(/m-kept/);
  expect(restored.stdout).not.toMatch(/m-count|admin/);
});

test('prune keeps the latest, and takes what interrupted runs left only when it is old', async () => {
  await fill('many');
  for (const name of ['one', 'two', 'three']) await user.json('stor', 'snapshot', 'create', `many@${name}`);
  const [twice, list] = [await user.here(['stor', 'snapshot', 'create', 'many@two']), ['stor', 'snapshot', 'list', 'many']];
  expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('already exists')]);
  const shown = await user.json<{ name: string }[]>('stor', 'snapshot', 'prune', 'many', '--keep', '1', '-n');
  expect(shown.map(({ name }) => name)).toEqual(['one', 'two']);
  expect((await user.here(['stor', 'snapshot', 'prune', 'many', '--keep', '1'])).code).toBe(2);
  expect(await user.json(...list)).toHaveLength(3);
  user.write('marker', '');
  const left = '/demo/stor/.snapshots/stor%2Fmany/unfinished/0f0e0d0c-0000-4000-8000-000000000000';
  await user.json('stor', 'put', 'marker', left, '-m', 'name=left');
  await user.json('stor', 'snapshot', 'prune', 'many', '--keep', '1', '-y');
  expect((await user.json<{ name: string }[]>(...list)).map(({ name }) => name)).toEqual(['three', 'left']);
  await user.json('stor', 'snapshot', 'delete', 'many@left', '-y');
  expect(await user.json(...list)).toHaveLength(1);
});

test('snapshots take no part in what is done with the directory that holds them', async () => {
  await fill('part');
  await user.json('stor', 'snapshot', 'create', 'part@one');
  const steps = await user.json<Step[]>('stor', 'sync', 'tree', 'stor:', '--delete', '--yes', '--dry-run');
  expect(steps.map(({ rel }) => rel).filter((rel) => rel.startsWith('.snapshots'))).toEqual([]);
  const inside = await user.here(['stor', 'snapshot', 'create', '.snapshots@one']);
  expect([inside.code, inside.stderr]).toEqual([2, expect.stringContaining('cannot have snapshots')]);
});

test('names that cannot be and things that are not there end in one line', async () => {
  const lines: [string[], number, string][] = [
    [['create', 'nothing@one'], 2, 'no such directory'],
    [['create', 'x@.hidden'], 2, 'cannot be the name of a snapshot'],
    [['restore', 'nothing'], 2, 'is not a snapshot name: write DIR@NAME'],
    [['restore', 'nothing@one'], 3, 'there is no snapshot'],
    [['diff', 'nothing@one'], 3, 'there is no snapshot'],
    [['delete', 'nothing@one', '-y'], 3, 'there is no snapshot'],
    [['list', 'nothing'], 3, 'nothing'],
    [['prune', 'nothing', '--keep', '0'], 2, 'would delete all snapshots'],
  ];
  for (const [words, code, message] of lines) {
    const outcome = await user.here(['stor', 'snapshot', ...words]);
    expect([words, outcome.code, outcome.stderr]).toEqual([words, code, expect.stringContaining(message)]);
  }
});
