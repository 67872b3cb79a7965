import { createServer } from 'node:net';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { startBadService } from '../support/bad-service.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

/** Names, agents, trees, signals and streams that are not as one would have them. */

const user = useShared();
const closing: (() => unknown)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

test('a name with a newline is one line, quoted as git does, and whole with -0', async () => {
  for (const name of ['odd/two\nlines', 'odd/one'])
    expect(await user.here(['stor', 'put', '-q', '-', name, '-p'], { input: 'x\n' })).toMatchObject({ code: 0, stderr: '' });
  const lines = ['odd/one', String.raw`"odd/two\nlines"`];
  const names = async (...words: string[]): Promise<string> => (await user.here(words)).stdout;
  expect(await names('stor', 'ls', 'odd', '-o', 'name')).toBe('one\n"two\\nlines"\n');
  expect(await names('stor', 'ls', 'odd', '-0')).toBe('one\0two\nlines\0');
  const found = (await names('stor', 'find', 'odd', '--type', 'f')).split('\n');
  expect(found.map((line) => line.replace('/demo/stor/', ''))).toEqual([...lines, '']);
  expect(await names('stor', 'find', 'odd', '--type', 'f', '-0')).toBe('/demo/stor/odd/one\0/demo/stor/odd/two\nlines\0');
});

test.each([
  ['an empty message', Buffer.from([0, 0, 0, 0])],
  ['a message without end', Buffer.from([255, 255, 255, 255, 12])],
  ['half a list', Buffer.from([0, 0, 0, 9, 12, 0, 0, 0, 9, 0, 0, 0, 1])],
])('an agent that answers %s is an error of one line', async (_, answer) => {
  const path = join(user.home, 'agent.sock');
  rmSync(path, { force: true });
  const agent = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', () => socket.end(answer));
  });
  await new Promise<void>((done) => void agent.listen(path, done));
  const md5 = Array.from({ length: 16 }, () => 'aa').join(':');
  const { code, stderr } = await user.here(['keys', 'list', '--key-id', md5], { env: { SSH_AUTH_SOCK: path } });
  await new Promise<void>((done) => void agent.close(() => done()));
  expect([code, stderr]).toEqual([4, expect.stringContaining('ssh-agent')]);
  expect(stderr).not.toMatch(/unexpected error|RangeError|^\s+at /mu);
});

test('without stdin nothing is stored; the null device is an empty object', async () => {
  const closed = await user.shell('cloud stor put - nothing <&-');
  expect([closed.code, closed.stderr]).toEqual([2, expect.stringContaining('stdin is closed')]);
  expect((await user.here(['stor', 'stat', 'nothing'])).code).toBe(3);
  const jobs = async (): Promise<number> => (await user.json<unknown[]>('jobs', 'list')).length;
  const before = await jobs();
  const id = (await user.here(['jobs', 'create', '--name', 'stays', '--map', 'cat', '-o', 'name'])).stdout.trim();
  for (const line of ['jobs run --map cat', 'jobs run --map cat -', `jobs add ${id}`, `jobs add ${id} - --end`, 'keys create -']) {
    const { code, stdout, stderr } = await user.shell(`cloud ${line} <&-`);
    expect([line, code, stdout, stderr]).toEqual([line, 2, '', expect.stringMatching(/^cloud .*: stdin is closed\nhint: .*\n$/u)]);
  }
  expect(await jobs()).toBe(before + 1);
  const directory = await user.shell(`cloud stor put - nothing <. ; cloud jobs add ${id} - --end <.`);
  expect(directory.stderr.match(/: stdin is a directory$/gmu)).toHaveLength(2);
  expect((await user.here(['stor', 'stat', 'nothing'])).code).toBe(3);
  expect(await user.json('jobs', 'get', id)).toMatchObject({ inputDone: false });
  expect((await user.shell('cloud stor put -q - nothing </dev/null')).code).toBe(0);
  expect(await user.json('stor', 'stat', 'nothing')).toMatchObject({ size: 0 });
});

test('without stdin, stdout and stderr files are what they are otherwise, and exit codes too', async () => {
  await user.line('echo content | cloud stor put -q - closed');
  const { code, stdout, stderr } = await user.shell(
    'cloud stor get closed got <&- >&- 2>&-; echo "get $?"; cat got; cloud stor put -q got again <&- >&- 2>&-; echo "put $?"; cloud stor cat again; ' +
      'cloud keys list >&-; echo "list $?"; cloud stor get missing 2>&-; echo "missing $?"',
  );
  expect([code, stderr, stdout]).toEqual([0, '', 'get 0\ncontent\nput 0\ncontent\nlist 0\nmissing 3\n']);
});

test('a tree without end is given up at a depth of 1,000', async () => {
  const entry = '{"name":"d","type":"directory","mtime":"2025-01-01T00:00:00Z"}\n';
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/x-json-stream; type=directory\r\nResult-Set-Size: 1\r\nContent-Length: ${entry.length}\r\n\r\n`;
  const tree = await startBadService((socket, request) => {
    // A page that begins with the last name brings nothing new.
    socket.write(head + (request.startsWith('HEAD') ? '' : entry));
  });
  closing.push(tree.close);
  for (const words of [
    ['stor', 'find', 'x'],
    ['stor', 'ls', '--glob', 'x/**'],
    ['stor', 'du', 'x'],
    ['stor', 'rm', '-r', 'x', '-y'],
  ]) {
    tree.requests.length = 0;
    const { code, stderr } = await user.here([...words, '--stor-url', tree.url]);
    expect([words, code, stderr]).toEqual([words, 1, expect.stringContaining('the tree is more than 1000 directories deep')]);
    expect(tree.requests.some((request) => request.startsWith('DELETE'))).toBe(false);
  }
}, 300_000);

test.each(['HUP', 'QUIT'] as const)('SIG%s at a question for a secret leaves the terminal its echo', async (signal) => {
  const file = join(user.home, `locked-${signal}`);
  writeRsaKeyFile(file, { passphrase: 'secret', pem: true });
  const words = `exec cloud keys list --key-file ${file}`;
  const state = `stty -a | tr ' ;' '\\n\\n' | grep -x -- '-\\?echo'`;
  user.write(`ask-${signal}`, `sh -c "echo pid \\$\\$.; ${words}"\necho "ended $?"\n${state}\n`);
  const terminal = openTerminal(`bash ./ask-${signal}`, { env: user.env, cwd: user.home });
  const shown = await terminal.until(/Passphrase/u);
  process.kill(Number(/pid (\d+)\./u.exec(shown)?.[1]), `SIG${signal}`);
  const { text } = await terminal.end();
  expect(text).toMatch(/ended 1(?:29|31)\n/u);
  expect(text.trimEnd().split('\n').at(-1)).toBe('echo');
});

test('profile create warns when the key signs for another host already, however the key is named', async () => {
  const env = { XDG_CONFIG_HOME: join(user.home, 'shared-key') };
  mkdirSync(join(user.home, '.ssh'), { recursive: true });
  for (const name of ['.ssh/id_rsa', 'other.key']) writeRsaKeyFile(join(user.home, name));
  const [stored] = await user.json<{ md5: string; sha256: string }[]>('keys', 'local');
  const md5 = stored?.md5 ?? '';
  const create = async (name: string, host: string, ...key: string[]): Promise<string> => {
    const { code, stderr } = await user.here(
      ['profile', 'create', name, '--url', `https://${host}`, '--account', 'a', ...key, '--no-test', '-q'],
      { env },
    );
    expect([name, code]).toEqual([name, 0]);
    return stderr;
  };
  const shared = /^the key also signs for one\.example\.com \(profile first\): .*300 s.*\n$/u;
  expect(await create('first', 'one.example.com', '--key-id', md5)).toBe('');
  expect(await create('same', 'one.example.com', '--key-id', md5)).toBe('');
  const spellings = [md5, md5.replaceAll(':', ''), `MD5:${md5.toUpperCase()}`, stored?.sha256 ?? '', `${stored?.sha256 ?? ''}=`];
  for (const [at, spelling] of spellings.entries())
    expect(await create(`second${at}`, 'two.example.com', '--key-id', spelling), spelling).toMatch(shared);
  expect(await create('file', 'two.example.com', '--key-file', join(user.home, '.ssh/id_rsa'))).toMatch(shared);
  expect(await create('other', 'three.example.com', '--key-file', join(user.home, 'other.key'))).toBe('');
  expect(
    await create(
      'unknown',
      'four.example.com',
      '--key-id',
      md5.replaceAll(/[\da-f]{2}/gu, (pair) => (pair === '00' ? '01' : '00')),
    ),
  ).toBe('');
});
