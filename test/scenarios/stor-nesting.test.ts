import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { useShared } from '../support/shared-service.ts';

/** A tree that is put, fetched or copied again goes to the same place when -T says so, and an interruption says the line that goes on. */

const user = useShared('--http');

let proxy: FaultProxy;
let onRequest: (method: string) => void = () => undefined;

beforeAll(async () => {
  proxy = await startFaultProxy(user.local.storUrl, (method) => (onRequest(method), 'none'), 1);
  for (const name of ['a', 'b', 'c/d']) user.write(`ph/${name}`, randomBytes(150_000));
  await user.here(['stor', 'put', '-r', 'ph', 'pics', '-q']);
});

afterAll(() => proxy.close());

async function remote(path: string): Promise<string[]> {
  const { stdout } = await user.here(['stor', 'find', path, '-o', 'name']);
  return stdout.split('\n').slice(1, -1);
}

/** Runs a line that moves bytes slowly, and interrupts it when the third request came. */
async function interrupt(...words: string[]): Promise<string> {
  let count = 0;
  onRequest = (method) => {
    if (method !== 'HEAD' && ++count === 3) child.kill('SIGINT');
  };
  const all = ['stor', ...words, '--bwlimit', '300K', '-P', '1', '--stor-url', proxy.url];
  const child = spawn(join(user.home, 'bin/cloud'), all, { cwd: user.home, env: user.env, stdio: ['ignore', 'ignore', 'pipe'] });
  const pieces: Buffer[] = [];
  child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
  await new Promise((resolve) => void child.on('close', resolve));
  onRequest = () => undefined;
  expect(child.signalCode).toBe('SIGINT');
  const [, line = ''] = /to resume: (.*)\n/.exec(Buffer.concat(pieces).toString()) ?? [];
  return line;
}

test('put -r: the hint of an interruption goes on where it was; without -T the tree nests, with a note', async () => {
  const line = await interrupt('put', '-r', 'ph', 'again');
  expect(line).toMatch(/^cloud resume [0-9a-f]{8}$/);
  const done = await user.shell(line);
  expect([done.code, await remote('again')]).toEqual([0, ['a', 'b', 'c', 'c/d'].map((name) => `/demo/stor/again/${name}`)]);
  const nested = await user.here(['stor', 'put', '-r', 'ph', 'again']);
  expect([nested.code, (await remote('again')).includes('/demo/stor/again/ph/c/d')]).toEqual([0, true]);
  expect(nested.stderr).toContain('/demo/stor/again exists and has the same names (a, b, c): the tree is stored as /demo/stor/again/ph');
  expect(nested.stderr).toContain('cloud stor put -r -T ph again');
  // The second time it is known to be meant.
  expect((await user.here(['stor', 'put', '-r', 'ph', 'again'])).stderr).not.toContain('the same names');
});

test('get -r does so too', async () => {
  const line = await interrupt('get', '-r', 'pics', 'here');
  expect(line).toMatch(/^cloud resume [0-9a-f]{8}$/);
  expect((await user.shell(line)).code).toBe(0);
  expect((await user.shell('diff -r ph here')).stdout).toBe('');
  const nested = await user.here(['stor', 'get', '-r', 'pics', 'here']);
  expect([nested.code, readdirSync(join(user.home, 'here')).toSorted()]).toEqual([0, ['a', 'b', 'c', 'pics']]);
  expect(nested.stderr).toContain('has the same names (a, b, c)');
  expect(nested.stderr).toContain('cloud stor get -r -T pics here');
});

test('cp -r does so too', async () => {
  const line = await interrupt('cp', '-r', 'pics', 'copied');
  expect(line).toMatch(/^cloud resume [0-9a-f]{8}$/);
  expect((await user.shell(line)).code).toBe(0);
  expect(await remote('copied')).toEqual(['a', 'b', 'c', 'c/d'].map((name) => `/demo/stor/copied/${name}`));
  const nested = await user.here(['stor', 'cp', '-r', 'pics', 'copied']);
  expect([nested.code, nested.stderr.includes('cloud stor cp -r -T pics copied')]).toEqual([0, true]);
});

test.each([
  ['put', 'ph', 'ph/c', 'pics'],
  ['get', 'pics', 'pics/c', 'here'],
])('-T of %s takes a single source', async (verb, ...rest) => {
  const { code, stderr } = await user.here(['stor', verb, '-r', '-T', ...rest]);
  expect([code, stderr.includes('-T takes a single source')]).toEqual([2, true]);
});
