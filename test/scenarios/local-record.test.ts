import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useLocal } from '../support/sandbox.ts';

/** What a program and a cloud say to each other is recorded, and answers in place of the cloud. */

const user = useLocal();
const recordings = join(user.home, '.local/share/cloud/recordings');
const script = [
  'set -e',
  "printf 'Grüße' | cloud stor put -q -p - rec/a/x",
  'cloud stor cat rec/a/x; cloud stor ls rec/a -o name',
  'echo PlantedSecret1 | cloud users create ann --email a@b.c --password-stdin -q -o name',
  'curl -fsS "$(cloud stor sign rec/a/x --expires 1h)"',
  'cloud keys list -o name',
].join('\n');

describe('cloud local record', () => {
  it('records a program, whose exit code it has; the same program runs from the file without the cloud', async () => {
    const file = join(user.home, 'suite.jsonl');
    const recorded = await user.cloud(['local', 'record', 'suite.jsonl', '--', 'sh', '-c', `${script}; exit 7`]);
    expect(recorded).toMatchObject({ code: 7, stderr: expect.stringMatching(/^Recorded \d+ exchanges in suite.jsonl\n$/) as string });
    expect(recorded.stdout).toMatch(/^Grüßex\nann\nGrüße/u);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).not.toMatch(/PlantedSecret|signature="|[?&]signature=/iu);
    expect(readdirSync(recordings)).toEqual([]);
    const again = await user.cloud(['local', 'run', '--replay', 'suite.jsonl', '--', 'sh', '-c', script], {
      env: { CLOUD_URL: 'https://localhost:1', CLOUD_STOR_URL: 'https://localhost:1' },
    });
    expect(again).toMatchObject({ code: 0, stdout: recorded.stdout, stderr: '' });
  });

  it('says what the recording does not have, to the program and at the end', async () => {
    const line = 'cloud keys delete nothing -y; cloud stor ls elsewhere -o name';
    const { code, stderr } = await user.cloud(['local', 'run', '--replay', 'suite.jsonl', '--', 'sh', '-c', line]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(
      'cloud stor ls elsewhere -o name: the recording has no storage GET /demo/stor/elsewhere; the nearest is storage ',
    );
    expect(stderr).toMatch(/^the recording has no response to .*\d more: record it again with cloud local record$/mu);
  });

  it('cloud local start --replay answers until it is stopped, with a profile and data of its own', async () => {
    const started = await user.json<{ profile: string; dataDir: string; account: string; isolation: string }>(
      'local',
      'start',
      '--replay',
      'suite.jsonl',
      '--compute-port',
      '0',
      '--stor-port',
      '0',
    );
    expect(started).toMatchObject({ profile: 'replay', account: 'demo', isolation: 'off' });
    expect(started.dataDir).not.toBe(user.local.dataDir);
    expect((await user.here(['--profile', 'replay', 'stor', 'cat', 'rec/a/x'])).stdout).toBe('Grüße');
    expect(await user.here(['--profile', 'replay', 'stor', 'cat', 'rec/a/y'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the nearest is storage') as string,
    });
    for (const words of [
      ['faults', 'add', 'getobject', '503'],
      ['clock', 'advance', '1h'],
      ['snapshot', 'create', 'x'],
      ['seed'],
      ['fork'],
      ['reset', '-y'],
    ])
      expect([words, await user.here(['local', ...words, '--data', started.dataDir])]).toEqual([
        words,
        expect.objectContaining({ code: 2, stdout: '', stderr: expect.stringContaining('the service replays a recording') as string }),
      ]);
    expect((await user.here(['local', 'clock', '--data', started.dataDir])).code).toBe(0);
    expect((await user.here(['local', 'stop', '--data', started.dataDir])).code).toBe(0);
  });

  it('leaves a file alone that is no recording, and what is no cloud', async () => {
    const other = user.write('precious.txt', 'precious');
    const refused = await user.here(['local', 'record', other, '--', 'true']);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('exists and is not a recording; nothing was changed') as string,
    });
    expect(readFileSync(other, 'utf8')).toBe('precious');
    const none = await user.cloud(['local', 'record', 'none.jsonl', '--', 'cloud', 'stor', 'ls'], {
      env: { CLOUD_STOR_URL: 'https://localhost:1', CLOUD_RETRIES: '0' },
    });
    expect(none.stderr).toMatch(/cannot be reached[^]*got no response from the cloud/u);
    expect(none.code).not.toBe(0);
    expect(readFileSync(join(user.home, 'none.jsonl'), 'utf8').trim().split('\n')).toHaveLength(1);
    const before = readFileSync(join(user.home, 'suite.jsonl'), 'utf8');
    // What killed runs left is removed, and not what another run writes now.
    user.write(`suite.jsonl.${2 ** 30}-0123abcd.partial`, 'x');
    const others = user.write(`suite.jsonl.${process.pid}-0123abcd.partial`, 'x');
    const failed = await user.cloud(['local', 'record', 'suite.jsonl', '--', 'false']);
    expect([failed.code, failed.stderr]).toEqual([
      1,
      'the program failed and nothing was recorded: suite.jsonl keeps the earlier recording\n',
    ]);
    expect(readFileSync(join(user.home, 'suite.jsonl'), 'utf8')).toBe(before);
    expect(existsSync(others)).toBe(true);
    rmSync(others);
    const fixtures = await user.cloud(['local', 'run', '--replay', 'suite.jsonl', '--fixtures', '.', '--', 'true']);
    expect([fixtures.code, fixtures.stderr]).toEqual([2, expect.stringContaining('--fixtures cannot be used with --replay')]);
    expect((await user.here(['local', 'record', 'n.jsonl', '--', 'no-such-program'])).stderr).toContain('no such program');
    expect(readdirSync(user.home).filter((name) => name.includes('partial') || name === 'n.jsonl')).toEqual([]);
  });

  it.each([
    [['--replay', 'precious.txt'], 'is not a recording'],
    [['--replay', 'nothing.jsonl'], 'does not exist'],
    [['--replay', 'suite.jsonl', '--fault', 'getobject=503'], '--fault cannot be used with --replay'],
    [['--replay', 'suite.jsonl', '--add-account', 'x'], '--add-account cannot be used with --replay'],
    [['--replay', 'suite.jsonl', '--job-slots', '2'], '--job-slots cannot be used with --replay'],
    [['--replay', 'suite.jsonl', '--isolation', 'none'], '--isolation cannot be used with --replay'],
    [['--replay', 'suite.jsonl', '--public-key', 'key.pub'], '--public-key cannot be used with --replay'],
  ])('cloud local start %j is refused', async (words, problem) => {
    const before = existsSync(join(user.home, '.local/share/cloud/replays'))
      ? readdirSync(join(user.home, '.local/share/cloud/replays'))
      : [];
    expect(await user.here(['local', 'start', ...words])).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) as string });
    expect(
      existsSync(join(user.home, '.local/share/cloud/replays')) ? readdirSync(join(user.home, '.local/share/cloud/replays')) : [],
    ).toEqual(before);
  });
});
