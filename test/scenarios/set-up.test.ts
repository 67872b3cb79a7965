import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lacks } from '../support/witnesses.ts';
import { quoteShell } from '../../src/base/quote.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useShared } from '../support/shared-service.ts';

const user = useShared();
const md5 = '24:8e:89:81:cc:24:8e:89:81:cc:24:8e:89:81:cc:24';

test('a profile keeps absolute paths and roles, explains itself, and its exports leave nothing of another one', async () => {
  user.write('keys/k.pem', 'x');
  const words = ['--key-file', 'keys/k.pem', '--url', 'https://a.example', '--account', 'demo', '--role', 'ops', '--user', 'jill'];
  expect(await user.json('profile', 'create', 'one', '--no-test', ...words)).toMatchObject({
    keyFile: join(user.home, 'keys/k.pem'),
    role: 'ops',
  });
  await user.here(['profile', 'create', 'two', '--no-test', '--url', 'https://b.example', '--account', 'demo', '--key-id', md5]);
  const rows = await user.json<{ setting: string; value: string; source: string }[]>('profile', 'get', 'one', '--explain');
  expect(rows).toContainEqual({ setting: 'url', value: 'https://a.example', source: 'profile one' });
  const shown = await user.shell(
    'eval "$(cloud env one)"; eval "$(cloud env two)"; echo "$CLOUD_URL ${CLOUD_USER-none} ${CLOUD_ROLE-none} ${CLOUD_KEY_FILE-none} $CLOUD_STOR_ECDSA"',
  );
  expect(shown.stdout).toBe('https://b.example none none none false\n');
  const ca = user.write("it's \\a\\ $HOME.pem", '');
  await user.here(['profile', 'edit', 'two', '--ca', ca]);
  for (const [shell, line] of [
    ['bash', 'eval "$(cloud env two)"'],
    ['fish', 'cloud env two --shell fish | source'],
  ] as const) {
    const read = `${line}; printf '%s\\n' "$CLOUD_PROFILE $CLOUD_CA"; env | grep -c CLOUD_USER`;
    if (!lacks(shell)) expect((await user.shell(`CLOUD_USER=jill ${shell} -c ${quoteShell(read)}`)).stdout).toBe(`two ${ca}\n0\n`);
  }
  const mixed = await user.shell(
    'export CLOUD_PROFILE=one; eval "$(cloud env two)"; cloud profile get --explain -o tsv -H --columns setting; cloud profile get --explain --profile one -o tsv',
  );
  expect(mixed.stdout.split('\n').slice(0, 5)).toEqual(['profile', 'account', 'keyId', 'url', 'apiVersion']);
  expect(mixed.stderr).toBe('');
});

test('--profile comes before the environment: variables of another place set neither service nor user, in no command', async () => {
  const { account, caFile, computeUrl, keyFile, storUrl } = user.local;
  const there = ['--account', account, '--ca', caFile ?? '', '--key-file', keyFile];
  await user.here(['profile', 'create', 'whole', '--url', computeUrl, '--stor-url', storUrl, ...there]);
  await user.here(['profile', 'create', 'half', '--no-test', '--url', computeUrl, ...there]);
  const elsewhere = 'https://127.0.0.1:1';
  const variables = {
    CLOUD_ACCOUNT: 'stranger',
    CLOUD_USER: 'stranger',
    CLOUD_ROLE: 'stranger',
    CLOUD_KEY_ID: md5,
    CLOUD_CA: '/none',
    CLOUD_RETRIES: '0',
  };
  const env = { ...variables, CLOUD_URL: elsewhere, CLOUD_STOR_URL: elsewhere };
  const run = (...words: string[]) => user.here(words, { env });
  expect(await run('keys', 'list', '--profile', 'whole')).toMatchObject({ code: 0, stderr: '' });
  expect(await run('--profile=whole', 'stor', 'mkdir', 'named')).toMatchObject({ code: 0 });
  expect(await run('__complete', 'path', 'na', '--profile', 'whole', 'stor', 'ls')).toMatchObject({ stdout: 'named/\tdirectory\n' });
  expect(await run('doctor', '--profile', 'whole')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('stranger') as string });
  expect(await run('profile', 'create', 'another', '--url', computeUrl, ...there)).toMatchObject({ code: 0 });
  for (const words of [['--profile', 'half'], ['half']]) {
    const shown = await run('profile', 'get', '--explain', '-j', ...words);
    expect(shown.stdout).not.toMatch(/stranger|127\.0\.0\.1:1"|storUrl/);
    expect(shown.stdout).toContain('environment CLOUD_RETRIES');
  }
  expect(await run('stor', 'ls', '--profile', 'half')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /profile half has no .*\nhint: cloud profile edit half --stor-url URL\n.*CLOUD_STOR_URL has no effect/,
    ) as string,
  });
  expect(await run('stor', 'ls', '--profile', 'half', '--stor-url', storUrl)).toMatchObject({ code: 0 });
  user.write('.config/cloud/profiles/keyless.json', JSON.stringify({ account: 'demo', url: computeUrl, storUrl, ca: caFile }));
  const keyless = await user.here(['keys', 'list', '--profile', 'keyless'], { env: { CLOUD_KEY_FILE: keyFile } });
  expect([keyless.code, keyless.stderr]).toEqual([
    4,
    expect.stringMatching(
      /no private key: .*\nhint: with --profile, CLOUD_KEY_FILE has no effect: .*: cloud profile edit keyless --key-file FILE\n/,
    ),
  ]);
  const current = await user.here(['profile', 'get', '--explain', '-j'], { env: { ...env, CLOUD_PROFILE: 'whole' } });
  expect(current.stdout).toContain('environment CLOUD_STOR_URL');
});

test.each([
  [['--url', 'htp://x'], '--url: "htp://x" is not the URL'],
  [['--account', 'a b/c'], '--account: "a b/c" is not a login'],
  [['--key-id', 'zz'], '--key-id: "zz" is not a fingerprint'],
  [['--key-file', 'absent.pem'], 'does not exist'],
  [['--sign-window', '999'], 'is more than 240 seconds'],
])('profile create refuses %j', async (words, message) => {
  const { code, stderr } = await user.here(['profile', 'create', 'bad', '--no-test', ...words]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  expect((await user.here(['profile', 'list', '-o', 'name'])).stdout).not.toContain('bad');
});

test('a damaged profile hides no other one, and is deleted', async () => {
  user.write('.config/cloud/profiles/damaged.json', '{');
  const words = ['--url', 'https://c.example', '--account', 'demo', '--key-id', md5];
  expect((await user.here(['profile', 'create', 'sound', '--no-test', ...words])).code).toBe(0);
  const listed = await user.here(['profile', 'list', '-o', 'name']);
  expect([listed.code, listed.stdout.split('\n')]).toEqual([5, expect.arrayContaining(['sound'])]);
  expect(listed.stderr).toMatch(/damaged\.json: not JSON.*\nhint: fix or delete the file\n.*1 of \d+ failed\n$/s);
  const deleted = await user.here(['profile', 'delete', 'damaged', 'sound', '-y']);
  expect([deleted.code, deleted.stderr]).toEqual([0, 'Deleted profile damaged\nDeleted profile sound\n']);
  expect((await user.here(['profile', 'list'])).code).toBe(0);
});

test('no current profile, an unregistered key and a path of another root name the line to type', async () => {
  writeRsaKeyFile(join(user.home, 'other'), { pem: true });
  const stranger = await user.here(['keys', 'list', '--key-file', join(user.home, 'other')]);
  expect([stranger.code, stranger.stderr]).toEqual([
    4,
    expect.stringContaining(`cloud keys create ${join(user.home, 'other.pub')} --key-file OTHER`),
  ]);
  const root = await user.here(['stor', 'ls', '/code']);
  expect([root.code, root.stderr]).toEqual([3, expect.stringContaining('below your own directory: cloud stor ls code')]);
  await user.shell('ssh-keygen -q -t ed25519 -N "" -f modern');
  expect((await user.here(['keys', 'create', 'modern.pub'])).stderr).toMatch(/is an Ed25519 key.*\nhint: .*ssh-keygen -t rsa -b 3072/);
  const home = join(user.home, 'second');
  mkdirSync(home);
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config') };
  await user.cloud(['profile', 'create', 'only', '--no-test', '--url', 'https://a.example', '--account', 'demo', '--key-id', md5], { env });
  rmSync(join(home, '.config/cloud/config.json'));
  const none = await user.cloud(['images', 'list'], { env });
  expect([none.code, none.stderr]).toEqual([
    2,
    expect.stringMatching(/no profile is current; there are: only\nhint: cloud profile use only\n$/),
  ]);
});

test('who begins with nothing is told the next line by each command', async () => {
  const home = join(user.home, 'nothing');
  mkdirSync(home);
  const env = { HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', XDG_CACHE_HOME: '', XDG_DATA_HOME: '', SSH_AUTH_SOCK: '' };
  const ask = async (...words: string[]) => {
    const { code, stderr } = await user.cloud(words, { env });
    return [code, stderr.replaceAll(home, 'HOME')];
  };
  for (const words of [['images', 'list'], ['stor', 'ls'], ['ping']])
    expect(await ask(...words)).toEqual([
      2,
      expect.stringMatching(/there is no profile yet\nhint: .*cloud profile create NAME\nhint: .*: cloud local start\n$/),
    ]);
  expect(await ask('profile', 'get')).toEqual([
    2,
    'cloud profile get: there is no current profile\nhint: cloud profile create NAME\nhint: or try everything on this machine: cloud local start\n',
  ]);
  expect((await ask('doctor'))[0]).toBe(1);
  expect(await ask('profile', 'list')).toEqual([0, '']);
  await user.cloud(['profile', 'create', 'first', '--no-test', '--url', 'https://a.example', '--account', 'demo', '--key-id', md5], {
    env,
  });
  expect(await ask('keys', 'create')).toEqual([
    2,
    'cloud keys create: no key was given, and HOME/.ssh/id_rsa.pub does not exist\nhint: create one: ssh-keygen -t rsa -b 3072 -f HOME/.ssh/id_rsa\nhint: or give another file: cloud keys create FILE\n',
  ]);
  rmSync(join(home, '.config/cloud/config.json'));
  expect(await ask('profile', 'get')).toEqual([2, 'cloud profile get: there is no current profile\nhint: cloud profile use first\n']);
});

test('profile edit without options opens the settings in an editor, and keeps none that cannot serve', async () => {
  await user.here(['profile', 'create', 'edited', '--no-test', '--url', 'https://a.example', '--account', 'demo', '--key-id', md5]);
  const edit = (line: string) => user.here(['profile', 'edit', 'edited'], { env: { EDITOR: line, VISUAL: '' } });
  expect((await edit('sed -i s/a.example/c.example/')).stderr).toContain('Changed profile edited');
  expect(await user.json('profile', 'get', 'edited')).toMatchObject({ url: 'https://c.example', account: 'demo', keyId: md5 });
  expect((await edit('true')).stderr).toContain('Profile edited is unchanged');
  const refused = await edit('sed -i s/https:/htp:/');
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/"htp:\/\/c\.example" is not the URL.*; your text is saved in /),
  ]);
  expect(await user.json('profile', 'get', 'edited')).toMatchObject({ url: 'https://c.example' });
});

test('gates show what differs, checks of policies fail with 1, and an editor nobody sits at is started twice at most', async () => {
  user.write('tree/a', 'a');
  await user.here(['stor', 'put', '-r', 'tree', 'tree', '-q']);
  user.write('tree/b', 'b');
  const diff = await user.here(['stor', 'diff', 'tree', 'stor:tree', '--exit-code', '-o', 'name']);
  expect([diff.code, diff.stdout]).toEqual([1, 'b\n']);
  await user.here(['policies', 'create', 'p1', '--rule', 'CAN listkeys']);
  const document = await user.here(['rbac', 'export']);
  user.write('rbac.yaml', document.stdout.replace('CAN listkeys', 'CAN getkey'));
  const rbac = await user.here(['rbac', 'diff', 'rbac.yaml', '--exit-code']);
  expect([rbac.code, rbac.stdout]).toEqual([1, expect.stringContaining('+ rules: CAN getkey')]);
  user.write('bad.rules', 'ALLOW x\n');
  expect((await user.here(['policies', 'check', 'bad.rules'])).code).toBe(1);
  user.write('edit.sh', 'echo once >> runs; sed -i s/CAN/CANNOT/ "$1"\n');
  const edited = await user.cloud(['policies', 'edit', 'p1'], { env: { EDITOR: `sh ${join(user.home, 'edit.sh')}` } });
  expect([edited.code, edited.stderr.includes('your text is saved in')]).toEqual([edited.code === 0 ? 2 : edited.code, true]);
  expect((await user.shell('cat runs')).stdout).toBe('once\nonce\n');
});

test('headers and tags keep their names, and content-type means that header', async () => {
  await user.here(['stor', 'put', '-', 'h'], { input: 'x' });
  const set = await user.here(['stor', 'meta', 'set', 'h', 'content-type=text/x-foo', 'Author=ann']);
  expect(set.stdout).toMatch(/^content-type +text\/x-foo$/m);
  expect(set.stdout).toMatch(/^m-author +ann$/m);
  expect(await user.json('stor', 'stat', 'h')).toMatchObject({ contentType: 'text/x-foo' });
});
