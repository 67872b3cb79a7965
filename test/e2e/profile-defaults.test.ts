import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';
import { openTerminal } from '../support/terminal.ts';

const user = useShared();
const run = (...words: string[]) => user.here(words);
const file = (): string => join(user.home, '.config/cloud/profiles/local.json');
const readProfile = (): Record<string, unknown> => JSON.parse(readFileSync(file(), 'utf8')) as Record<string, unknown>;
const changeProfile = (values: object): void => writeFileSync(file(), JSON.stringify({ ...readProfile(), ...values }));

describe('output defaults of a profile', () => {
  beforeAll(async () => {
    const words = ['--default-output', 'jsonl', '--default-columns', 'images list=name,os', '--default-parallel', '3'];
    await run('profile', 'edit', '-q', ...words);
  });

  test('are the form of lists and records, and what is asked for on the line comes first', async () => {
    const lines = (await run('images', 'list')).stdout.trimEnd().split('\n');
    expect(lines.map((line) => Object.keys(JSON.parse(line) as object).includes('published_at'))).not.toContain(false);
    expect(JSON.parse((await run('keys', 'get', 'demo@local')).stdout)).toMatchObject({ name: 'demo@local' });
    expect((await run('images', 'list', '-o', 'table')).stdout).toMatch(/^NAME +OS\n/);
    expect((await run('images', 'list', '-o', 'csv')).stdout).toMatch(/^name,os\r\n/);
    expect((await run('images', 'list', '-o', 'table', '--columns', 'id')).stdout).toMatch(/^ID\n/);
    expect((await run('images', 'list', '-o', 'table', '-l')).stdout).toMatch(/^ID +NAME +VERSION/);
    expect((await run('keys', 'list', '-o', 'table')).stdout).toMatch(/^NAME +FINGERPRINT/);
    expect((await run('keys', 'list', '-o', 'name')).stdout).toBe(`${user.local.keyId}\n`);
    expect((await user.cloud(['images', 'list', '--jq', 'length'])).stdout).toBe('10\n');
    expect((await openTerminal('cloud keys list', { env: user.env, cwd: user.home }).end()).text).toMatch(/^\{"name":"demo@local"/);
  });

  test('change nothing else: errors stay text, bytes stay bytes, and what says nothing goes on saying nothing', async () => {
    expect((await run('keys', 'get', 'nobody')).stderr).toContain('\nhint: cloud keys list\n');
    await user.here(['stor', 'put', '-', 'x'], { input: 'bytes' });
    expect((await run('stor', 'cat', 'x')).stdout).toBe('bytes');
    expect((await run('stor', 'mkdir', 'silent')).stdout).toBe('');
    expect((await run('env')).stdout).toContain("export CLOUD_OUTPUT=jsonl\nexport CLOUD_COLUMNS='images list=name,os'\n");
  });

  test('come from the environment as well; one of another form is refused before anything is done', async () => {
    const yaml = await user.here(['keys', 'list'], { env: { CLOUD_OUTPUT: 'yaml' } });
    expect(yaml.stdout).toMatch(/^- name: demo@local/);
    for (const [env, message] of [
      [{ CLOUD_OUTPUT: 'yamll' }, 'environment CLOUD_OUTPUT: "yamll" is not one of table'],
      [{ CLOUD_COLUMNS: 'name,os' }, 'environment CLOUD_COLUMNS: "name,os" is not COMMAND=COLUMNS'],
    ] as const) {
      const wrong = await user.here(['stor', 'mkdir', 'not-made'], { env });
      expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining(message)]);
      expect((await run('stor', 'stat', 'not-made')).code).toBe(3);
    }
    expect((await user.here(['keys', 'list', '-j'], { env: { CLOUD_OUTPUT: 'yamll' } })).code).toBe(0);
    const sums = await user.here(['stor', 'put', '-P', '0', '-', 'y'], { input: 'x' });
    expect(sums.code).toBe(2);
  });

  test('a default column that does not exist is named with its source, and the usual columns are shown', async () => {
    const env = { CLOUD_COLUMNS: 'images list=id,nmae;policies create=nosuch;keys list=name', CLOUD_OUTPUT: 'table' };
    const listed = await user.here(['images', 'list'], { env });
    expect([listed.code, listed.stderr]).toEqual([
      0,
      expect.stringContaining(
        'environment CLOUD_COLUMNS: images list: no field "nmae"; did you mean "name"? (showing the usual columns)\n',
      ),
    ]);
    expect(listed.stdout).toMatch(/^ID +NAME +VERSION/);
    expect(listed.stdout.trimEnd().split('\n')).toHaveLength(11);
    const created = await user.here(['policies', 'create', 'p', '--rule', 'CAN getobject'], { env });
    expect([created.code, created.stderr]).toEqual([0, expect.stringContaining('policies create: no field "nosuch"')]);
    expect(created.stdout).toMatch(/NAME +p\n/);
    const known = await user.here(['keys', 'list'], { env });
    expect([known.stdout, known.stderr]).toEqual(['NAME\ndemo@local\n', '']);
  });

  test.each([
    ['--default-output', 'jsn', '--default-output: "jsn" is not one of table'],
    ['--default-columns', 'images lst=name', '"lst" is not a command of cloud images'],
    ['--default-columns', 'images=name', '"images" is not a command that shows records'],
    ['--default-columns', 'images list=id,nmae', '--default-columns: images list: no field "nmae"; did you mean "name"?'],
    ['--default-columns', 'keys create=nosuch', '--default-columns: keys create: no field "nosuch"'],
    ['--default-columns', 'name,os', '"name,os" is not COMMAND=COLUMNS'],
    ['--default-parallel', '0', '"0" is not a number from 1 to 256'],
  ])('%s %s is refused, and the profile stays', async (option, value, message) => {
    const before = readProfile();
    const { code, stderr } = await run('profile', 'edit', option, value);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(readProfile()).toEqual(before);
  });

  test('are joined by command, outlive a start of the service, and go one by one', async () => {
    await run('profile', 'edit', '--default-columns', 'jobs list=id;images list=');
    expect(readProfile()).toMatchObject({ defaultColumns: 'jobs list=id' });
    await run('profile', 'edit', '--default-columns', 'jobs list=');
    expect(readProfile()).not.toHaveProperty('defaultColumns');
    expect((await user.here(['local', 'start', '-q'])).code).toBe(0);
    expect(readProfile()).toMatchObject({ defaultOutput: 'jsonl', defaultParallel: 3 });
    await run('profile', 'edit', '--unset', 'defaultOutput,defaultParallel');
    expect((await run('keys', 'list')).stdout).toMatch(/^NAME/);
  });
});

describe('a file of a key that is not absolute', () => {
  const keyFile = (): string => String(readProfile()['keyFile']);

  test('is below the current directory in an option and in the environment, ~ is the home', async () => {
    mkdirSync(join(user.home, 'below/keys'), { recursive: true });
    copyFileSync(keyFile(), join(user.home, 'below/keys/k.pem'));
    chmodSync(join(user.home, 'below/keys/k.pem'), 0o600);
    const there = { cwd: join(user.home, 'below') };
    for (const file of ['keys/k.pem', '~/below/keys/k.pem']) {
      expect((await user.here(['keys', 'list', '--key-file', file], there)).code).toBe(0);
      expect((await user.here(['keys', 'list'], { ...there, env: { CLOUD_KEY_FILE: file } })).code).toBe(0);
    }
    const elsewhere = await user.here(['keys', 'list', '--key-file', 'keys/k.pem']);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([expect.any(Number), expect.stringContaining(join(user.home, 'keys/k.pem'))]);
  });

  test('is beside the profile in a profile, wherever the command runs', async () => {
    const { keyFile: absolute, ca } = readProfile();
    copyFileSync(keyFile(), join(user.home, '.config/cloud/profiles/k.pem'));
    changeProfile({ keyFile: 'k.pem', ca: `~/${String(ca).slice(user.home.length + 1)}` });
    for (const cwd of [user.home, join(user.home, 'below')]) expect((await user.here(['keys', 'list'], { cwd })).code).toBe(0);
    changeProfile({ keyFile: absolute, ca });
  });
});
