import { execFileSync, spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

/** Profiles, the choice of one, and the authority: what may stand in their places, and who may write at the same time. */

const user = useSandbox();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const profiles = join(user.home, '.config/cloud/profiles');

function readProfile(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(join(profiles, `${name}.json`), 'utf8')) as Record<string, unknown>;
}

async function makeProfile(name: string): Promise<void> {
  const words = ['profile', 'create', name, '--url', 'https://localhost:1', '--account', 'jill', '--key-id', `SHA256:${'a'.repeat(43)}`];
  expect((await user.here([...words, '--no-test', '-q'])).code).toBe(0);
}

/** Runs a command that must not hang, whatever it is given. */
function runBriefly(...words: string[]): { status: number | null; stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, [program, ...words], { env: user.env, timeout: 120_000, encoding: 'utf8' });
  return { status, stderr };
}

test('edits of a profile at the same time are all kept', async () => {
  await makeProfile('busy');
  const settings = {
    account: 'a',
    user: 'b',
    'stor-url': 'https://c',
    'api-version': '~9',
    'key-file': '/etc/hosts',
    ca: '/etc/passwd',
    timeout: '7s',
    retries: '9',
  };
  const edits = Object.entries(settings).map(([name, value]) => user.cloud(['profile', 'edit', 'busy', `--${name}`, value, '-q']));
  for (const { code, stderr } of await Promise.all(edits)) expect([code, stderr]).toEqual([0, '']);
  expect(readProfile('busy')).toMatchObject({
    account: 'a',
    user: 'b',
    storUrl: 'https://c',
    apiVersion: '~9',
    keyFile: '/etc/hosts',
    ca: '/etc/passwd',
    timeout: '7s',
    retries: 9,
  });
  expect(readdirSync(profiles)).toEqual(['busy.json']);
});

test('the lock of a process that has ended keeps nobody from editing', async () => {
  await makeProfile('locked');
  const pid = execFileSync('bash', ['-c', 'echo $$']).toString();
  writeFileSync(join(profiles, 'locked.json.lock'), pid, { mode: 0o600 });
  expect((await user.here(['profile', 'edit', 'locked', '--account', 'new', '-q'])).code).toBe(0);
  expect([readProfile('locked')['account'], readdirSync(profiles).filter((name) => name.includes('lock'))]).toEqual([
    'new',
    ['locked.json'],
  ]);
});

test('a profile that is a link stays one: what it points to is written', async () => {
  await makeProfile('linked');
  const file = join(profiles, 'linked.json');
  const real = user.write('dotfiles/linked.json', readFileSync(file));
  rmSync(file);
  symlinkSync(real, file);
  expect((await user.here(['profile', 'edit', 'linked', '--account', 'other', '-q'])).code).toBe(0);
  expect([readlinkSync(file), JSON.parse(readFileSync(real, 'utf8'))]).toEqual([real, expect.objectContaining({ account: 'other' })]);
  expect(readdirSync(join(user.home, 'dotfiles'))).toEqual(['linked.json']);
});

describe.each([
  ['a named pipe', (path: string) => void execFileSync('mkfifo', [path]), 'is not a regular file'],
  ['a device', (path: string) => symlinkSync('/dev/zero', path), 'is not a regular file'],
  ['a directory', (path: string) => mkdirSync(path), 'is not a regular file'],
  ['a file without end', (path: string) => void execFileSync('truncate', ['-s', '3G', path]), 'is larger than 1048576 bytes'],
])('%s', (kind, put, words) => {
  const own = kind.replaceAll(' ', '-');

  test('as a profile', () => {
    const name = `kind-${own}`;
    mkdirSync(profiles, { recursive: true });
    put(join(profiles, `${name}.json`));
    const { status, stderr } = runBriefly('keys', 'list', '--profile', name);
    rmSync(join(profiles, `${name}.json`), { recursive: true });
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('as the choice of a profile', () => {
    const choice = join(user.home, '.config/cloud/config.json');
    rmSync(choice, { force: true });
    put(choice);
    const { status, stderr } = runBriefly('keys', 'list');
    rmSync(choice, { recursive: true });
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test('as the authority', () => {
    const ca = join(user.home, `ca-${own}`);
    put(ca);
    const settings = ['--url', 'https://localhost:1', '--account', 'jill', '--key-file', '/none'];
    const { status, stderr } = runBriefly('keys', 'list', ...settings, '--ca', ca);
    expect(lstatSync(ca)).toBeDefined();
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
    expect(runBriefly('doctor', ...settings, '--ca', ca).stderr).not.toContain('unexpected');
  });
});
