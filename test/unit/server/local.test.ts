import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPublicKey } from '../../../src/auth/public-key.ts';
import { openStore } from '../../../src/server/store/open.ts';
import { startLocal, type LocalOptions, type LocalService } from '../../../src/server/local.ts';
import { createRsaKey } from '../../support/service.ts';

const run = promisify(execFile);
let dir = '';
let service: LocalService;

function start(options: Partial<LocalOptions> = {}): Promise<LocalService> {
  return startLocal({ dataDir: join(dir, 'data'), computePort: 0, storPort: 0, ...options });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'cloud-local-'));
  service = await start();
});
afterAll(async () => {
  await service.close(0);
  await rm(dir, { recursive: true, force: true });
});

/** Signs with openssl, as a user with a shell would. */
function signWithOpenssl(text: string): string {
  return execFileSync('openssl', ['dgst', '-sha256', '-sign', service.keyFile ?? ''], { input: text }).toString('base64');
}

/** Runs curl; gives status, headers and body as they came. */
async function curl(url: string, ...options: string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '-i', '--cacert', service.caFile ?? '', ...options, url], {
    maxBuffer: 10_000_000,
  });
  return stdout;
}

function header(name: string, value: string): string[] {
  return ['-H', `${name}: ${value}`];
}

describe('curl with signatures of openssl', () => {
  const date = new Date().toUTCString();
  const accept = header('accept-version', '~9');

  function legacy(): string[] {
    const authorization = `Signature keyId="/demo/keys/${service.keyId}",algorithm="rsa-sha256" ${signWithOpenssl(date)}`;
    return [...header('date', date), ...header('authorization', authorization)];
  }

  function draft(): string[] {
    const authorization = `Signature keyId="/demo/keys/${service.keyId}",algorithm="rsa-sha256",signature="${signWithOpenssl(`date: ${date}`)}"`;
    return [...header('date', date), ...header('authorization', authorization)];
  }

  test('compute answers both header forms', async () => {
    expect(await curl(`${service.computeUrl}/my/images`, ...accept, ...legacy())).toMatch(/^HTTP\/1\.1 200 /u);
    expect(await curl(`${service.computeUrl}/my/images`, ...accept, ...draft())).toMatch(/^HTTP\/1\.1 200 /u);
    expect(await curl(`${service.computeUrl}/my/images`, ...accept)).toMatch(/^HTTP\/1\.1 401 [\s\S]*InvalidCredentials/u);
    expect(await curl(`${service.computeUrl}/my/images`, ...legacy())).toMatch(/^HTTP\/1\.1 449 [\s\S]*InvalidVersion/u);
  });

  test('storage takes a file and gives it back; 100 Continue is withheld when there is no parent', async () => {
    const file = join(dir, 'file');
    await writeFile(file, 'x'.repeat(2_000_000));
    const put = ['-T', file, ...header('expect', '100-continue'), ...draft()];
    const stored = await curl(`${service.storUrl}/demo/stor/logs/file`, ...put);
    expect(stored).toMatch(/^HTTP\/1\.1 100 Continue\s+HTTP\/1\.1 204 /u);
    const refused = await curl(`${service.storUrl}/demo/stor/none/file`, ...put);
    expect(refused).toMatch(/^HTTP\/1\.1 404 [\s\S]*DirectoryDoesNotExist/u);
    const got = await curl(`${service.storUrl}/demo/stor/logs/file`, ...draft());
    expect(got.endsWith('x'.repeat(1000))).toBe(true);
    expect(await curl(`${service.storUrl}/demo/stor`)).toMatch(/^HTTP\/1\.1 403 [\s\S]*AuthorizationFailed/u);
  });

  test('127.0.0.1 and ::1 are both answered, where there is both', async () => {
    const { port } = new URL(service.computeUrl);
    expect(await curl(service.computeUrl, '--resolve', `localhost:${port}:127.0.0.1`)).toMatch(/^HTTP\/1\.1 404 /u);
  });
});

test('the first start makes a key that only the owner can read', async () => {
  expect(service.keyFile).toBe(join(dir, 'data', 'keys', 'demo.pem'));
  expect((await stat(service.keyFile ?? '')).mode & 0o777).toBe(0o600);
  expect(await readFile(service.keyFile ?? '', 'utf8')).toContain('BEGIN PRIVATE KEY');
});

test('a second service cannot have the same directory', async () => {
  await expect(start()).rejects.toThrow(/is in use by another cloud local \(pid \d+\)/u);
});

test('a restart keeps account, key and certificate', async () => {
  const { account, accountId, keyId, keyFile, caFile } = service;
  const certificate = await readFile(caFile ?? '', 'utf8');
  await service.close(0);
  service = await start();
  expect(service).toMatchObject({ account, accountId, keyId, keyFile, caFile });
  expect(await readFile(caFile ?? '', 'utf8')).toBe(certificate);
});

test('own login, own key, plain HTTP, no samples', async () => {
  const key = createRsaKey();
  const other = await start({ dataDir: join(dir, 'other'), account: 'alice', publicKey: key.line, http: true, empty: true });
  try {
    expect(other).toMatchObject({ account: 'alice', keyId: key.fingerprint, keyFile: undefined, caFile: undefined });
    expect(other.computeUrl).toMatch(/^http:\/\/localhost:\d+$/u);
  } finally {
    await other.close(0);
  }
  const second = createRsaKey();
  const again = await start({ dataDir: join(dir, 'other'), publicKey: second.line, http: true });
  expect(again).toMatchObject({ account: 'alice', keyId: second.fingerprint });
  await again.close(0);
});

test('an unusable login or key is one clear line, and the directory can be used after', async () => {
  const options = { dataDir: join(dir, 'third') };
  await expect(start({ ...options, account: '1' })).rejects.toThrow(/a login is a letter/u);
  await expect(start({ ...options, publicKey: 'nonsense' })).rejects.toThrow(/the public key is invalid/u);
  // A key that cannot sign requests: its account could not be used.
  const line = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me';
  await expect(start({ ...options, publicKey: line })).rejects.toThrow(/RSA, DSA and ECDSA keys, not Ed25519/u);
  const port = Number(new URL(service.computeUrl).port);
  const usable = { ...options, publicKey: createRsaKey().line, http: true };
  await expect(start({ ...usable, computePort: port })).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`);
  await (await start(usable)).close(0);
});

test('a key that was deleted never comes back: the next start makes another and registers it', async () => {
  const dataDir = join(dir, 'deleted');
  const options = { dataDir, empty: true, http: true };
  const first = await start(options);
  await first.close(0);
  const other = createRsaKey();
  await (await start({ ...options, publicKey: other.line })).close(0);
  const store = await openStore(dataDir);
  await store.write((transaction) => transaction.deleteFrom('keys').where('fingerprint', '=', first.keyId).execute());
  await store.close();
  const second = await start(options);
  await second.close(0);
  expect([first.keyId, other.fingerprint]).not.toContain(second.keyId);
  const fingerprint = execFileSync('ssh-keygen', ['-y', '-f', second.keyFile ?? '']).toString();
  expect(readPublicKey(fingerprint).fingerprints.md5).toBe(second.keyId);
  const third = await start(options);
  await third.close(0);
  expect(third.keyId).toBe(second.keyId);
});

test('a service that ends right after its start does not wait for the trial of the sandbox, and what is known of it stays', async () => {
  const dataDir = join(dir, 'ended-early');
  const options = { dataDir, publicKey: createRsaKey().line, empty: true, http: true };
  await (await start(options)).close(0);
  const known = await readFile(join(dataDir, 'isolation.json'), 'utf8');
  const lines: string[] = [];
  const second = await start({ ...options, log: (line) => lines.push(line) });
  await second.close(0);
  // A trial that ended says what it found.
  expect(lines.filter((line) => /tasks run|jobs are off/u.test(line))).toEqual([]);
  expect(await second.tried).toMatchObject({ isolation: 'off' });
  expect(await readFile(join(dataDir, 'isolation.json'), 'utf8')).toBe(known);
});
