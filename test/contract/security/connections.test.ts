import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sshpk from 'sshpk';
import { afterAll, describe, expect, test } from 'vitest';
import { createAuthority, createServerCertificate, type CertifiedKey } from '../../../src/auth/authority.ts';
import { makeResponse, serveBytes, type Hostile } from '../../support/hostile.ts';
import { useHere, type Shown } from '../../support/run-here.ts';

const here = useHere();
const date = `Date: ${new Date().toUTCString()}`;
const closing: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

async function serve(bytes: string): Promise<Hostile> {
  const server = await serveBytes(bytes);
  closing.push(server.close);
  return server;
}

function ask(url: string, words: readonly string[], env: Record<string, string> = {}): Promise<Shown> {
  return here.run([...words, '--retries', '0'], { env: { CLOUD_URL: url, CLOUD_STOR_URL: url, ...env }, input: 'x' });
}

writeFileSync(join(here.home, 'file'), 'content');
mkdirSync(join(here.home, 'tree'));
writeFileSync(join(here.home, 'tree', 'file'), 'content');

describe('credentials stay with the hosts of the profile', () => {
  test.each([
    ['a list', ['keys', 'list']],
    ['a change', ['policies', 'create', 'x', '--rule', 'CAN listkeys']],
    ['a deletion', ['keys', 'delete', 'x', '--yes']],
    ['a listing', ['stor', 'ls']],
    ['an upload', ['stor', 'put', 'file', 'x']],
    ['a download', ['stor', 'get', 'x', 'got']],
    ['a tree up', ['stor', 'put', '-r', 'tree', 'x']],
    ['a tree down', ['stor', 'get', '-r', 'x', 'got']],
  ])('%s follows no redirection', async (_, words) => {
    for (const status of ['301 Moved Permanently', '302 Found', '307 Temporary Redirect', '308 Permanent Redirect']) {
      const other = await serve(makeResponse('200 OK', [date], '[]'));
      const first = await serve(makeResponse(status, [date, `Location: ${other.url}/`], ''));
      const { code } = await ask(first.url, words);
      expect([status, code === 0, other.requests]).toEqual([status, false, []]);
      expect(first.requests.length).toBeGreaterThan(0);
    }
  });

  test('no path names another host', async () => {
    const other = await serve(makeResponse('200 OK', [date], '[]'));
    const first = await serve(makeResponse('200 OK', [date], '[]'));
    const { host } = new URL(other.url);
    for (const path of [`//${host}/my`, `/\\${host}/my`, `/@${host}/my`, `/..//${host}/my`, `///${host}/my`])
      await ask(first.url, ['api', path]);
    expect(other.requests).toEqual([]);
    expect(first.requests.length).toBeGreaterThan(2);
  });

  test('a proxy is asked for a tunnel, and sees neither key nor signature', async () => {
    const seen: string[] = [];
    const proxy = createServer((socket: Socket) =>
      socket
        .on('error', () => undefined)
        .on('data', (piece: Buffer) => {
          seen.push(piece.toString('latin1'));
          socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
        }),
    );
    await new Promise<void>((done) => void proxy.listen(0, '127.0.0.1', done));
    closing.push(() => new Promise((done) => proxy.close(done)));
    const address = `http://user:sesame@127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const before = process.env['https_proxy'];
    process.env['https_proxy'] = address;
    const { code, out, err } = await ask('https://cloud.example.test', ['keys', 'list', '-vv'], { https_proxy: address });
    if (before === undefined) delete process.env['https_proxy'];
    else process.env['https_proxy'] = before;
    expect(code).toBe(1);
    expect(seen.join('')).toMatch(/^CONNECT cloud\.example\.test:443 /u);
    expect(seen.join('')).not.toMatch(/signature|keyId/iu);
    expect(out + err).not.toContain('sesame');
  });

  test('an address that holds a password is refused, and not repeated', async () => {
    const { code, out, err } = await ask('https://jo:sesame@cloud.example.test', ['keys', 'list']);
    expect(code).toBe(2);
    expect(err).toContain('contains a user name or password');
    expect(out + err).not.toContain('sesame');
    // Nor is it kept, where lists of profiles would show it.
    const words = ['profile', 'create', 'kept', '--url', 'https://jo:sesame@cloud.example.test', '--account', 'jo', '--no-test'];
    const made = await ask('https://cloud.example.test', words);
    expect([made.code, made.err]).toEqual([2, expect.stringContaining('--url: the URL contains a user name or password')]);
    expect(made.out + made.err).not.toContain('sesame');
  });
});

/** A certificate that was valid until yesterday. */
function createExpired(authority: CertifiedKey): CertifiedKey {
  const key = sshpk.generatePrivateKey('ecdsa', { curve: 'nistp256' });
  const issuer = sshpk.parseCertificate(authority.certificate, 'pem');
  const [name] = issuer.subjects;
  if (name === undefined) throw new Error('the authority has no name');
  const day = 86_400_000;
  const certificate = sshpk.createCertificate(
    [sshpk.identityForHost('localhost')],
    key,
    name,
    sshpk.parsePrivateKey(authority.key, 'pkcs8'),
    {
      validFrom: new Date(Date.now() - 10 * day),
      validUntil: new Date(Date.now() - day),
    },
  );
  return { certificate: certificate.toString('pem'), key: key.toString('pkcs8') };
}

describe('failures of TLS are failures', () => {
  test.each(['expired', 'of another host', 'of an unknown authority'])('a certificate %s: nothing is sent', async (kind) => {
    const authority = await createAuthority('Test');
    const { certificate, key } =
      kind === 'expired'
        ? createExpired(authority)
        : await createServerCertificate(authority, [kind === 'of another host' ? 'other.test' : 'localhost']);
    let heads = 0;
    const server = createTlsServer({ cert: certificate, key }, (socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => {
        heads += 1;
        socket.end(makeResponse('200 OK', [date], '[]'));
      });
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    closing.push(() => new Promise((done) => server.close(done)));
    const ca = join(here.home, 'ca.pem');
    writeFileSync(ca, kind === 'of an unknown authority' ? (await createAuthority('Other')).certificate : authority.certificate);
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    for (const words of [
      ['keys', 'list'],
      ['stor', 'put', '-r', 'tree', 'x'],
    ]) {
      const { code, err } = await ask(url, words, { CLOUD_CA: ca });
      expect([code === 0, heads]).toEqual([false, 0]);
      expect(err).toMatch(/certificate|authority|expired|host/iu);
    }
    const { err } = await ask(url, ['keys', 'list'], { CLOUD_INSECURE: 'true' });
    expect(err).toContain('certificates are not checked');
    expect(heads).toBe(1);
  });
});

test('no name in a listing leads out of the directory that is written to', async () => {
  mkdirSync(join(here.home, 'inside'), { recursive: true });
  for (const name of ['..', '../outside', '/outside', 'a/../../outside', 'a\0b', '.']) {
    const server = createHttpServer((incoming, response) => {
      const isDeep = (incoming.url ?? '').includes('outside');
      response.setHeader('content-type', isDeep ? 'text/plain' : 'application/x-json-stream; type=directory');
      response.end(
        isDeep || incoming.method === 'HEAD'
          ? ''
          : `${JSON.stringify({ name, type: 'object', size: 1, etag: 'e', mtime: new Date().toISOString() })}\n`,
      );
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const words of [
      ['stor', 'get', '-r', 'x', 'inside'],
      ['stor', 'sync', 'stor:x', './inside'],
    ]) {
      const { code } = await ask(url, words);
      expect([name, code === 0]).toEqual([name, false]);
    }
    await new Promise((done) => (server.close(done), server.closeAllConnections()));
  }
  expect(existsSync(join(here.home, 'outside'))).toBe(false);
  expect(readdirSync(here.home, { recursive: true }).filter((file) => String(file).includes('outside'))).toEqual([]);
});

test('secrets are in no trace, no message, no crash report and no printed request', async () => {
  const service = await serve(
    makeResponse('409 Conflict', [date, 'Content-Type: application/json'], '{"code":"InvalidArgument","message":"no"}'),
  );
  const create = ['users', 'create', 'bob', '--email', 'bob@example.com', '--password-stdin'];
  for (const more of [['-vv'], ['--curl'], ['-j', '-vv']]) {
    const { out, err } = await here.run([...create, ...more, '--retries', '0'], {
      env: { CLOUD_URL: service.url, CLOUD_STOR_URL: service.url, CLOUD_DEBUG: '1' },
      input: 'sesame1234',
    });
    expect(out + err).not.toContain('sesame1234');
    expect(out + err).not.toMatch(/PRIVATE KEY/u);
    // The printed request is for sending, so it is signed: for as long as its date is accepted.
    if (!more.includes('--curl')) expect(out + err).not.toMatch(/[A-Za-z0-9+/]{80,}/u);
  }
  expect(service.requests.join('')).toContain('sesame1234');
  const part = 'Content-Disposition: form-data; name="password"';
  const bodies: [string, string][] = [
    ['application/json', '{"login":"a","pass\\u0077ord":"sesame1234"}'],
    ['application/x-www-form-urlencoded', 'login=a&password=sesame1234'],
    ['multipart/form-data; boundary=edge', `--edge\r\n${part}\r\n\r\nsesame1234\r\n--edge--\r\n`],
  ];
  const query = '/my/users?login=a&%70assword=sesame1234';
  const calls = [
    ...bodies.map(([type, input]) => ({ words: ['POST', '/my/users', '--header', `content-type:${type}`, '--input', '-'], input })),
    { words: ['POST', query], input: '' },
  ];
  for (const { words, input } of calls)
    for (const more of ['-vv', '--curl']) {
      const env = { CLOUD_URL: service.url, CLOUD_STOR_URL: service.url };
      const { out, err } = await here.run(['api', 'call', ...words, more, '--retries', '0'], { env, input });
      expect(out + err).toContain('(redacted)');
      expect(out + err).not.toContain('sesame1234');
    }
  const signed = await ask(service.url, ['api', 'call', 'GET', '/my/keys?%73ignature=sesame1234', '-v']);
  expect(signed.err).toContain('%73ignature=(redacted)');
  const key = readFileSync(join(here.home, 'key.pem'), 'utf8').split('\n')[2] ?? '';
  const damaged = join(here.home, 'damaged.pem');
  writeFileSync(damaged, readFileSync(join(here.home, 'key.pem'), 'utf8').replace(/MII.{40}/u, 'MII'), { mode: 0o600 });
  const { out, err } = await ask(service.url, ['keys', 'list', '-vv'], { CLOUD_KEY_FILE: damaged, CLOUD_DEBUG: '1' });
  expect(out + err).not.toContain(key);
});
