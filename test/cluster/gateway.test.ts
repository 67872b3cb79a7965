import { spawn, type ChildProcess } from 'node:child_process';
import { request } from 'node:https';
import { chmodSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase } from '../support/cluster-database.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { runStatement } from '../support/postgres.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { createRsaKey, signHeaders } from '../support/service.ts';

/** The program as an operator runs it: tables, an account, a gateway, its end, and the next one. */

interface Running {
  readonly child: ChildProcess;
  readonly told: { computeUrl: string; storUrl: string; caFile?: string; pid: number; gateway: string };
  /** Lines of its log so far. */
  readonly lines: () => readonly string[];
  readonly ended: Promise<number | null>;
}

const program = resolve(import.meta.dirname, '../../bin/cloud');
const key = createRsaKey();
let sandbox: Sandbox;
let remove: () => void;
let url = '';
let drop: () => Promise<void>;
const running: ChildProcess[] = [];

beforeAll(async () => {
  ({ sandbox, remove } = createSandbox());
  ({ url, drop } = await createDatabase({ isEmpty: true }));
  chmodSync(sandbox.write('key.pem', key.privateKey.export({ type: 'pkcs8', format: 'pem' })), 0o600);
  sandbox.write('key.pub', key.line);
  chmodSync(sandbox.write('database', `${url}\n`), 0o600);
});
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await drop();
  remove();
});

const places = (): string[] => ['--database-file', join(sandbox.home, 'database'), '--bytes', `file://${sandbox.home}/bytes`];
const isolation = usualIsolation() === 'none' ? ['--isolation', 'none'] : [];

function startGateway(...words: string[]): Promise<Running> {
  const all = ['server', 'gateway', ...places(), '--compute-port', '0', '--stor-port', '0', '-j', ...isolation, ...words];
  const child = spawn(process.execPath, [program, ...all], { cwd: sandbox.home, env: sandbox.env });
  running.push(child);
  let [stdout, stderr] = ['', ''];
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString()));
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return new Promise((done, failed) => {
    child.stdout.on('data', (piece: Buffer) => {
      stdout += piece.toString();
      const line = stdout.split('\n').find((each) => each.startsWith('{"computeUrl"'));
      if (line === undefined) return;
      done({ child, ended, told: JSON.parse(line) as Running['told'], lines: () => stdout.trim().split('\n') });
    });
    void ended.then((code) => failed(new Error(`the gateway ended with ${code}: ${stderr}`)));
  });
}

async function stop({ child, ended }: Running): Promise<number | null> {
  child.kill('SIGTERM');
  return ended;
}

async function useProfile({ told }: Pick<Running, 'told'>): Promise<void> {
  const words = [
    '--url',
    told.computeUrl,
    '--stor-url',
    told.storUrl,
    '--ca',
    told.caFile ?? '',
    '--key-file',
    join(sandbox.home, 'key.pem'),
  ];
  await sandbox.json('profile', 'create', 'team', '--account', 'alice', ...words, '--force');
}

test('before the tables are made a gateway says what to do', async () => {
  const { code, stderr } = await sandbox.cloud(['server', 'gateway', ...places(), '--http']);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/version 0 of the tables, .*\nhint: cloud server migrate\n$/u)]);
});

test('tables and an account are made, and made again nothing is lost', async () => {
  const database = ['--database-file', join(sandbox.home, 'database')];
  const { to, from } = await sandbox.json<{ from: number; to: number }>('server', 'migrate', ...database);
  expect([from, to > 0]).toEqual([0, true]);
  const owner = ['alice', '--email', 'alice@example.com', '--public-key', join(sandbox.home, 'key.pub')];
  const made = await sandbox.json<{ id: string }>('server', 'accounts', 'create', ...owner, ...database);
  expect(made).toMatchObject({ login: 'alice', email: 'alice@example.com', keys: 1 });
  const again = await sandbox.here(['server', 'accounts', 'create', ...owner, ...database]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('there is an account alice already')]);
  expect(await sandbox.json('server', 'migrate', ...database)).toEqual({ from: to, to });
  expect(await sandbox.json('server', 'accounts', 'list', ...database)).toEqual([made]);
});

describe('words that are refused', () => {
  const refused = async (...words: string[]): Promise<string> => {
    const { code, stderr, stdout } = await sandbox.here(['server', ...words]);
    expect([code, stdout]).toEqual([2, '']);
    return stderr;
  };

  test.each(['postgresql://cloud:hush-hush@localhost/cloud', 'postgresql:///cloud?host=/run&password=hush-hush'])(
    'a password in --database, which is not repeated: %s',
    async (database) => {
      const stderr = await refused('migrate', '--database', database);
      expect(stderr).toContain('contains a password');
      expect(stderr).not.toContain('hush');
    },
  );

  test('other URLs, none, two, and no certificate', async () => {
    expect(await refused('migrate', '--database', 'mysql://localhost/cloud')).toContain('must be the URL of a PostgreSQL database');
    expect(await refused('migrate')).toContain('CLOUD_SERVER_DATABASE');
    expect(await refused('migrate', '--database', 'postgresql://h/d', '--database-file', 'x')).toContain('give one of');
    const database = ['--database', 'postgresql://localhost/cloud'];
    expect(await refused('gateway', ...database, '--http')).toContain('--bytes file:///DIR');
    for (const bytes of ['/srv/cloud', 'file://host/srv', 'file:///', 'https://bucket'])
      expect(await refused('gateway', ...database, '--http', '--bytes', bytes)).toContain('must be the URL of a folder or a bucket');
    const folder = [...database, '--bytes', 'file:///srv/cloud'];
    expect(await refused('gateway', ...folder)).toContain('no certificate');
    expect(await refused('gateway', ...folder, '--tls-cert', 'x')).toContain('must be given together');
    expect(await refused('gateway', ...folder, '--tls-dir', 'x', '--http')).toContain('more than one TLS option');
    expect(await refused('gateway', ...folder, '--http', '--public-url', 'cloud.example.com')).toContain('must be an http or https URL');
  });

  test('buckets that are named wrongly, or with a key that everybody could read', async () => {
    const words = ['--database', 'postgresql://localhost/cloud', '--http', '--bytes'];
    const good = 's3://bucket?endpoint=http://localhost:1';
    for (const bytes of ['s3://id:hush@bucket?endpoint=http://localhost:1', 's3://bucket?endpoint=http://id:hush@localhost:1']) {
      const stderr = await refused('gateway', ...words, bytes);
      expect([stderr.includes('contains a key'), stderr.includes('hush')], bytes).toEqual([true, false]);
    }
    for (const [bytes, message] of [
      ['s3://bucket', 'endpoint must be'],
      ['s3://bucket?endpoint=ftp://localhost', 'endpoint must be'],
      ['s3://bucket?endpoint=http://localhost/path', 'endpoint must be'],
      ['s3://Bucket_?endpoint=http://localhost', 'a bucket name'],
      ['s3://bucket/../x%20y?endpoint=http://localhost', 'a folder in the bucket'],
      [`${good}&region=a%0Ab`, 'region may contain only'],
      [`${good}&secret=hush`, 'secret is not a parameter'],
      [good, 'AWS_ACCESS_KEY_ID'],
    ] as const) {
      const stderr = await refused('gateway', ...words, bytes);
      expect(stderr).toContain(message);
      expect(stderr).not.toContain('hush');
    }
    sandbox.write('keys', '[default]\naws_access_key_id = id\naws_secret_access_key = hush\n');
    const file = join(sandbox.home, 'keys');
    chmodSync(file, 0o644);
    expect(await refused('gateway', ...words, good, '--bytes-credentials', file)).toContain('other users can read or change it');
    sandbox.write('none', '[other]\nregion = x\n');
    chmodSync(join(sandbox.home, 'none'), 0o600);
    expect(await refused('gateway', ...words, good, '--bytes-credentials', join(sandbox.home, 'none'))).toContain('contains no key pair');
    expect(await refused('gateway', ...words, 'file:///srv/cloud', '--bytes-credentials', file)).toContain('only with s3://');
  });

  test('a database that is not there', async () => {
    const { code, stderr } = await sandbox.here(['server', 'migrate', '--database', 'postgresql://localhost:1/cloud']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/postgresql:\/\/localhost:1\/cloud cannot be used: .*ECONNREFUSED/u)]);
  });
});

test('an account of two gateways stores with one, reads with the other and runs jobs; the data outlives both', async () => {
  const tls = ['--tls-dir', join(sandbox.home, 'tls')];
  const [first, second] = await Promise.all([startGateway(...tls), startGateway(...tls)]);
  expect(first.told).toMatchObject({ pid: first.child.pid, caFile: join(sandbox.home, 'tls/ca.pem') });
  sandbox.write('large', 'x'.repeat(3_000_000));
  await useProfile(first);
  expect(await sandbox.shell('cloud stor put -q -p large notes/large && cloud stor cat notes/large | cmp - large')).toMatchObject({
    code: 0,
  });
  expect(await sandbox.json('services', 'list')).toContainEqual({ name: 'storage', url: expect.stringContaining('https://localhost') });
  await useProfile(second);
  expect(await sandbox.shell('cloud stor cat notes/large | cmp - large')).toMatchObject({ code: 0, stderr: '' });
  for (const line of first.lines()) expect(JSON.parse(line)).toBeTypeOf('object');
  expect(await stop(first)).toBe(0);
  const { stdout } = await sandbox.shell("cloud jobs run -q --map 'wc -c' notes/large");
  expect(stdout).toBe('3000000\n');
  second.child.kill('SIGKILL');
  await second.ended;
  // What was killed is in nobody's way.
  const third = await startGateway(...tls, '--public-url', 'https://cloud.example.com', '--keep-garbage', '7d', '--no-collect');
  await useProfile(third);
  expect(await sandbox.shell('cloud stor cat notes/large | cmp - large')).toMatchObject({ code: 0, stderr: '' });
  expect(await sandbox.json('services', 'list')).toContainEqual({ name: 'compute', url: 'https://cloud.example.com' });
  expect(await stop(third)).toBe(0);
});

/** A PUT of ten bytes, of which five are sent until `end` is called. */
function beginPut({ told }: Running, name: string): { end(): void; readonly answered: Promise<number | undefined> } {
  const headers = { ...signHeaders('storage', { key, keyId: `/alice/keys/${key.fingerprint}` }), 'content-length': '10' };
  const put = request(`${told.storUrl}/alice/stor/${name}`, { method: 'PUT', headers, ca: readFileSync(told.caFile ?? '') });
  const answered = new Promise<number | undefined>((done, failed) =>
    put.on('error', failed).on('response', (response) => done(response.statusCode)),
  );
  put.write('12345');
  return { end: () => put.end('67890'), answered };
}

test('a gateway that was frozen for longer than its lease cannot commit when it wakes, and serves again', async () => {
  const tls = ['--tls-dir', join(sandbox.home, 'tls')];
  const [frozen, other] = await Promise.all([startGateway(...tls), startGateway(...tls)]);
  const put = beginPut(frozen, 'frozen');
  // The request is under way when another, sent later, was answered.
  await useProfile(frozen);
  await sandbox.json('stor', 'ls');
  frozen.child.kill('SIGSTOP');
  await runStatement(url, `update gateways set until = clock_timestamp() - interval '1 second' where id = '${frozen.told.gateway}'`);
  put.end();
  await useProfile(other);
  expect((await sandbox.here(['stor', 'put', '-q', '-p', join(sandbox.home, 'key.pub'), 'frozen'])).code).toBe(0);
  frozen.child.kill('SIGCONT');
  expect(await put.answered).toBe(503);
  const { stdout } = await sandbox.here(['stor', 'cat', 'frozen']);
  expect(stdout).toBe(key.line);
  // It takes a new lease by itself.
  await useProfile(frozen);
  const isServing = async (): Promise<number | null> => (await sandbox.here(['stor', 'mkdir', '-p', 'after'])).code;
  await expect.poll(isServing).toBe(0);
  expect([await stop(frozen), await stop(other)]).toEqual([0, 0]);
});

test('SIGTERM: a request under way is finished first', async () => {
  const gateway = await startGateway('--tls-dir', join(sandbox.home, 'tls'));
  const put = beginPut(gateway, 'slow');
  // The request is under way when another, sent later, was answered and logged.
  await useProfile(gateway);
  await sandbox.json('stor', 'ls');
  gateway.child.kill('SIGTERM');
  await expect.poll(() => gateway.lines().some((line) => line.includes('"stopping"'))).toBe(true);
  put.end();
  expect([await put.answered, await gateway.ended]).toEqual([204, 0]);
});
