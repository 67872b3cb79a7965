import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeRsaKeyFile } from '../support/rsa-keys.ts';
import { useLocal } from '../support/sandbox.ts';

/** A service tells who controls it what programs sent, and why it refused them. */

const user = useLocal();

interface Shown {
  id: number;
  operation?: string;
  method: string;
  path: string;
  status: number;
  caller: string;
  code?: string;
  message?: string;
  reason?: string;
  faults?: string[];
  curl: string;
}

const list = (...words: string[]) => user.json<Shown[]>('local', 'requests', ...words);
const last = async (...words: string[]) => (await list(...words)).at(-1);

describe('cloud local requests', () => {
  it('lists requests with what came of them, and a line that repeats one', async () => {
    await user.here(['stor', 'put', '-q', user.write('x', 'content'), 'a b']);
    await user.here(['stor', 'cat', 'a b']);
    const read = await last();
    expect(read).toMatchObject({ operation: 'getobject', method: 'GET', path: '/demo/stor/a%20b', status: 200, caller: 'demo' });
    expect(read).not.toHaveProperty('reason');
    const { stdout } = await user.shell(read?.curl ?? '', { env: { CURL_CA_BUNDLE: user.local.caFile } });
    expect(stdout).toBe('content');
    expect((await last())?.id).toBe((read?.id ?? 0) + 1);
    const put = (await list()).find(({ operation }) => operation === 'putobject');
    await user.here(['stor', 'rm', '-q', 'a b']);
    const again = await user.shell(`printf content | ${put?.curl ?? ''}`, { env: { CURL_CA_BUNDLE: user.local.caFile } });
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect((await user.here(['stor', 'cat', 'a b'])).stdout).toBe('content');
  });

  it('lists nothing that this program itself sends to find the service', async () => {
    const before = await list();
    for (const words of [['status'], ['snapshot', 'create', 'a'], ['start']]) expect((await user.here(['local', ...words])).code).toBe(0);
    expect(await list()).toEqual(before);
  });

  it('tells what should have been signed', async () => {
    const date = new Date().toUTCString();
    const signed = `Signature keyId="/demo/keys/${user.local.keyId}",algorithm="rsa-sha256",signature="AAAA"`;
    const url = `${user.local.storUrl}/demo/stor`;
    await user.shell('curl -sk -H "Date: $DATE" -H "Authorization: $SIGNED" "$URL"', {
      env: { DATE: date, SIGNED: signed, URL: url },
    });
    const refused = await last('--failed');
    expect(refused).toMatchObject({ status: 403, caller: '-', code: 'InvalidSignature' });
    expect(refused?.reason).toContain(JSON.stringify(`date: ${date}`));
    expect(refused?.reason).toContain('signed with rsa-sha256 and the private key of /demo/keys/');
  });

  it('tells which rule or tag was missing, which the client is not told', async () => {
    await user.json('users', 'create', 'bob', '--email', 'bob@example.com', '--password-file', user.write('password', 'secret1234'));
    writeRsaKeyFile(join(user.home, 'bob'), { pem: true });
    await user.json('users', 'keys', 'create', 'bob', join(user.home, 'bob.pub'), '--name', 'bob');
    await user.json('policies', 'create', 'read', '--rule', 'CAN getobject');
    await user.json('roles', 'create', 'readers', '--policy', 'read', '--default-member', 'bob');
    const { stdout: key } = await user.shell('ssh-keygen -l -E md5 -f bob | cut -d" " -f2 | cut -c5-');
    const { stderr } = await user.here([
      'stor',
      'cat',
      'a b',
      '--user',
      'bob',
      '--key-file',
      join(user.home, 'bob'),
      '--key-id',
      key.trim(),
    ]);
    const refused = await last('--failed');
    expect([stderr, refused]).toEqual([
      expect.not.stringContaining('policy read'),
      expect.objectContaining({ status: 403, caller: 'demo/bob', code: 'NoMatchingRoleTag', operation: 'getobject' }),
    ]);
    expect(refused?.reason).toContain('does not have the role tag readers');
  });

  it('names failures on command', async () => {
    await user.json('local', 'faults', 'add', 'getobject', 'close', '--count', '1');
    await user.here(['stor', 'cat', 'a b', '--retries', '0']);
    expect(await last('--failed')).toMatchObject({ status: 0, faults: ['getobject=close'] });
  });

  it('follows', async () => {
    const program = resolve(import.meta.dirname, '../../bin/cloud');
    const words = ['local', 'requests', '--follow', '-o', 'jsonl'];
    const child = spawn(process.execPath, [program, ...words], { env: user.env, cwd: user.home, stdio: ['ignore', 'pipe', 'inherit'] });
    let told = '';
    child.stdout.on('data', (chunk: Buffer) => (told += chunk.toString()));
    await expect.poll(() => told).toContain('\n');
    await user.here(['stor', 'stat', 'not-there']);
    await expect.poll(() => told).toContain('/not-there"');
    child.kill('SIGINT');
    await once(child, 'exit');
    expect(told.split('\n').filter((line) => line.includes('/not-there"')).length).toBe(1);
  });
});
