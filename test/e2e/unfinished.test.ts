import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');
const folder = (): string => join(user.home, 'down');
const list = (): string[] => (existsSync(folder()) ? readdirSync(folder()) : []);

/** Starts a line, interrupts it when a condition of the shell holds, and shows what it said. */
const interruptWhen = (line: string, condition: string) =>
  user.shell(`${line} & pid=$!
    for try in $(seq 600); do { ${condition}; } && break; sleep 0.1; done
    kill -INT $pid; wait $pid; echo "ended $?"`);

describe('what an interruption leaves', () => {
  beforeAll(async () => {
    await user.line('mkdir down; head -c 12M /dev/urandom > large; cloud stor put -q large large');
  });

  test('of a download is named after its file, is counted, and is gone on with', async () => {
    const cut = await interruptWhen(
      'cloud stor get large down/large --bwlimit 4M',
      `[ -n "$(find down -name '.cloud-*.large.part' -size +1100k)" ]`,
    );
    expect(cut.stdout).toBe('ended 130\n');
    expect(cut.stderr).toMatch(
      /: interrupted\nhint: to resume: cloud resume [\da-f]{8}\nhint: [\d.]+ MiB of the unfinished file are kept\n$/,
    );
    const [left = ''] = list();
    const kept = statSync(join(folder(), left)).size;
    expect(kept).toBeGreaterThan(1024 * 1024);
    const whole = await user.here([
      'stor',
      'get',
      'large',
      'down/large',
      '-o',
      'jsonl',
      '--progress',
      'plain',
      '--progress-interval',
      '1ms',
    ]);
    expect(whole.code).toBe(0);
    expect(list()).toEqual(['large']);
    expect((await user.shell('cmp large down/large; echo $?')).stdout).toBe('0\n');
  });

  test('of an earlier version of an object goes when the file is whole; that of other files stays', async () => {
    await user.shell('rm down/*');
    await interruptWhen('cloud stor get large down/large --bwlimit 4M', `[ -n "$(find down -name '*.large.part' -size +1100k)" ]`);
    await interruptWhen('cloud stor get large down/other --bwlimit 4M', `[ -n "$(find down -name '*.other.part' -size +1100k)" ]`);
    expect(list()).toHaveLength(2);
    await user.line('head -c 3M /dev/urandom > large; cloud stor put -q large large');
    expect((await user.here(['stor', 'get', '-q', 'large', 'down/large'])).code).toBe(0);
    expect(list().toSorted()).toEqual([expect.stringMatching(/^\.cloud-.*\.other\.part$/), 'large']);
    await user.here(['stor', 'put', '-q', '-', 'large'], { input: 'small' });
    expect((await user.here(['stor', 'get', '-q', 'large', 'down/other'])).code).toBe(0);
    expect(list().toSorted()).toEqual(['large', 'other']);
  });

  test('of an upload in parts is counted, too', async () => {
    await user.shell('head -c 20M /dev/urandom > parts');
    const noted = `grep -qs '"md5"' .local/state/cloud/*/* .local/state/cloud/*`;
    const cut = await interruptWhen('cloud mpu upload parts parts --part-size 5M --bwlimit 6M -P 1', noted);
    expect(cut.stdout).toBe('ended 130\n');
    expect(cut.stderr).toMatch(/hint: [\d.]+ MiB of the unfinished file are kept: to resume, repeat the command/);
    expect((await user.here(['mpu', 'upload', 'parts', 'parts', '--part-size', '5M'])).code).toBe(0);
    expect((await user.shell('cloud stor get parts - | cmp - parts; echo $?')).stdout).toBe('0\n');
  });
});
