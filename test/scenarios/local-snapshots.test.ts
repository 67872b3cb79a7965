import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fillRemovedMeanwhile } from '../support/removed-meanwhile.ts';
import { useLocal, useSandbox, type LocalInfo } from '../support/sandbox.ts';

/** Snapshots of what a service holds, and services that begin with one. */

const user = useLocal('--http');
const other = useSandbox();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const forks: LocalInfo[] = [];

afterAll(async () => {
  for (const { dataDir } of forks) await user.here(['local', 'stop', '--data', dataDir]);
});

async function fork(...words: string[]): Promise<LocalInfo> {
  const info = await user.json<LocalInfo>('local', 'fork', '--http', ...words);
  forks.push(info);
  return info;
}

/** Ends a service and removes its data. */
async function end({ dataDir }: LocalInfo): Promise<void> {
  expect(await user.here(['local', 'stop', '--data', dataDir])).toMatchObject({ code: 0, stderr: 'Stopped\n' });
  rmSync(dataDir, { recursive: true });
}

/** Reads an object by way of a profile; its absence is said on stderr. */
async function read(profile: string, path: string): Promise<string> {
  const { stdout, stderr } = await user.here(['--profile', profile, 'stor', 'cat', path]);
  return stdout === '' ? stderr : stdout;
}

const put = async (profile: string, path: string, text: string): Promise<unknown> =>
  await user.here(['--profile', profile, 'stor', 'put', '-q', '-', path], { input: text.padEnd(10_000, '.') });

/** A connection that stays open: asks for something on it, and tells whether it was closed. */
async function openConnection(): Promise<{ body: (line: string) => Promise<string>; closed: () => boolean }> {
  const socket = connect(Number(new URL(user.local.computeUrl).port), '127.0.0.1');
  await once(socket, 'connect');
  return {
    body: async (line) => {
      socket.write(`${line}\r\nHost: x\r\n\r\n`);
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      return bytes.toString();
    },
    closed: () => socket.closed,
  };
}

/** Files of contents below a data directory. */
function listContents(dataDir: string): string[] {
  const entries = readdirSync(join(dataDir, 'bytes'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe('cloud local fork', () => {
  it('has what its origin has, shares its contents, and survives it; neither sees what the other does', async () => {
    await put('local', 'a', 'first');
    const copy = await fork('--profile', 'copy', '--to', 'copied');
    expect(Object.keys(copy)).toEqual(Object.keys(user.local));
    expect([copy.account, copy.accountId, copy.keyId, copy.profile]).toEqual(['demo', user.local.accountId, user.local.keyId, 'copy']);
    expect(copy.keyFile.startsWith(copy.dataDir)).toBe(true);
    const inodes = new Set(listContents(user.local.dataDir).map((file) => statSync(file).ino));
    expect(listContents(copy.dataDir).filter((file) => !inodes.has(statSync(file).ino))).toEqual([]);
    expect(listContents(copy.dataDir)).not.toEqual([]);
    await put('copy', 'b', 'of the fork');
    await user.here(['--profile', 'copy', 'stor', 'rm', '-q', 'a']);
    expect(await read('local', 'a')).toMatch(/^first/u);
    expect(await read('local', 'b')).toContain('does not exist');
    await put('local', 'c', 'of the origin');
    expect(await read('copy', 'c')).toContain('does not exist');
    const second = await fork('--profile', 'second');
    await end(copy);
    const third = await fork('--profile', 'third', '--data', second.dataDir);
    await end(second);
    expect(third.dataDir).toContain('/forks/');
    expect([await read('third', 'a'), await read('third', 'c')]).toEqual([
      expect.stringMatching(/^first/u),
      expect.stringMatching(/^of the/u),
    ]);
  });

  it.each([
    ['fork', '--to'],
    ['start', '--data'],
  ])('%s leaves no process when it is interrupted', async (verb, option) => {
    const dataDir = join(user.home, `interrupted-${verb}`);
    const words = ['local', verb, option, dataDir, '--http', '--compute-port', '0', '--stor-port', '0'];
    const child = spawn(process.execPath, [program, ...words], { env: user.env, cwd: user.home, stdio: ['ignore', 'ignore', 'pipe'] });
    let told = '';
    child.stderr.on('data', (piece: Buffer) => (told += piece.toString()));
    const ended = once(child, 'close');
    await expect.poll(() => existsSync(join(dataDir, 'service.log')), { interval: 5 }).toBe(true);
    child.kill('SIGTERM');
    expect([await ended, told]).toEqual([[null, 'SIGTERM'], expect.stringContaining('interrupted')]);
    expect(existsSync(join(dataDir, 'cloud.pid'))).toBe(false);
    expect((await user.here(['local', 'stop', '--data', dataDir])).stderr).toBe('Not running\n');
    if (verb === 'fork') expect(existsSync(dataDir)).toBe(false);
  });

  it('refuses a directory that has something in it, and leaves nothing when it fails', async () => {
    user.write('mine/file', '');
    expect(await user.here(['local', 'fork', '--to', 'mine'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not empty; nothing was changed') as string,
    });
    const missing = await user.here(['local', 'fork', '--snapshot', 'none', '--to', 'new']);
    expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('there is no snapshot "none"') as string });
    expect([existsSync(join(user.home, 'new')), existsSync(join(user.home, 'mine/file'))]).toEqual([false, true]);
    const nothing = await other.here(['local', 'fork']);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('is not the data of a local service') as string });
    expect(existsSync(join(other.home, '.local/share/cloud/forks'))).toBe(false);
  });
});

describe('cloud local snapshot', () => {
  it('keeps what there is, for others to begin with, while the service goes on', async () => {
    await put('local', 'kept', 'then');
    const made = await user.json<{ objects: number; size: number }>('local', 'snapshot', 'create', 'then');
    expect(made).toMatchObject({ name: 'then', objects: expect.any(Number) as number });
    expect(made.size).toBeGreaterThanOrEqual(2000);
    await put('local', 'kept', 'now');
    await fork('--snapshot', 'then', '--profile', 'past');
    expect([await read('local', 'kept'), await read('past', 'kept')]).toEqual([
      expect.stringMatching(/^now/u),
      expect.stringMatching(/^then/u),
    ]);
    const { stdout } = await user.cloud(['local', 'run', '--snapshot', 'then', '--', 'sh', '-c', 'cloud stor cat kept | cut -c1-4']);
    expect(stdout).toBe('then\n');
    const folder = join(user.local.dataDir, 'snapshots');
    expect([folder, join(folder, 'then')].map((each) => lstatSync(each).mode & 0o777)).toEqual([0o700, 0o700]);
    expect((await user.here(['local', 'snapshot', 'delete', 'then'])).code).toBe(0);
    expect(await user.json('local', 'snapshot', 'list')).toEqual([]);
    expect(await read('past', 'kept')).toMatch(/^then/u);
  });

  it('says what is wrong', async () => {
    await user.json('local', 'snapshot', 'create', 'one');
    mkdirSync(join(user.local.dataDir, 'snapshots', '.left'));
    for (const [words, code, problem] of [
      [['create', 'one'], 2, /there is a snapshot "one" already\nhint: .*cloud local snapshot delete one/u],
      [['create', '../one'], 2, /"\.\.\/one" is not the name of a snapshot/u],
      [['create', '.left'], 2, /is not the name/u],
      [['delete', 'two'], 3, /there is no snapshot "two" of .*\nhint: there is one/u],
      [['delete', '..'], 2, /is not the name/u],
    ] as const) {
      expect(await user.here(['local', 'snapshot', ...words])).toMatchObject({ code, stderr: expect.stringMatching(problem) as string });
    }
    const { code, stderr } = await user.cloud(['local', 'run', '--data', 'nowhere', '--', 'true']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('nowhere is not the data of a local service')]);
    // What a crash left is gone with the next one.
    await user.json('local', 'snapshot', 'create', 'two');
    expect(readdirSync(join(user.local.dataDir, 'snapshots')).toSorted()).toEqual(['one', 'two']);
  });

  it('is deleted although another process is deleting it too', async () => {
    const folder = join(user.local.dataDir, 'snapshots');
    await user.json('local', 'snapshot', 'create', 'twice');
    const awaitOther = await fillRemovedMeanwhile(join(folder, 'twice', 'bytes'));
    expect((await user.here(['local', 'snapshot', 'delete', 'twice'])).code).toBe(0);
    expect(readdirSync(folder).filter((name) => !/^(one|two)$/u.test(name))).toEqual([]);
    await awaitOther();
  });

  it('is given back while the service runs: connections, addresses, clock and faults stay', async () => {
    const { body, closed } = await openConnection();
    await put('local', 'mine', 'before');
    const words = ['users', 'create', 'kim', '--email', 'kim@example.com', '--password-stdin', '-q'];
    expect(await user.here(words, { input: 'open sesame 1\n' })).toMatchObject({ code: 0 });
    await user.json('local', 'snapshot', 'create', 'before');
    await put('local', 'mine', 'after');
    await put('local', 'new', 'after');
    await user.here(['users', 'delete', 'kim', '-y', '-q']);
    await user.json('local', 'clock', 'advance', '1h');
    await user.json('local', 'faults', 'add', 'getpackage', '503');
    expect(await user.here(['local', 'snapshot', 'restore', 'before'])).toMatchObject({ code: 0, stderr: 'Restored snapshot before\n' });
    expect([await read('local', 'mine'), await read('local', 'new')]).toEqual([
      expect.stringMatching(/^before/u),
      expect.stringContaining('does not exist'),
    ]);
    expect(await user.json('users', 'list')).toMatchObject([{ login: 'kim' }]);
    expect([await body('GET / HTTP/1.1'), closed()]).toEqual([expect.stringContaining('HTTP/1.1 '), false]);
    expect(await user.json('local', 'clock', 'reset')).toMatchObject({ offset: 0 });
    expect(await user.json('local', 'faults', 'list')).toHaveLength(1);
    await user.here(['local', 'faults', 'clear', '-q']);
    expect(await user.json('local', 'status')).toMatchObject({ pid: user.local.pid });
    expect((await user.here(['local', 'snapshot', 'restore', 'none'])).code).toBe(3);
    expect(await read('local', 'mine')).toMatch(/^before/u);
  });

  it('outlives a reset, after which the services begin anew with the same accounts and keys', async () => {
    expect(await user.here(['local', 'reset', '-y'])).toMatchObject({
      code: 0,
      stderr: 'The services have the state of their first start\n',
    });
    expect(await read('local', 'mine')).toContain('does not exist');
    expect(await user.json('account', 'get')).toMatchObject({ id: user.local.accountId, login: 'demo' });
    expect([await user.json('users', 'list'), (await user.json<unknown[]>('images', 'list')).length > 0]).toEqual([[], true]);
    await user.here(['local', 'snapshot', 'restore', 'before']);
    expect(await read('local', 'mine')).toMatch(/^before/u);
  });

  it('works on data at rest too', async () => {
    await user.here(['local', 'stop']);
    await user.json('local', 'snapshot', 'create', 'rest');
    await fork('--profile', 'rested');
    expect(await read('rested', 'kept')).toMatch(/^now/u);
    expect(await user.here(['local', 'snapshot', 'restore', 'one'])).toMatchObject({ code: 0 });
    await user.json('local', 'start', '--http', '--compute-port', '0', '--stor-port', '0');
    expect([await read('local', 'kept'), await read('local', 'new')]).toEqual([
      expect.stringMatching(/^now/u),
      expect.stringContaining('does not exist'),
    ]);
  });

  it('changes return records if a form is asked for, and refuse unknown fields before the change', async () => {
    for (const words of [
      ['snapshot', 'create', 'unwanted'],
      ['faults', 'add', 'ping', '500'],
      ['clock', 'advance', '1h'],
      ['seed'],
      ['start', '--data', 'unwanted'],
      ['stop'],
      ['reset', '-y'],
    ])
      expect([words, (await user.here(['local', ...words, '--columns', 'nosuch'])).code]).toEqual([words, 2]);
    expect(await user.json('local', 'faults', 'list')).toEqual([]);
    expect(existsSync(join(user.home, 'unwanted'))).toBe(false);
    const made = await user.json<{ name: string }>('local', 'snapshot', 'create', 'shown');
    expect(await user.json('local', 'snapshot', 'restore', 'shown')).toEqual(made);
    expect(await user.json('local', 'snapshot', 'delete', 'shown')).toEqual([made]);
    const { dataDir } = user.local;
    expect(await user.json('local', 'reset', '-y')).toEqual({ dataDir, outcome: 'reset' });
    expect(await user.json('local', 'stop', '--data', 'nothing')).toEqual({ dataDir: join(user.home, 'nothing'), outcome: 'not running' });
    expect(await user.json('local', 'reset', '-y', '--data', 'nothing')).toEqual({
      dataDir: join(user.home, 'nothing'),
      outcome: 'absent',
    });
  });
});
