import { expect, test } from 'vitest';
import { createSandbox } from '../support/sandbox.ts';
import { useShared } from '../support/shared-service.ts';

/** `cloud url explain`: what a signed URL grants, whether its signature is right, and the first line that was signed otherwise. */

const user = useShared('--http');

interface Explained {
  verdict: string;
  problems: string[];
  service: string;
  methods: string[];
  grants: string[];
  signer: string;
  key: string;
  left: number;
  fits: boolean | null;
  signature: string;
  line?: number;
  lines: string[];
}

const explain = async (url: string, ...words: string[]): Promise<Explained> => user.json<Explained>('url', 'explain', url, ...words);

async function sign(...words: string[]): Promise<string> {
  const { code, stdout } = await user.here([...words, '-o', 'name']);
  expect(code).toBe(0);
  return stdout.trim();
}

/** A text does not have the signature of a URL, encoded or not. */
function expectNoSecret(text: string, url: string): void {
  const signature = new URL(url).searchParams.get('signature') ?? '';
  expect(signature.length).toBeGreaterThan(100);
  expect(text).not.toContain(signature);
  expect(text).not.toContain(encodeURIComponent(signature));
}

test('a URL of either service: lines, signer, time left, what it grants; without the service', async () => {
  user.write('a b.txt', 'content');
  expect((await user.here(['stor', 'put', 'a b.txt', 'a b.txt', '-q'])).code).toBe(0);
  const stored = await sign('stor', 'sign', 'a b.txt', '--expires', '10m');
  const offline = ['--url', 'http://127.0.0.1:9', '--stor-url', user.local.storUrl];
  const found = await explain(stored, ...offline);
  expect(found).toMatchObject({ verdict: 'valid', problems: [], service: 'storage', methods: ['GET'], signer: 'demo', fits: true });
  expect(found.key).toBe(user.local.keyId);
  expect(found.left).toBeGreaterThan(0);
  expect(found.left).toBeLessThanOrEqual(600);
  expect(found.grants[0]).toContain('GetObject');
  expect(found.lines.slice(0, 3)).toEqual(['GET', new URL(stored).host, '/demo/stor/a%20b.txt']);
  expect(found.lines[3]).toMatch(/^algorithm=rsa-sha256&expires=\d+&keyId=/);

  const listed = await sign('api', 'sign', '/my/images?os=bsd', '--method', 'GET,HEAD');
  const compute = await explain(listed);
  expect(compute).toMatchObject({ verdict: 'valid', service: 'compute', methods: ['GET', 'HEAD'], signer: 'demo' });
  expect(compute.grants[0]).toContain('ListImages');
  // The method of a URL without the parameter is told by its signature.
  expect(await explain(await sign('stor', 'sign', 'new', '--method', 'PUT'))).toMatchObject({ methods: ['PUT'], verdict: 'valid' });
});

test('the signature is never printed, by no format and no error; stdin serves as the argument', async () => {
  const url = await sign('stor', 'sign', 'x', '--method', 'PUT');
  for (const format of ['table', 'json', 'yaml', 'csv', 'name']) {
    const { code, stdout, stderr } = await user.here(['url', 'explain', '-', '-l', '-o', format], { input: `${url}\n` });
    expect([code, stderr]).toEqual([0, '']);
    expectNoSecret(stdout, url);
  }
  for (const damaged of [url.replace('https://', '').replace('http://', ''), url.replace('expires=', 'expired='), `${url}&signature=x`]) {
    const { stdout, stderr } = await user.here(['url', 'explain', damaged, '--expect', 'valid']);
    expect(stdout).toBe('');
    expect(stderr).not.toBe('');
    expectNoSecret(stderr, url);
  }
  // Not by the command line in front of a message either, wherever the signature stands, nor by an error of another command.
  const value = /[?&](signature=[^&]*)/.exec(url)?.[1] ?? '';
  const first = url.replace(`&${value}`, '').replace('?', `?${value}&`);
  for (const words of [
    ['url', 'explain', first, '--expect', 'refused'],
    ['url', 'explain', first, first],
    ['url', first],
    [first],
    ['stor', 'put', first],
  ]) {
    for (const form of [[], ['-j']]) {
      const { code, stdout, stderr } = await user.here([...words, ...form]);
      expect([code === 0, stdout]).toEqual([false, '']);
      expect(stderr).not.toContain(value.slice(0, 40));
    }
  }
  const secret = await sign('api', 'sign', '/my/users?password=tell-nobody');
  const { stdout } = await user.here(['url', 'explain', secret]);
  expect(stdout).toContain('password=(redacted)');
  expect(stdout).not.toContain('tell-nobody');
});

test('the first line that was signed otherwise', async () => {
  const url = await sign('api', 'sign', '/my/images?os=bsd');
  const cases: [string, number, string][] = [
    [url.replace(/\/\/[^/]*/, '//127.0.0.2:1'), 2, new URL(url).host],
    [url.replace('/my/images', '/my/images/'), 3, '/my/images'],
    [url.replace('?', '?utm_source=mail&'), 4, ''],
  ];
  for (const [damaged, line, signed] of cases) {
    const found = await explain(damaged);
    expect([found.verdict, found.fits, found.line]).toEqual(['refused', false, line]);
    expect(found.lines[0]).toBe('GET');
    expect(found.signature).toContain(`line ${line} was signed as "${signed}`);
  }
  const other = await explain(url, '--method', 'PUT');
  expect([other.verdict, other.line, other.signature]).toEqual(['refused', 1, expect.stringContaining('"GET", not as "PUT"')]);
  const changed = await explain(url.replace('os=bsd', 'os=linux'));
  expect([changed.fits, changed.line, changed.verdict]).toEqual([false, undefined, 'refused']);
  expect(changed.problems).toEqual(['the signature does not match these lines']);
  // The text that a program signed tells what a signature alone does not.
  const lines = (await explain(url)).lines;
  user.write('text', `${lines.join('\n')}\n`);
  expect((await explain(url, '--compare', 'text')).problems).toEqual([]);
  const { problems } = await explain(url.replace('os=bsd', 'os=linux'), '--compare', 'text');
  expect(problems.join()).toMatch(/^line 4 of the text is ".*os=bsd/);
});

test('what is expired, incomplete, of another key, or granted to nobody', async () => {
  const url = await sign('stor', 'sign', 'x', '--method', 'PUT', '--expires', '1s');
  const late = await user.here(['url', 'explain', url.replace(/expires=\d+/, 'expires=1000000000'), '--expect', 'valid']);
  expect([late.code, late.stdout, late.stderr]).toEqual([1, '', expect.stringContaining('expired')]);
  expect((await user.here(['url', 'explain', url.replace(/expires=\d+/, 'expires=1000000000'), '--expect', 'refused'])).code).toBe(0);
  expect((await explain(url.replace(/expires=\d+/, 'expires=999999999999999'))).left).toBeGreaterThan(1e9);
  expect((await explain(url.replace('algorithm=', 'algorithms='))).problems.join()).toContain('lacks algorithm');
  const foreign = await explain(url.replace(/expires=\d+/, 'expires=9999999999').replace(/keys%2F../, 'keys%2Fff'));
  expect([foreign.verdict, foreign.fits]).toEqual(['unknown', null]);
  const fresh = await sign('stor', 'sign', 'x', '--method', 'PUT');
  const stranger = createSandbox();
  try {
    const { stdout } = await stranger.sandbox.here(['url', 'explain', fresh, '-j']);
    expect(JSON.parse(stdout)).toMatchObject({ fits: null, verdict: 'unknown', methods: [], service: 'storage' });
  } finally {
    stranger.remove();
  }
  const put = await explain(fresh.replace(/\/\/[^/]*/, '//127.0.0.2:1'));
  expect([put.line, put.methods, put.lines[0]]).toEqual([2, ['PUT'], 'PUT']);
  const job = await explain(await sign('api', 'sign', '--service', 'stor', '--method', 'POST', '/demo/jobs'));
  expect([job.verdict, job.grants.join()]).toEqual(['valid', expect.stringContaining('CreateJob')]);
  for (const wrong of ['nonsense', 'https://localhost/x', user.local.storUrl]) {
    const { code, stderr } = await user.here(['url', 'explain', wrong]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('hint: ')]);
  }
});
