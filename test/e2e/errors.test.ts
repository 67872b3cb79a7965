import { chmodSync, copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeResponse, serveBytes, serveUntrusted, type Hostile } from '../support/hostile.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { type Outcome } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared();
const date = `Date: ${new Date().toUTCString()}`;
const servers: Record<string, Hostile> = {};

beforeAll(async () => {
  servers['html'] = await serveBytes(makeResponse('200 OK', [date, 'Content-Type: text/html'], '<html>Welcome</html>'));
  servers['htmlError'] = await serveBytes(
    makeResponse('502 Bad Gateway', [date, 'Content-Type: text/html', 'Retry-After: 0'], '<html>Oops</html>'),
  );
  servers['truncated'] = await serveBytes(
    `HTTP/1.1 200 OK\r\n${date}\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n[{"name"`,
  );
  servers['garbage'] = await serveBytes('SSH-2.0-OpenSSH_9.2\r\n');
  servers['halfJson'] = await serveBytes(makeResponse('200 OK', [date, 'Content-Type: application/json'], '[{"name"'));
  servers['damaged'] = await serveBytes(makeResponse('200 OK', [date, 'Content-MD5: AAAAAAAAAAAAAAAAAAAAAA=='], '[]'));
  servers['skewed'] = await serveBytes(
    makeResponse(
      '401 Unauthorized',
      [`Date: ${new Date(Date.now() + 400_000).toUTCString()}`],
      '{"code":"InvalidCredentials","message":"no"}',
    ),
  );
  servers['redirect'] = await serveBytes(makeResponse('302 Found', [date, 'Location: https://elsewhere.example.com/'], ''));
  servers['fields'] = await serveBytes(
    makeResponse(
      '409 Conflict',
      [date],
      '{"code":"InvalidArgument","message":"bad","errors":[{"field":"email","code":"Invalid","message":"no @"}]}',
    ),
  );
  servers['untrusted'] = await serveUntrusted(makeResponse('200 OK', [date], '[]'));
});
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())));

/** What the user sees: one line that starts with the command, at most a hint, no stack. */
function expectOneLine({ stdout, stderr, code }: Outcome, exitCode: number, message: string, hint?: string): void {
  expect(stderr.trim().split('\n').length, stderr).toBeLessThanOrEqual(2);
  expect(stderr).toContain(message);
  if (hint !== undefined) expect(stderr).toContain(`hint: ${hint}`);
  expect(stderr).not.toMatch(/^\s+at /m);
  expect([code, stdout]).toEqual([exitCode, '']);
}

describe('what goes wrong on the way', () => {
  const toUrl = (name: string): Promise<Outcome> => user.here(['keys', 'list', '--retries', '1', '--url', servers[name]?.url ?? '']);

  test('wrong host', async () => {
    expectOneLine(
      await user.here(['keys', 'list', '--retries', '0', '--url', 'https://no-such-host.invalid']),
      1,
      'no-such-host.invalid',
      'check',
    );
  });
  test('closed port', async () => {
    const outcome = await user.here(['keys', 'list', '--retries', '0', '--url', 'https://localhost:1']);
    expectOneLine(
      outcome,
      1,
      'nothing is listening at localhost:1: connection refused',
      'check the URL; for the local service: cloud local start',
    );
  });
  test('TLS from an unknown authority: nothing was sent', async () => {
    expectOneLine(await toUrl('untrusted'), 1, 'is not signed by a trusted authority', 'trust the certificate authority with --ca FILE');
    expect(servers['untrusted']?.requests).toEqual([]);
  });
  test('a file of --ca without a certificate is said to be that: empty, a key, a certificate in DER format', async () => {
    for (const [name, bytes] of Object.entries({ empty: '', key: '-----BEGIN PRIVATE KEY-----\n', der: Buffer.from([0x30, 0x82, 1, 2]) })) {
      const ca = join(user.home, `ca-${name}`);
      writeFileSync(ca, bytes);
      const outcome = await user.here(['keys', 'list', '--ca', ca]);
      expectOneLine(outcome, 2, `${ca} contains no certificate in PEM format (option --ca)`, 'if it is in DER format: openssl x509 ');
    }
  });
  test('with --insecure it is used, and a warning is shown', async () => {
    const { code, stdout, stderr } = await user.here(['keys', 'list', '--insecure', '-j', '--url', servers['untrusted']?.url ?? '']);
    expect([code, stdout]).toEqual([0, '[]\n']);
    expect(stderr).toContain('not checked');
  });
  test('plain HTTP to another host: refused before a signature leaves', async () => {
    expectOneLine(
      await user.here(['keys', 'list', '--url', 'http://cloud.example.com']),
      2,
      'is not protected by TLS: no request was sent',
      'use an https URL',
    );
  });
  test('plain HTTP where TLS is expected', async () => {
    const url = (servers['html']?.url ?? '').replace('http:', 'https:');
    expectOneLine(await user.here(['keys', 'list', '--retries', '0', '--url', url]), 1, 'does not speak TLS', 'check the URL and its port');
  });
  test('a response that is HTML', async () => {
    expectOneLine(await toUrl('html'), 1, 'is not JSON (text/html)', 'check the URL');
  });
  test('an error that is HTML', async () => {
    expectOneLine(await toUrl('htmlError'), 1, 'responded with status 502 and a body that is not an error of this API', 'check the URL');
    expect(servers['htmlError']?.requests).toHaveLength(2);
  });
  test('a truncated response', async () => {
    expectOneLine(await toUrl('truncated'), 1, 'closed the connection before the response was complete');
    expect(servers['truncated']?.requests).toHaveLength(2);
  });
  test('half JSON', async () => {
    expectOneLine(await toUrl('halfJson'), 1, 'is not JSON');
  });
  test('a response that is not HTTP', async () => {
    expectOneLine(await toUrl('garbage'), 1, 'sent a response that is not HTTP', 'check the URL and its port');
  });
  test('a response whose MD5 differs', async () => {
    expectOneLine(await toUrl('damaged'), 1, 'was damaged in transit: its MD5 differs');
  });
  test('a response to any request whose MD5 differs', async () => {
    const { code, stderr } = await user.here(['api', '/my/keys', '--retries', '0', '--url', servers['damaged']?.url ?? '']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('was damaged in transit: its MD5 differs')]);
  });
  test('a create whose response is lost is sent once, and says that it may have been done', async () => {
    const sent = servers['truncated']?.requests.length ?? 0;
    const words = ['policies', 'create', 'one', '--rule', 'CAN getobject', '--url', servers['truncated']?.url ?? ''];
    expectOneLine(await user.here(words), 1, 'before the response was complete', 'the change may have been applied');
    expect(servers['truncated']?.requests).toHaveLength(sent + 1);
  });
  test('a clock that is wrong: the seconds are named', async () => {
    const outcome = await toUrl('skewed');
    expectOneLine(outcome, 4, 'seconds behind the clock of', 'set the clock');
    expect(Number(/is (\d+) seconds/.exec(outcome.stderr)?.[1])).toBeGreaterThan(300);
  });
  test('a redirection is not followed', async () => {
    expectOneLine(await toUrl('redirect'), 1, 'redirects to https://elsewhere.example.com/; redirects are not followed');
  });
  test('errors of single fields get a line each', async () => {
    const { code, stderr } = await toUrl('fields');
    expect(code).toBe(1);
    expect(stderr.split('\n')[1]).toBe('  email: no @ (Invalid)');
  });
  test('no answer in time', async () => {
    const silent = await serveBytes('');
    const { createServer } = await import('node:net');
    const mute = createServer(() => undefined);
    await new Promise<void>((done) => {
      mute.listen(0, '127.0.0.1', done);
    });
    const address = mute.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const outcome = await user.here(['keys', 'list', '--retries', '0', '--timeout', '300ms', '--url', `http://localhost:${port}`]);
    expectOneLine(outcome, 6, 'sent no data for too long', 'allow more time with --timeout');
    mute.close();
    await silent.close();
  });
});

describe('keys and profiles', () => {
  test('a key file that others can read', async () => {
    const file = join(user.home, 'open.pem');
    copyFileSync(user.local.keyFile, file);
    chmodSync(file, 0o644);
    expectOneLine(await user.here(['keys', 'list', '--key-file', file]), 4, 'other users can read this private key', `chmod 600 ${file}`);
  });
  test('an encrypted key without a terminal to ask for its passphrase', async () => {
    const file = join(user.home, 'encrypted');
    writeRsaKeyFile(file, { passphrase: 'correct' });
    expectOneLine(
      await user.here(['keys', 'list', '--key-file', file]),
      4,
      'there is no terminal to ask for its passphrase',
      'add the key to the ssh-agent',
    );
  });
  test('a key that is nowhere', async () => {
    const words = ['keys', 'list', '--key-id', '00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff'];
    const { code, stderr } = await user.here(words);
    expect(code).toBe(4);
    expect(stderr).toContain('00:11:22:33');
    expect(stderr).toContain('hint: list the available keys: cloud keys local');
  });
  test('a profile that does not exist', async () => {
    expectOneLine(await user.here(['keys', 'list', '--profile', 'work']), 2, 'profile "work" does not exist', 'there are: local');
  });
  test('no profile at all: how to make one and how to try', async () => {
    const outcome = await user.here(['keys', 'list'], { env: { XDG_CONFIG_HOME: join(user.home, 'nowhere') } });
    expect(outcome.stderr.split('\n').map((line) => line.replace(/: there is.*/, ''))).toEqual([
      'cloud keys list: no address of the compute service is known',
      'hint: create a profile interactively: cloud profile create NAME',
      'hint: or try everything on this machine: cloud local start',
      '',
    ]);
  });
  test('a broken profile file', async () => {
    user.write('broken/cloud/profiles/work.json', '{"url": ');
    const env = { XDG_CONFIG_HOME: join(user.home, 'broken') };
    expectOneLine(await user.here(['keys', 'list', '--profile', 'work'], { env }), 2, 'work.json: not JSON', 'fix or delete the file');
    user.write('broken/cloud/profiles/work.json', '{"uri": "https://x"}');
    expectOneLine(await user.here(['keys', 'list', '--profile', 'work'], { env }), 2, 'unknown setting "uri"');
  });
});

describe('the command line', () => {
  test.each([
    [['imges', 'list'], '"imges" is not a command of cloud', 'cloud images'],
    [['images', 'lst'], '"lst" is not a command of cloud images', 'cloud images list'],
    [['images', 'list', '--stat', 'all'], 'unknown option --stat', 'did you mean --state?'],
    [['images', 'delete', 'web', '--dc', 'all'], 'unknown option --dc', 'cloud images delete --help'],
    [['images', 'list', '--state', 'activ'], '"activ" is not one of active, ', 'did you mean --state active?'],
    [['images', 'list', '--state'], 'option --state needs a value'],
    [['packages', 'list', '--memory', 'much'], '--memory: "much" is not a whole number'],
    [['keys', 'get'], 'missing argument KEY', 'cloud keys get --help'],
    [['keys', 'list', 'more'], 'too many arguments', 'cloud keys list --help'],
    [['keys', 'list', '--columns', 'nmae'], 'no field "nmae"; did you mean "name"?'],
    [['keys', 'list', '--timeout', 'soon'], '"soon" is not a duration'],
    [['account', 'update'], 'nothing to change', 'give a field: cloud account update --help'],
    [['stor', 'get'], 'missing argument PATH', 'name a path, or read paths from a file'],
    [['stor', 'cat'], 'missing argument PATH', 'name a path, or read paths from a file'],
    [['stor', 'put', 'nothing-here', 'x'], 'nothing-here: no such file or directory'],
    [['stor', 'ls', 'a/../b'], '"." and ".." are not names in the object storage'],
    [['api', 'my'], '"my" does not begin with a slash'],
    [['api', 'https://cloud.example.com/jill/keys?x=1'], 'is a URL, not a path', "cloud api GET '/jill/keys?x=1'"],
    [['api', 'call', 'get'], 'missing argument PATH', 'cloud api GET /my'],
    [['stor', 'put', '-r', 'my photos'], 'missing argument TARGET', "cloud stor put -r 'my photos' TARGET"],
    [['stor', 'cp', 'a', 'b', 'my photos'], '/my photos: no such directory', "cloud stor mkdir -p '/demo/stor/my photos'"],
    [['--frobnicate'], 'unknown option --frobnicate', 'cloud --help'],
    [['keys', '--jsno'], 'unknown option --jsno', 'did you mean --json?'],
  ])('%j', async (words, message, hint?: string) => {
    expectOneLine(await user.here(words), 2, message, hint);
  });

  test('what a hint says to type means what it says: names with spaces are quoted', async () => {
    await user.here(['stor', 'mkdir', '-p', 'my photos/2024']);
    const { stderr } = await user.here(['stor', 'rm', 'my photos', '--yes']);
    expect(stderr).toContain("cloud stor rm -r '/demo/stor/my photos'\n");
    expect((await user.here(['stor', 'ls', 'my photos/2023'])).stderr).toContain("cloud stor ls '/demo/stor/my photos'\n");
    expect((await user.here(['stor', 'ls', 'my photos/*.jpg'])).stderr).toContain("cloud stor ls '/demo/stor/my photos'\n");
  });

  test('with JSON output an error is one JSON object on stderr', async () => {
    const { code, stdout, stderr } = await user.here(['packages', 'get', 'nothing', '-j']);
    expect([code, stdout]).toEqual([3, '']);
    expect(JSON.parse(stderr)).toMatchObject({
      code: 'ResourceNotFound',
      status: 404,
      hint: 'cloud packages list',
      message: expect.stringContaining('nothing'),
    });
  });

  test('a current directory that was removed matters to relative paths only', async () => {
    const line = (words: string): string => `mkdir -p gone && cd gone && rmdir ../gone && cloud ${words}`;
    expect((await user.shell(line('--version'))).code).toBe(0);
    const put = `stor put -q ${join(user.home, 'kept')} kept`;
    const done = await user.shell(
      `echo kept >kept; ${line(`${put} && cloud keys list -o name >/dev/null && cloud stor cp -q kept copied && cloud stor cat copied`)}`,
    );
    expect(done).toMatchObject({ code: 0, stdout: 'kept\n', stderr: expect.not.stringContaining('cloud') as string });
    const { code, stderr } = await user.shell(line('keys create key.pub --url https://localhost:1 --account demo'));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^cloud keys create .*: the current directory does not exist any more$/mu)]);
  });

  test('control characters of a name do not reach stderr raw', async () => {
    const { stderr } = await user.here(['images', 'get', 'a\u001b[31mb']);
    expect(stderr).not.toContain('\u001b');
    expect(stderr).toContain('\\x1b');
  });
});
