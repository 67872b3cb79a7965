import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCache } from '../../src/config/cache.ts';
import { evilWord, plantEvilCode } from '../support/evil-code.ts';
import { makeResponse, serveUntrusted, type Hostile } from '../support/hostile.ts';
import { useShared } from '../support/shared-service.ts';

/**
 * Folders of the program that another user of the machine could have filled. The other user is `nobody`, which takes the rights of root to set up: where
 * the tests run as somebody else, the files that would be nobody's are the user's own, in folders that everybody can write to.
 */

const user = useShared();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const version = /^cloud \d+\.\d+\.\d+[^\n]*\n$/u;

/** A folder below the home, open to everybody as a shared one is. */
function makeShared(name: string): string {
  const folder = join(user.home, name);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o777);
  return folder;
}

/** Gives a path to the other user. */
function giveAway(path: string): void {
  if (isRoot) execFileSync('chown', ['-hR', String(nobody), path]);
  else execFileSync('chmod', ['-R', 'a+rwX', path]);
}

/** The file in which a first run keeps what it compiled: a copy of what one run has kept. */
async function keepCode(cache: string): Promise<string> {
  const first = join(user.home, 'first');
  if (!existsSync(first)) expect((await user.cloud(['--version'], { env: { XDG_CACHE_HOME: first } })).stdout).toMatch(version);
  mkdirSync(cache, { recursive: true });
  execFileSync('cp', ['-a', join(first, 'cloud'), cache]);
  const folder = join(cache, 'cloud/code');
  return join(folder, readdirSync(folder).find((name) => !name.endsWith('.starting')) ?? '');
}

/** Runs `cloud --version`, which must print the version, and says what it said besides. */
async function runVersion(env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await user.cloud(['--version'], { env });
  expect([code, stdout]).toEqual([0, expect.stringMatching(version)]);
  expect(stderr).not.toContain(evilWord);
  return stderr;
}

describe('a cache folder that another user can write to', () => {
  test('what is planted there is code that would run, were it believed', async () => {
    const cache = join(user.home, 'believed');
    plantEvilCode(await keepCode(cache));
    expect((await user.cloud(['--version'], { env: { XDG_CACHE_HOME: cache } })).stderr).toContain(evilWord);
  });

  test.each([
    ['the folder of another user', (cache: string) => giveAway(join(cache, 'cloud'))],
    ['a folder that everybody can write to', (cache: string) => chmodSync(join(cache, 'cloud/code'), 0o777)],
    [
      'a link to the folder',
      (cache: string) => {
        execFileSync('mv', [join(cache, 'cloud/code'), join(cache, 'elsewhere')]);
        symlinkSync(join(cache, 'elsewhere'), join(cache, 'cloud/code'));
      },
    ],
  ])('%s: planted code does not run, nothing is written, one line says why', async (name, open) => {
    const cache = makeShared(name.replaceAll(' ', '-'));
    const file = await keepCode(cache);
    plantEvilCode(file);
    const before = readFileSync(file);
    open(cache);
    const said = await runVersion({ XDG_CACHE_HOME: cache });
    expect(said).toMatch(/^not using the cache: \S+ (?:belongs to another user|is writable by other users|is a symbolic link)[^\n]*\n$/u);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(join(cache, 'cloud/code'))).toHaveLength(1);
  });

  test('a planted link to a file of the user is not followed', async () => {
    const cache = join(user.home, 'linked');
    const file = await keepCode(cache);
    plantEvilCode(file);
    copyFileSync(file, join(user.home, 'evil'));
    rmSync(file);
    symlinkSync(join(user.home, 'evil'), file);
    expect(await runVersion({ XDG_CACHE_HOME: cache })).toBe('');
    // The program has put its own file in the place of the link.
    expect(lstatSync(file).isFile()).toBe(true);
  });

  test('a link under a name that a process could choose by its number leads to nothing that is overwritten', async () => {
    const cache = join(user.home, 'predicted');
    const file = await keepCode(cache);
    writeFileSync(join(user.home, 'victim'), 'mine');
    rmSync(file);
    // `exec` keeps the number of the process.
    const line = 'ln -s "$HOME/victim" "$FILE.$$" && exec cloud --version';
    const { code, stdout, stderr } = await user.shell(line, { env: { XDG_CACHE_HOME: cache, FILE: file } });
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(version), '']);
    expect(readdirSync(join(cache, 'cloud/code')), 'the link is there').toContainEqual(expect.stringMatching(/\.\d+$/u));
    expect(readFileSync(join(user.home, 'victim'), 'utf8')).toBe('mine');
    expect(existsSync(file)).toBe(true);
  });

  test('a named pipe in the place of each kept file keeps nothing waiting', async () => {
    const cache = join(user.home, 'pipes');
    const env = { XDG_CACHE_HOME: cache };
    expect((await user.cloud(['images', 'list'], { env })).code).toBe(0);
    const files = readdirSync(join(cache, 'cloud'), { recursive: true, encoding: 'utf8' }).map((name) => join(cache, 'cloud', name));
    const kept = files.filter((file) => lstatSync(file).isFile());
    expect(kept.length).toBeGreaterThan(2);
    for (const file of kept) {
      rmSync(file);
      execFileSync('mkfifo', [file]);
    }
    const { status, stdout } = spawnSync(process.execPath, [program, 'images', 'list', '-q'], {
      env: { ...user.env, ...env },
      timeout: 120_000,
    });
    expect([status, stdout.length > 0]).toEqual([0, true]);
  });

  test('nothing is made in the home of another user', async () => {
    const home = makeShared('home-of-another');
    giveAway(home);
    const said = await runVersion({ HOME: home });
    if (isRoot) expect([said, readdirSync(home)]).toEqual([`not using the cache: ${home} belongs to another user (uid ${nobody})\n`, []]);
  });

  test('a user without rights in the folders of root works without them', async () => {
    if (!isRoot) return;
    const cache = join(user.home, 'roots');
    await keepCode(cache);
    for (const folder of [user.home, cache]) chmodSync(folder, 0o755);
    const words = ['--reuid=nobody', '--regid=nogroup', '--clear-groups', process.execPath, program, '--version'];
    const { status, stdout, stderr } = spawnSync('setpriv', words, { env: { ...user.env, XDG_CACHE_HOME: cache }, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(version),
      expect.stringMatching(/^not using the cache: [^\n]*another user[^\n]*\n$/u),
    ]);
  });
});

describe('a TLS session that another user has planted', () => {
  let attacker: Hostile & { authority: string };
  beforeAll(async () => {
    attacker = await serveUntrusted(makeResponse('200 OK', ['Content-Type: application/json'], '[]'));
  });
  afterAll(() => attacker.close());

  /** A session with the attacker's server, as a client keeps it that trusts the attacker's authority. */
  function takeSession(port: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: 'localhost', ca: attacker.authority, ALPNProtocols: ['http/1.1'] });
      socket.once('error', reject);
      socket.once('session', (session) => {
        socket.destroy();
        resolve(session);
      });
      socket.write('GET / HTTP/1.1\r\n\r\n');
    });
  }

  async function plantSession(cache: string): Promise<void> {
    const { host, port } = new URL(attacker.url);
    const session = await takeSession(Number(port));
    const connection = JSON.stringify([process.version, '', '']);
    const sessions = openCache({
      top: join(cache, 'cloud'),
      name: 'tls',
      connection,
      now: Date.now,
      freshness: 280_000,
      reportUnused: () => undefined,
    });
    sessions.write(host, { session: session.toString('base64'), since: Date.now() });
  }

  async function listKeys(cache: string): Promise<{ code: number | null; stderr: string; reached: boolean }> {
    attacker.requests.length = 0;
    const { code, stderr } = await user.cloud(['keys', 'list', '--url', attacker.url, '--retries', '0'], {
      env: { XDG_CACHE_HOME: cache, XDG_CONFIG_HOME: join(user.home, 'none'), CLOUD_ACCOUNT: 'demo', CLOUD_KEY_FILE: user.local.keyFile },
    });
    return { code, stderr, reached: attacker.requests.some((head) => head.includes('authorization')) };
  }

  test('it would be resumed, and a signed request sent, were it believed', async () => {
    const cache = join(user.home, 'own-session');
    await plantSession(cache);
    expect(await listKeys(cache)).toMatchObject({ reached: true });
  });

  test('it is not read: the certificate is checked, and nothing is sent', async () => {
    const cache = makeShared('foreign-session');
    await plantSession(cache);
    giveAway(join(cache, 'cloud/tls'));
    const { code, stderr, reached } = await listKeys(cache);
    expect([code, reached]).toEqual([1, false]);
    expect(stderr).toContain('not using the cache: ');
    expect(stderr).toContain('is not signed by a trusted authority');
  });
});

describe('state and configuration of another user', () => {
  test('state: nothing of it is read or written, it is said once, and the command works', async () => {
    const state = makeShared('foreign-state');
    mkdirSync(join(state, 'cloud/sync'), { recursive: true });
    giveAway(join(state, 'cloud'));
    mkdirSync(join(user.home, 'tree'));
    writeFileSync(join(user.home, 'tree/a'), 'a');
    const { code, stderr } = await user.cloud(['stor', 'sync', 'tree', 'stor:synced', '-q'], { env: { XDG_STATE_HOME: state } });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^not using the state folder: [^\n]*cloud[^\n]*\n$/u)]);
    expect(readdirSync(join(state, 'cloud'), { recursive: true })).toEqual(['sync']);
  });

  test('configuration: its profile is not used, it is said once, and settings from elsewhere work', async () => {
    if (!isRoot) return;
    const config = makeShared('foreign-config');
    mkdirSync(join(config, 'cloud/profiles'), { recursive: true });
    writeFileSync(join(config, 'cloud/config.json'), '{"profile": "evil"}');
    writeFileSync(join(config, 'cloud/profiles/evil.json'), '{"url": "https://evil.example.com", "insecure": true}');
    chownSync(join(config, 'cloud'), nobody, nobody);
    giveAway(join(config, 'cloud'));
    const { computeUrl, account, keyFile, caFile } = user.local;
    const env = { XDG_CONFIG_HOME: config, CLOUD_URL: computeUrl, CLOUD_ACCOUNT: account, CLOUD_KEY_FILE: keyFile, CLOUD_CA: caFile };
    const { code, stdout, stderr } = await user.cloud(['keys', 'list', '-o', 'name'], { env });
    expect([code, stdout.length > 0]).toEqual([0, true]);
    expect(stderr).toBe(`not using the configuration: ${join(config, 'cloud')} belongs to another user (uid ${nobody})\n`);
    const named = await user.cloud(['keys', 'list', '--profile', 'evil'], { env });
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('belongs to another user')]);
    const written = await user.cloud(['profile', 'edit', 'evil', '--account', 'x'], { env });
    expect([written.code, readFileSync(join(config, 'cloud/profiles/evil.json'), 'utf8').includes('"x"')]).toEqual([2, false]);
  });
});

test('where the system makes no folder, as below /proc, each command ends and works without it', async () => {
  // Only where the test may write there does Node.js try again and again.
  const env = { XDG_CACHE_HOME: '/proc/none', XDG_STATE_HOME: '/proc/none' };
  expect(await runVersion(env)).not.toContain('    at ');
  mkdirSync(join(user.home, 'kept'));
  writeFileSync(join(user.home, 'kept/a'), 'a');
  for (const line of ['sync kept stor:kept', 'get -r kept came']) {
    expect([line, (await user.cloud(['stor', ...line.split(' '), '-q'], { env })).code]).toEqual([line, 0]);
  }
});
