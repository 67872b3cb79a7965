import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { serveUntrusted } from '../support/hostile.ts';
import { usualIsolation } from '../support/job-sandboxes.ts';
import { fillRemovedMeanwhile } from '../support/removed-meanwhile.ts';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useLocal, useSandbox } from '../support/sandbox.ts';

interface Finding {
  check: string;
  status: string;
  detail: string;
  fix?: string;
}

describe('with the local service', () => {
  const user = useLocal();

  async function examine(...words: string[]): Promise<{ code: number | null; found: (check: string) => Finding | undefined }> {
    const { code, stdout } = await user.here(['doctor', '-j', ...words]);
    const findings = JSON.parse(stdout) as Finding[];
    return {
      code,
      found: (check) =>
        findings.find((each) => each.check === check && each.status !== 'ok') ?? findings.find((each) => each.check === check),
    };
  }

  it('finds nothing wrong', async () => {
    const { code, stdout } = await user.cloud(['doctor']);
    expect(code).toBe(0);
    for (const check of ['program', 'cache', 'profile', 'agent', 'key', 'tls', 'compute', 'clock', 'account', 'storage'])
      expect(stdout).toMatch(new RegExp(`^ok +${check} `, 'm'));
    const jobs = /^warning +jobs +tasks run without a sandbox.*\n.*-> .*\n/mu;
    expect(jobs.test(stdout)).toBe(usualIsolation() === 'none');
    expect(stdout.replace(jobs, '')).not.toContain('->');
  });

  it.each([
    ['rsa', '', 'compute', 'the signature does not match a known key', /cloud keys create .*KEY\.pub --key-file OTHER/],
    ['rsa', '', 'storage', /^the key \S+ does not exist$/, /cloud keys create .*KEY\.pub --key-file OTHER/],
    ['rsa', 'secret', 'key', /, encrypted$/, /^to enter its passphrase once: ssh-add .*KEY$/],
    [
      'ed25519',
      '',
      'key',
      'the compute service accepts RSA and ECDSA keys, but this one is ed25519',
      /^create one: ssh-keygen -t rsa -b 3072/,
    ],
  ] as const)('a key of type %s with the passphrase "%s": %s says why and what to type', async (type, passphrase, check, detail, fix) => {
    const key = join(user.home, `${type}${passphrase}-${check}`);
    if (type === 'rsa') writeRsaKeyFile(key, { passphrase });
    else execFileSync('ssh-keygen', ['-q', '-t', type, '-N', passphrase, '-f', key]);
    const { stdout } = await user.here(['doctor', '-j', '--key-file', key]);
    const findings = (JSON.parse(stdout) as Finding[]).map((finding) => ({ ...finding, fix: finding.fix?.replaceAll(key, 'KEY') }));
    expect(findings).toContainEqual(
      expect.objectContaining({
        check,
        detail: typeof detail === 'string' ? expect.stringContaining(detail) : expect.stringMatching(detail),
        fix: expect.stringMatching(fix),
      }),
    );
  });

  it('finds URLs that are swapped, with the line that swaps them', async () => {
    const { computeUrl, storUrl } = user.local;
    const { stdout } = await user.here(['doctor', '-j', '--url', storUrl, '--stor-url', computeUrl]);
    const found = (JSON.parse(stdout) as Finding[]).filter(({ status }) => status === 'failed');
    const fix = `if the two URLs are swapped: cloud profile edit --url ${computeUrl} --stor-url ${storUrl}`;
    expect(found).toEqual([
      { check: 'compute', status: 'failed', detail: `${storUrl} is not an address of the compute service`, fix },
      { check: 'storage', status: 'failed', detail: `${computeUrl} is not an address of the storage service`, fix },
    ]);
  });

  it('clears the cache when told', async () => {
    const folder = join(user.home, '.cache/cloud');
    mkdirSync(join(folder, 'answers'), { recursive: true });
    const old = user.write('.cache/cloud/answers/old.json', '{}');
    expect((await user.here(['doctor'])).code).toBe(0);
    expect(existsSync(old)).toBe(true);
    const { code, stdout } = await user.cloud(['doctor', '--clear-cache']);
    expect([code, existsSync(old)]).toEqual([0, false]);
    expect(stdout).toContain(`${folder}: cleared`);
  });

  it('clears the cache although another command removes files of it', async () => {
    // A folder that doctor itself does not make again.
    const folder = join(user.home, '.cache/cloud/earlier');
    const awaitOther = await fillRemovedMeanwhile(folder);
    expect([(await user.here(['doctor', '--clear-cache'])).code, existsSync(folder)]).toEqual([0, false]);
    await awaitOther();
  });

  it('is all that a report of a bug needs, and holds no secret', async () => {
    const { stdout } = await user.cloud(['doctor', '-j'], { env: { CLOUD_TEST_PASSWORD: 'open sesame' } });
    const findings = JSON.parse(stdout) as Finding[];
    const detailOf = (check: string): string | undefined => findings.find((each) => each.check === check)?.detail;
    const { version, commit, node, system, program } = await user.json<Record<string, string>>('version');
    expect(detailOf('program')).toMatch(new RegExp(`^${version} \\(commit ${commit?.replace('+', '\\+')} of `));
    expect(detailOf('node')).toBe(`Node.js ${node}, ${process.execPath}`);
    expect([node, system]).toEqual([process.version, `${process.platform} ${process.arch}`]);
    expect(detailOf('system')).toContain(system);
    expect(detailOf('install')).toBe(program);
    expect(detailOf('database')).toMatch(/^SQLite 3\.\d+\.\d+ of (Node\.js|libsql)/);
    expect(detailOf('jobs')).toMatch(/^tasks run (in a sandbox \(\w+\)|without a sandbox); /);
    expect(detailOf('service')).toContain(`local service ${version} (commit ${commit}), process ${user.local.pid}`);
    expect(findings.filter(({ check }) => check === 'setting').map(({ detail }) => detail)).toEqual(
      expect.arrayContaining([`url = ${user.local.computeUrl} (profile local)`, `keyId = ${user.local.keyId} (profile local)`]),
    );
    expect(stdout).not.toMatch(/PRIVATE KEY|open sesame|Signature/);
  });

  it('names a service that another release of the program started, as do start and status', async () => {
    const file = join(user.local.dataDir, 'run.json');
    const text = readFileSync(file, 'utf8');
    const { version, commit } = await user.json<Record<string, string>>('version');
    const older = `the running service is older than this program (0.0.9, this is ${version}); to replace it: cloud local stop && cloud local start`;
    try {
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), version: '0.0.9' }));
      const { found } = await examine();
      expect(found('service')).toMatchObject({ status: 'warning', fix: 'cloud local stop && cloud local start' });
      expect((await user.here(['local', 'start'])).stderr).toContain(older);
      const status = await user.here(['local', 'status', '-j']);
      expect([status.code, JSON.parse(status.stderr)]).toEqual([0, { warning: older }]);
      writeFileSync(file, JSON.stringify({ ...(JSON.parse(text) as object), commit: 'other' }));
      expect((await user.here(['local', 'status'])).stderr).toContain(`is another build than this program (other, this is ${commit})`);
    } finally {
      writeFileSync(file, text);
    }
    expect((await user.here(['local', 'status'])).stderr).toBe('');
  });

  it('says which key could be used instead of one that is not there', async () => {
    mkdirSync(join(user.home, '.ssh'), { recursive: true });
    writeRsaKeyFile(join(user.home, '.ssh/id_rsa'));
    const { code, found } = await examine('--key-id', `SHA256:${'a'.repeat(43)}`);
    expect(code).toBe(1);
    expect(found('key')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('no private key with the fingerprint') as string,
    });
    expect(found('key')?.fix).toMatch(/^cloud profile edit --key-id [\da-f:]{47}/);
    expect(found('compute')?.status).toBe('failed');
  });

  it('says that a key serves for neither service', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(user.home, '.ssh/id_ed25519')]);
    const id =
      execFileSync('ssh-keygen', ['-l', '-f', join(user.home, '.ssh/id_ed25519.pub')])
        .toString()
        .split(' ')[1] ?? '';
    const { found } = await examine('--key-id', id);
    expect(found('key')).toMatchObject({
      status: 'failed',
      detail: 'the compute service accepts RSA and ECDSA keys, but this one is ed25519',
    });
  });

  it('says that nothing answers, and where an authority is not trusted', async () => {
    const silent = await examine('--url', 'https://localhost:1', '--retries', '0');
    expect(silent.found('compute')).toMatchObject({ status: 'failed', detail: 'nothing is listening at localhost:1: connection refused' });
    const stranger = await serveUntrusted('HTTP/1.1 200 OK\r\n\r\n');
    try {
      const { code, found } = await examine('--url', stranger.url, '--retries', '0');
      expect(code).toBe(1);
      expect(found('compute')?.detail).toContain('is not signed by a trusted authority');
      expect(found('compute')?.fix).toContain('--ca');
    } finally {
      await stranger.close();
    }
  });

  it('warns of certificates that are not checked, and of an agent that is gone', async () => {
    const { code, found } = await examine('--insecure');
    expect(code).toBe(0);
    expect(found('tls')).toMatchObject({ status: 'warning' });
    // Nobody listens on the second either.
    for (const socket of [join(user.home, 'gone'), user.home]) {
      const { stdout } = await user.here(['doctor', '-j'], { env: { SSH_AUTH_SOCK: socket, CLOUD_INSECURE: 'yes' } });
      expect((JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'tls')).toMatchObject({ status: 'warning' });
      expect((JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'agent')).toMatchObject({ status: 'warning' });
    }
  });

  it('shows in a table what was found before the first failure', async () => {
    const { code, stdout, stderr } = await user.here(['doctor', '--columns', 'check,status', '--key-id', 'SHA256:nothing']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^CHECK +STATUS\nprogram +ok\n/);
    expect(stderr).toMatch(/checks failed/);
  });

  test('a profile that does not work is not made, and it is said why', async () => {
    const file = join(user.home, '.ssh/id_rsa');
    const words = ['--url', user.local.computeUrl, '--account', 'demo', '--key-file', file, '--ca', user.local.caFile];
    const refused = await user.here(['profile', 'create', 'other', ...words]);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain(`hint: the account demo must exist in this cloud and have the public key of ${file}`);
    expect(refused.stderr).toContain('hint: to create the profile without testing it: cloud profile create other --no-test');
    const insecure = await user.here(['profile', 'create', 'other', ...words.with(1, user.local.computeUrl.replace('https', 'http'))]);
    expect(insecure.code).not.toBe(0);
    expect((await user.here(['profile', 'get', 'other'])).code).toBe(2);
    await user.here(['keys', 'create', `${file}.pub`]);
    expect((await user.here(['profile', 'create', 'other', ...words])).stderr).toBe('Created profile other\n');
  });
});

describe('without a profile', () => {
  const user = useSandbox();

  it('the first command says in three lines how to begin', async () => {
    const { code, stdout, stderr } = await user.cloud(['images', 'list']);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^cloud images list: no .* is known: there is no profile yet$/),
      'hint: create a profile interactively: cloud profile create NAME',
      'hint: or try everything on this machine: cloud local start',
      '',
    ]);
  });

  it('the doctor says so too', async () => {
    const { code, stdout } = await user.here(['doctor']);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failed {3}profile {2}no profile exists[^\n]*\n +-> cloud profile create NAME\n/m);
  });

  it('a profile without an address of the storage is named', async () => {
    user.write('k', '');
    await user.here(['profile', 'create', 'half', '--url', 'https://localhost:1', '--account', 'jill', '--key-file', 'k', '--no-test']);
    const { stderr } = await user.here(['stor', 'ls']);
    expect(stderr).toBe('cloud stor ls: profile half has no address of the object storage\nhint: cloud profile edit half --stor-url URL\n');
  });
});

describe('profile import', () => {
  const user = useSandbox();
  const older = { name: 'work', url: 'https://cloud.example.com', account: 'jill', keyId: 'aa:bb', insecure: true };
  const env = {
    MANTA_URL: 'https://stor.example.com',
    MANTA_USER: 'jill',
    MANTA_KEY_ID: 'aa:bb',
  };

  it('says that there is nothing', async () => {
    const { code, stderr } = await user.here(['profile', 'import']);
    expect([code, stderr]).toEqual([
      3,
      'cloud profile import: there are no profiles in ~/.triton, and no such variables in the environment\nhint: cloud profile create NAME\n',
    ]);
  });

  it('takes over profiles, the current one, and variables', async () => {
    user.write('.triton/profiles.d/work.json', JSON.stringify(older));
    user.write('.triton/profiles.d/home.json', JSON.stringify({ ...older, name: 'home', account: 'jo', insecure: false }));
    user.write('.triton/config.json', JSON.stringify({ profile: 'home' }));
    const { code, stdout, stderr } = await user.cloud(['profile', 'import', '-j'], { env });
    expect([code, JSON.parse(stderr)]).toEqual([0, { note: 'The current profile is home' }]);
    const { url, account, keyId } = older;
    expect(JSON.parse(stdout)).toEqual([
      { name: 'home', status: 'imported', from: join(user.home, '.triton/profiles.d/home.json'), url, account: 'jo', keyId },
      {
        name: 'work',
        status: 'imported',
        from: join(user.home, '.triton/profiles.d/work.json'),
        url,
        account,
        keyId,
        insecure: 'true',
        storUrl: env.MANTA_URL,
      },
      { name: 'env', status: 'imported', from: 'environment', account: 'jill', keyId, storUrl: env.MANTA_URL },
    ]);
    expect(JSON.parse(readFileSync(join(user.home, '.config/cloud/profiles/work.json'), 'utf8'))).toMatchObject({ url, insecure: true });
  });

  it('leaves profiles alone whose names are taken, unless told otherwise', async () => {
    await user.here(['profile', 'edit', 'work', '--account', 'joan']);
    const kept = await user.here(['profile', 'import', 'work', '-o', 'csv', '--columns', 'status']);
    expect(kept.stdout).toBe('status\r\nexists already\r\n');
    expect((await user.json<{ account: string }>('profile', 'get', 'work')).account).toBe('joan');
    await user.here(['profile', 'import', 'work', '--force']);
    expect((await user.json<{ account: string }>('profile', 'get', 'work')).account).toBe('jill');
  });
});
