import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRsaKey } from '../support/rsa-keys.ts';
import { useLocal, useSandbox, type LocalInfo, type Sandbox } from '../support/sandbox.ts';

/** A service is controlled while it runs, by a socket that is its user's alone. */

const user = useLocal();
const other = useSandbox();

async function succeed(sandbox: Sandbox, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await sandbox.here(words);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** What curl says of a URL: its status. */
async function fetchStatus(url: string): Promise<string> {
  const { stdout } = await user.shell('curl -s -o /dev/null -w "%{http_code}" --cacert "$CA" "$URL"', {
    env: { CA: user.local.caFile, URL: url },
  });
  return stdout;
}

function send(socketPath: string, path: string, body: string | undefined, method = 'POST'): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, method });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}

describe('cloud local clock', () => {
  it('lets a signed URL expire and an image be ready, while commands go on', async () => {
    await succeed(user, 'stor', 'put', '-q', user.write('x', 'x'), 'x');
    const url = (await succeed(user, 'stor', 'sign', 'x', '--expires', '1h', '-o', 'name')).trim();
    const image = await user.json<{ id: string; state: string }>('images', 'create', '6d1a3a4c-70e7-4b4e-a0a5-0d2d7d7c0001', 'web', '1');
    expect(await fetchStatus(url)).toBe('200');
    expect(JSON.parse(await succeed(user, 'local', 'clock', 'advance', '2h', '-j'))).toMatchObject({ offset: 7_200_000, skew: 0 });
    expect(await fetchStatus(url)).toBe('403');
    expect(await user.json('images', 'get', image.id)).toMatchObject({ state: 'active' });
    expect(await user.json('local', 'clock', 'reset')).toMatchObject({ offset: 0 });
    expect(await fetchStatus(url)).toBe('200');
  });

  it('lets headers change of what has a date ahead of the clock of this machine, or of its own', async () => {
    await succeed(user, 'local', 'clock', 'advance', '1d', '-q');
    await succeed(user, 'stor', 'put', '-q', user.write('ahead', 'x'), 'ahead');
    expect((await user.here(['stor', 'meta', 'set', 'ahead', 'color=red'])).code).toBe(0);
    await succeed(user, 'local', 'clock', 'reset', '-q');
    expect((await user.here(['stor', 'meta', 'set', 'ahead', 'size=9'])).code).toBe(0);
    expect(await user.json('stor', 'meta', 'get', 'ahead')).toMatchObject({ 'm-color': 'red', 'm-size': '9' });
  });

  it('moves the check of dates alone', async () => {
    expect(await user.json('local', 'clock', 'skew', '400s', '--behind')).toMatchObject({ offset: 0, skew: -400_000 });
    const { code, stderr } = await user.here(['keys', 'list']);
    expect([code, stderr]).toEqual([4, expect.stringContaining('ahead of the clock of localhost')]);
    await succeed(user, 'local', 'clock', 'skew', '0s');
    await succeed(user, 'keys', 'list');
  });

  it('says what is wrong', async () => {
    for (const [words, problem] of [
      [['set', 'tomorrow'], '"tomorrow" is not a time'],
      [['advance', 'long'], '"long" is not a duration'],
      [['advance'], 'clock advance: needs a duration'],
      [['advance', '1m', '--behind'], '--behind is an option of clock skew'],
      [['reset', '1m'], 'clock reset: takes no value'],
      [['rewind', '1m'], 'set, advance, skew'],
      [['advance', '9999999w'], 'between the years 1970 and 9999'],
    ] as const) {
      const { code, stderr } = await user.here(['local', 'clock', ...words]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    }
    const { code, stderr } = await other.here(['local', 'clock']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/no service runs on .*\nhint: cloud local start/)]);
  });

  it('is that of the service that cloud local run has started', async () => {
    const line = 'cloud local clock set 2031-05-06 -q; cloud stor put -q - y < /dev/null; cloud stor stat y -j';
    const { code, stdout } = await user.cloud(['local', 'run', '--data', user.local.dataDir, '--', 'sh', '-c', line]);
    expect([code, stdout]).toEqual([0, expect.stringContaining('2031-05-06T00:00:')]);
    expect(await user.json('local', 'clock'), 'the clock of the other service').toMatchObject({ offset: 0 });
  });
});

describe('the control interface', () => {
  const data = join(other.home, 'a'.repeat(80), 'b'.repeat(80));
  const words = ['--data', data];
  // With a key, so that the start makes none.
  const place = [...words, '--profile', 'long', '--public-key', other.write('key.pub', createRsaKey().line)];
  const start = () => other.json<LocalInfo>('local', 'start', ...place, '--compute-port', '0', '--stor-port', '0');

  it("is a socket of the user alone, apart from the services' ports", async () => {
    const { dataDir, computeUrl, storUrl } = user.local;
    const control = join(dataDir, 'control');
    expect([lstatSync(control).mode & 0o777, lstatSync(join(control, 'socket')).mode & 0o777]).toEqual([0o700, 0o600]);
    for (const url of [computeUrl, storUrl]) {
      const line = `curl -sk -o /dev/null -w "%{http_code}" -d '{"advance":1000}' ${url}/clock`;
      expect((await user.shell(line)).stdout).toMatch(/^4\d\d$/);
    }
    expect(await user.json('local', 'clock')).toMatchObject({ offset: 0 });
  });

  it('refuses what it does not know, and goes on', async () => {
    const path = join(user.local.dataDir, 'control/socket');
    const cases: [string, string | undefined, string, string?][] = [
      ['/clock', '{', 'is not JSON'],
      ['/clock', '[]', 'must be a JSON object'],
      ['/clock', 'null', 'must be a JSON object'],
      ['/clock', '{"faster":2}', 'has no input'],
      ['/clock', '{"__proto__":{}}', 'has no input'],
      ['/clock', '{"advance":"1"}', 'must be a number'],
      ['/clock', '{"advance":1e999}', 'must be a number'],
      ['/clock', undefined, 'has no GET /clock', 'GET'],
      ['/constructor', '{}', 'has no POST /constructor'],
      ['/clock', `{"set":"${'x'.repeat(2_000_000)}"}`, 'at most 1048576 bytes'],
    ];
    for (const [target, body, words, method] of cases) {
      const { status, text } = await send(path, target, body, method);
      expect([status, text]).toEqual([400, expect.stringContaining(words)]);
    }
    expect(JSON.parse((await send(path, '/clock', undefined)).text)).toMatchObject({ offset: 0, skew: 0 });
  });

  it('survives a service that was killed, works however long the path is, and is gone when the service has ended', async () => {
    const { pid } = await start();
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => existsSync(`/proc/${pid}/fd/0`)).toBe(false);
    expect((await other.here(['local', 'clock', ...words])).stderr).toContain('no service runs on');
    await start();
    expect(await other.json('local', 'clock', 'advance', '1m', ...words)).toMatchObject({ offset: 60_000 });
    await other.here(['local', 'stop', '-q', ...words]);
    expect(existsSync(join(data, 'control'))).toBe(false);
    expect((await other.here(['local', 'clock', ...words])).code).toBe(1);
  });

  it('is left out where no socket can be made, and the log says why', async () => {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    writeFileSync(join(data, 'control'), 'in the way', { mode: 0o600 });
    const { pid } = await start();
    const { code, stderr } = await other.here(['local', 'clock', ...words]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`(process ${pid}) has no control interface`)]);
    expect(readFileSync(join(data, 'service.log'), 'utf8')).toContain('no control interface: ');
    await other.here(['local', 'stop', '-q', ...words]);
  });
});
