import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared();

test('files of every kind come back byte for byte, from files, stdin and into files and pipes', async () => {
  const binary = randomBytes(3_000_000);
  const kinds: Record<string, Uint8Array> = {
    'notes.txt': Buffer.from('text\n'),
    'disk image.bin': binary,
    empty: Buffer.alloc(0),
    'Grüße – 寿司 %41 "q".txt': Buffer.from('name'),
    '-dash': Buffer.from('leading dash'),
  };
  await user.here(['stor', 'mkdir', '-p', 'a/b']);
  for (const [name, content] of Object.entries(kinds)) {
    user.write(`up/${name}`, content);
    expect(await user.here(['stor', 'put', `up/${name}`, 'a/b'])).toMatchObject({ code: 0, stdout: '' });
    expect((await user.here(['stor', 'get', `a/b/${name}`])).bytes.equals(content)).toBe(true);
    const stat = await user.json<Record<string, unknown>>('stor', 'stat', `a/b/${name}`);
    expect(stat).toMatchObject({ name, size: content.length, contentMD5: createHash('md5').update(content).digest('base64') });
  }
  const names = (await user.json<{ name: string }[]>('stor', 'ls', 'a/b')).map(({ name }) => name);
  expect(names).toEqual(Object.keys(kinds).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  user.write('down/keep', '');
  expect((await user.here(['stor', 'get', ...names.map((name) => `a/b/${name}`), 'down'])).code).toBe(0);
  for (const [name, content] of Object.entries(kinds)) expect(readFileSync(join(user.home, 'down', name)).equals(content)).toBe(true);
  expect(readdirSync(join(user.home, 'down')).filter((name) => name.endsWith('.part'))).toEqual([]);
  const piped = await user.shell(
    `head -c 1000000 /dev/zero | cloud stor put - a/zeros -q && cloud stor cat a/zeros a/b/notes.txt | tail -c 5`,
  );
  expect(piped).toMatchObject({ code: 0, stdout: 'text\n', stderr: '' });
});

test('a pipe that closes early ends the command quietly with 0', async () => {
  user.write('big', randomBytes(20_000_000));
  await user.here(['stor', 'put', 'big', 'big']);
  for (const line of [
    'cloud stor get big | head -c 10 | wc -c',
    'cloud images list -j | head -c 1 | wc -c',
    "cloud stor find --exec 'head -c 100000 /dev/zero' | head -c 1 | wc -c",
  ]) {
    const { stdout, stderr, code } = await user.shell(`set -o pipefail; ${line}`);
    expect([Number(stdout) > 0, stderr, code]).toEqual([true, '', 0]);
  }
});

test('--if-modified-since stores over what was changed after a time, or where nothing is, at any size and from a pipe', async () => {
  user.write('f', 'old');
  user.write('large', Buffer.alloc(2 * 1024 * 1024, 'x'));
  await user.here(['stor', 'put', 'f', 'since']);
  const { mtime } = await user.json<{ mtime: string }>('stor', 'stat', 'since');
  const second = Math.floor(Date.parse(mtime) / 1000) * 1000;
  const modified = new Date(second).toUTCString();
  const put = (file: string, path: string, time: string): Promise<Outcome> =>
    user.here(['stor', 'put', file, path, '--if-modified-since', time, '-q'], file === '-' ? { input: 'piped' } : {});
  for (const file of ['f', 'large', '-']) {
    for (const time of [modified, new Date(second).toISOString(), new Date(second + 1000).toISOString()]) {
      const { code, stderr } = await put(file, 'since', time);
      expect([file, time, code, stderr]).toEqual([file, time, 1, expect.stringContaining('PreconditionFailed')]);
    }
  }
  expect((await user.here(['stor', 'cat', 'since'])).stdout).toBe('old');
  for (const file of ['f', '-', 'large']) {
    expect((await put(file, 'since', new Date(second - 1000).toISOString())).code).toBe(0);
    expect((await put(file, `since-${file}`, modified)).code).toBe(0);
  }
  expect((await put('f', 'since', '1h')).code).toBe(0);
  expect((await user.here(['stor', 'cat', 'since', 'since--'])).stdout).toBe('oldpiped');
});

test('missing parents, wrong kinds and refusals change nothing and say what to do', async () => {
  user.write('f', 'new');
  await user.here(['stor', 'mkdir', 'd']);
  await user.here(['stor', 'put', 'f', 'd/object']);
  const cases: [string[], number, string][] = [
    [['stor', 'put', 'f', 'no/such/x'], 3, 'hint: to create the parent directories: cloud stor put -p'],
    [['stor', 'mkdir', 'no/such'], 3, 'cloud stor mkdir -p'],
    [['stor', 'mkdir', 'd/object'], 2, '/demo/stor/d/object is an object, not a directory'],
    [['stor', 'put', 'f', 'd/object/'], 2, 'is an object, not a directory'],
    [['stor', 'put', 'f', 'd/object/x'], 1, 'object'],
    [['stor', 'put', 'f', 'd/object', '--no-clobber'], 0, '/demo/stor/d/object exists: left alone'],
    [['stor', 'put', 'f', 'd/object', '--if-match', 'other'], 1, 'PreconditionFailed'],
    [['stor', 'put', 'f', 'd/object', '--copies', '9'], 2, '--copies: "9" is not a whole number from 1 to 6'],
    [['stor', 'put', 'f', 'd/object', '-m', `k=${'x'.repeat(5000)}`], 2, 'the limit for names and values is 4096 bytes in total'],
    [['stor', 'get', 'd/nothing'], 3, '/demo/stor/d/nothing does not exist'],
    [['stor', 'get', 'd/nothing', 'local-file'], 3, '/demo/stor/d/nothing does not exist'],
    [['stor', 'rm', '-y', 'd'], 1, 'hint: to delete it recursively: cloud stor rm -r'],
    [['stor', 'get', 'd/object', 'missing-dir/'], 2, 'no such directory'],
  ];
  const before = await user.json('stor', 'ls', 'd');
  for (const [words, code, message] of cases) {
    const outcome = await user.here(words);
    expect([words, outcome.code, outcome.stdout]).toEqual([words, code, '']);
    expect(outcome.stderr).toContain(message);
  }
  const long = await user.here(['stor', 'put', '-', 'd/long', '--max-size', '10'], { input: 'x'.repeat(11) });
  expect([long.code, long.stderr]).toEqual([expect.any(Number), expect.stringMatching(/10|MaxContentLengthExceeded/u)]);
  expect(long.code).not.toBe(0);
  expect(await user.json('stor', 'ls', 'd')).toEqual(before);
  expect(readdirSync(user.home)).not.toContain('local-file');
});

test('headers that were given are stored; the type is guessed from the name', async () => {
  user.write('page.html', '<p>');
  await user.here(['stor', 'put', 'page.html', 'page.html', '-m', 'author=jill', '--header', 'cache-control: no-store']);
  expect(await user.json('stor', 'stat', 'page.html')).toMatchObject({
    contentType: 'text/html',
    'm-author': 'jill',
    'cache-control': 'no-store',
    durability: 2,
  });
});

test('rm deletes objects and empty directories, several at once', async () => {
  user.write('x', 'x');
  await user.here(['stor', 'mkdir', 'r']);
  await user.here(['stor', 'put', 'x', 'r/x']);
  expect(await user.here(['stor', 'rm', '-y', 'r/x', 'r'])).toMatchObject({ code: 0 });
  expect((await user.here(['stor', 'stat', 'r'])).code).toBe(3);
});

test('the account itself and its roots are listed', async () => {
  expect((await user.here(['stor', 'ls', '/demo', '-o', 'name'])).stdout.split('\n').slice(0, -1)).toEqual([
    'jobs',
    'public',
    'reports',
    'stor',
    'uploads',
  ]);
});

test('a name without a dot suggests no content type', async () => {
  await user.here(['stor', 'mkdir', '-p', 'seed.d']);
  for (const [name, type] of [
    ['seed.d/one', 'application/octet-stream'],
    ['seed.d/pdf', 'application/octet-stream'],
    ['seed.d/notes.txt', 'text/plain'],
    ['seed.d/.json', 'application/json'],
  ] as const) {
    expect((await user.here(['stor', 'put', '-', name], { input: 'x' })).code).toBe(0);
    expect(await user.json('stor', 'stat', name)).toMatchObject({ contentType: type });
  }
});
