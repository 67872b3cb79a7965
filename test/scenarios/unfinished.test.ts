import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { useShared } from '../support/shared-service.ts';

const user = useShared('--http');
const folder = (): string => join(user.home, 'down');
const list = (): string[] => (existsSync(folder()) ? readdirSync(folder()) : []);

/** Starts a command, interrupts it when a condition holds, and returns what it said. */
async function interruptWhen(line: string, condition: () => boolean): Promise<string> {
  const child = spawn(join(user.home, 'bin/cloud'), line.split(' '), {
    cwd: user.home,
    env: user.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  const closed = once(child, 'close');
  await expect.poll(condition).toBe(true);
  child.kill('SIGINT');
  await closed;
  expect([child.exitCode, child.signalCode]).toEqual([null, 'SIGINT']);
  return said;
}

/** True when more than 1 MiB of a download is there. */
const hasBegun = (name: string) => () =>
  list().some((each) => each.startsWith('.cloud-') && each.endsWith(`.${name}.part`) && statSync(join(folder(), each)).size > 1100 * 1024);

/** True when a part of an upload is noted. */
function isNoted(): boolean {
  const state = join(user.home, '.local/state/cloud');
  if (!existsSync(state)) return false;
  const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.some(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8').includes('"md5"'));
}

const isSame = (...names: [string, string]): boolean => {
  const [one, other] = names.map((name) => readFileSync(join(user.home, name)));
  return one?.equals(other ?? Buffer.of()) === true;
};

describe('what an interruption leaves', () => {
  beforeAll(async () => {
    await user.line('mkdir down; head -c 8M /dev/urandom > large; cloud stor put -q large large');
  });

  test('of a download is named after its file, is counted, and is gone on with', async () => {
    const said = await interruptWhen('stor get large down/large --bwlimit 4M', hasBegun('large'));
    expect(said).toMatch(/: interrupted\nhint: to resume: cloud resume [\da-f]{8}\nhint: [\d.]+ MiB of the unfinished file are kept\n$/);
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
    expect(isSame('large', 'down/large')).toBe(true);
  });

  test('of an earlier version of an object goes when the file is whole; that of other files stays', async () => {
    await user.line('rm down/*');
    for (const name of ['large', 'other']) await interruptWhen(`stor get large down/${name} --bwlimit 4M`, hasBegun(name));
    expect(list()).toHaveLength(2);
    await user.line('head -c 3M /dev/urandom > large; cloud stor put -q large large');
    expect((await user.here(['stor', 'get', '-q', 'large', 'down/large'])).code).toBe(0);
    expect(list().toSorted()).toEqual([expect.stringMatching(/^\.cloud-.*\.other\.part$/), 'large']);
    await user.here(['stor', 'put', '-q', '-', 'large'], { input: 'small' });
    expect((await user.here(['stor', 'get', '-q', 'large', 'down/other'])).code).toBe(0);
    expect(list().toSorted()).toEqual(['large', 'other']);
  });

  test('of an upload in parts is counted, too', async () => {
    await user.line('head -c 15M /dev/urandom > parts');
    const said = await interruptWhen('mpu upload parts parts --part-size 5M --bwlimit 6M -P 1', isNoted);
    expect(said).toMatch(/hint: to resume: cloud resume [\da-f]{8}\nhint: [\d.]+ MiB of the unfinished file are kept/);
    expect((await user.here(['mpu', 'upload', 'parts', 'parts', '--part-size', '5M'])).code).toBe(0);
    expect((await user.here(['stor', 'get', '-q', 'parts', 'back'])).code).toBe(0);
    expect(isSame('back', 'parts')).toBe(true);
    expect(await user.json('mpu', 'list')).toEqual([]);
  });

  test('of an upload in parts is listed, and is resumed or dropped with its parts', async () => {
    await user.line('head -c 15M /dev/urandom > parts; cloud stor mkdir -p into; cloud resume --drop --all');
    const upload = 'mpu upload parts into/ --part-size 5M --bwlimit 6M -P 1';
    const isInParts = async (): Promise<boolean> => (await user.json<object[]>('mpu', 'list')).length > 0;
    const [, id = ''] = /cloud resume ([\da-f]{8})/.exec(await interruptWhen(upload, isNoted)) ?? [];
    const target = '/demo/stor/into/parts';
    expect(await user.json('resume')).toMatchObject([{ id, kind: 'upload', command: 'mpu upload', state: 'interrupted', target }]);
    expect(await isInParts()).toBe(true);
    expect((await user.here(['resume', id])).code).toBe(0);
    expect((await user.here(['stor', 'get', '-q', 'into/parts', 'back'])).code).toBe(0);
    expect([isSame('back', 'parts'), await isInParts(), await user.json('resume')]).toEqual([true, false, []]);
    await user.line('head -c 15M /dev/urandom > parts');
    const [, other = ''] = /cloud resume ([\da-f]{8})/.exec(await interruptWhen(upload, isNoted)) ?? [];
    expect(await isInParts()).toBe(true);
    expect((await user.here(['resume', '--drop', other])).code).toBe(0);
    expect([await isInParts(), await user.json('resume')]).toEqual([false, []]);
  });

  test('goes when the resumed run leaves alone what others wrote meanwhile, or its source is gone', async () => {
    for (const name of ['parts', 'large', 'gone']) user.write(name, randomBytes(12 * 1024 * 1024));
    await user.line('cloud stor mkdir -p old; cloud stor put -q large gone old; cloud resume --drop --all');
    await interruptWhen('mpu upload parts old/parts --part-size 5M --bwlimit 6M -P 1', isNoted);
    for (const name of ['large', 'gone']) await interruptWhen(`stor get old/${name} down/${name} --bwlimit 2M`, hasBegun(name));
    user.write('down/large', 'of others');
    await user.line('cloud stor put -q down/large old/parts; cloud stor rm -y old/gone');
    const { code, stderr } = await user.here(['resume', '--all']);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(`${join(folder(), 'large')} was created or changed meanwhile: left alone`);
    expect(stderr).toContain('/demo/stor/old/parts was created or changed after the interrupted run began: left alone');
    expect([readFileSync(join(folder(), 'large'), 'utf8'), list().filter((name) => name.endsWith('.part'))]).toEqual(['of others', []]);
    expect([await user.json('mpu', 'list'), await user.json('resume')]).toEqual([[], []]);
  });
});
