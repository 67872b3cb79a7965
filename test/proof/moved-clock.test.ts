import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { useLocal, type LocalInfo, type Outcome } from '../support/sandbox.ts';
import { lacks } from '../support/witnesses.ts';

/** Clocks that differ by ten minutes, moved from outside by `faketime`: the tool's, or the service's. */

const user = useLocal();

beforeAll(async () => {
  user.write('large', Buffer.alloc(2_000_000, 'x'));
  await user.shell(`ssh-keygen -q -t rsa -b 2048 -N '' -f other && cloud stor put large large && cloud stor put large old`);
});

/** Runs a command whose clock is moved. */
function runMoved(moved: string, line: string): Promise<Outcome> {
  return user.shell(`faketime -f '${moved}' cloud ${line}`);
}

function expectSkew({ code, stdout, stderr }: Outcome, direction: string): void {
  expect([code, stdout], stderr).toEqual([4, '']);
  const [first = '', second, ...more] = stderr.trim().split('\n');
  expect(first).toMatch(new RegExp(`the clock of this machine is (?:59\\d|60\\d|61\\d) seconds ${direction} the clock of localhost`, 'u'));
  expect([second, more]).toEqual([expect.stringContaining('hint: set the clock: services reject requests if it is more than 300'), []]);
}

const lines = [
  'keys list',
  'keys create other.pub --name other',
  'rbac export',
  'images get base-64',
  'stor ls',
  'stor stat large',
  'stor get large back',
  'stor cat large',
  'stor put large new',
  'stor rm old -y',
  'mpu upload large new',
  'jobs create --map cat',
  'jobs list',
  'api /my/keys',
];

describe.skipIf(lacks('faketime'))('ten minutes', () => {
  test.each([
    ['+10m', 'ahead of'],
    ['-10m', 'behind'],
  ])('%s: every command names the difference and says what to do; nothing is changed', { timeout: 120_000 }, async (moved, direction) => {
    for (const line of lines) expectSkew(await runMoved(moved, line), direction);
    expect(existsSync(join(user.home, 'back'))).toBe(false);
    const names = (await user.json<{ name: string }[]>('stor', 'ls')).map(({ name }) => name);
    expect([names.includes('old'), names.includes('new')]).toEqual([true, false]);
    expect(await user.json('jobs', 'list')).toEqual([]);
    expect(await user.json('keys', 'list')).toHaveLength(1);
  });

  test('doctor names the clock as what is wrong', async () => {
    const { code, stdout } = await runMoved('+10m', 'doctor');
    expect(code).not.toBe(0);
    expect(stdout).toMatch(/failed +compute +the clock of this machine is \d+ seconds ahead of/u);
  });

  test.each(['+4m', '-4m'])('%s is allowed', async (moved) => {
    const { code, stdout } = await runMoved(moved, 'stor cat large');
    expect([code, stdout.length]).toEqual([0, 2_000_000]);
  });

  test('a URL that is signed with a clock that is behind has been over when it is used; one signed ahead works', async () => {
    const signed = async (moved: string): Promise<string> =>
      (await runMoved(moved, 'api sign --service stor /demo/stor/large --expires 5m -o name')).stdout.trim();
    const fetch = (url: string): Promise<Outcome> =>
      user.shell(`curl -s -o /dev/null -w '%{http_code}' --cacert '${user.local.caFile}' '${url}'`);
    expect((await fetch(await signed('-10m'))).stdout).toBe('403');
    expect((await fetch(await signed('+10m'))).stdout).toBe('200');
  });
});

describe.skipIf(lacks('faketime')).each([
  ['+10m', 'behind'],
  ['-10m', 'ahead of'],
])('a service whose clock is %s', (moved, direction) => {
  let local: LocalInfo;
  const data = moved === '+10m' ? 'later' : 'earlier';
  beforeAll(async () => {
    const { stdout } = await user.shell(
      `faketime -f '${moved}' cloud local start --data ${data} --compute-port 0 --stor-port 0 --profile ${data} --http -j`,
    );
    local = JSON.parse(stdout) as LocalInfo;
  });
  afterAll(async () => {
    process.kill(local.pid, 'SIGTERM');
    while (existsSync(`/proc/${local.pid}/exe`)) await new Promise((resolve) => setTimeout(resolve, 20));
  });

  test('is told the same way, and answers those who have its time', async () => {
    for (const line of ['keys list', 'stor ls', 'stor put large new'])
      expectSkew(await user.cloud([...line.split(' '), '--profile', data]), direction);
    expect((await runMoved(moved, `stor put large new --profile ${data}`)).code).toBe(0);
    expect((await runMoved(moved, `stor cat new --profile ${data}`)).stdout).toHaveLength(2_000_000);
  });
});
