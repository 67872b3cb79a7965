import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { useSandbox } from '../support/sandbox.ts';

/** A program runs with services of its own, of which nothing is left. */

const user = useSandbox();
const program = resolve(import.meta.dirname, '../../bin/cloud');
const run = (...words: string[]) => user.cloud(['local', 'run', ...words]);
const runs = join(user.home, '.local/share/cloud/runs');
const listLeft = (): string[] => (existsSync(runs) ? readdirSync(runs) : []);

function isThere(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

/** A run whose program has begun, with the process of that program. */
async function begin() {
  const words = ['local', 'run', '--', 'sh', '-c', 'trap "echo ended; exit 9" TERM; echo $$; while :; do sleep 0.05; done'];
  const child = spawn(process.execPath, [program, ...words], { env: user.env, cwd: user.home, stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  child.stdout.on('data', (piece: Buffer) => (told += piece.toString()));
  const end = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  while (!told.includes('\n')) await once(child.stdout, 'data');
  return { child, end, pid: Number(told.split('\n')[0]), read: () => told };
}

describe('cloud local run', () => {
  it('starts fresh services each time, which other programs trust, ends with the exit code of the program, and leaves nothing', async () => {
    const first = await run('--', 'sh', '-c', 'cloud stor put -q - ~~/stor/x < /dev/null && cloud stor ls -q -o name; exit 7');
    expect([first.code, first.stdout, first.stderr]).toEqual([7, expect.stringMatching(/^x$/mu), '']);
    expect(listLeft()).toEqual([]);
    // Other programs trust the services beside the authorities of the system.
    const curl = 'curl -sS -o /dev/null -w "%{http_code}" "$CLOUD_STOR_URL/--ping"';
    const second = await run('--', 'sh', '-c', `cloud stor stat x -q; ${curl}; exit 6`);
    expect([second.code, second.stdout], 'curl trusts the services').toEqual([6, '403']);
    expect(second.stderr, 'what the first run stored is not there').toContain('does not exist');
    expect(listLeft()).toEqual([]);
    expect(existsSync(join(user.home, '.config'))).toBe(false);
  });

  it('takes what a first start takes: accounts, no samples, failures, a log', async () => {
    const line = 'cloud account get --columns login -o tsv -H; cloud images list -o name; cloud stor mkdir x';
    const words = ['--account', 'jill', '--empty', '--fault', 'putdirectory=InternalError*9', '--log', 'log'];
    const { code, stdout } = await run(...words, '--', 'sh', '-c', `CLOUD_RETRIES=0; export CLOUD_RETRIES; ${line}`);
    expect([code, stdout]).toEqual([1, 'jill\n']);
    expect(readFileSync(join(user.home, 'log'), 'utf8')).toMatch(/storage PUT \/jill\/stor\/x 500 /);
    expect(listLeft()).toEqual([]);
  });

  it('says that there is no such program, and leaves nothing', async () => {
    expect(await run('--', 'no-such-program')).toMatchObject({ code: 2, stderr: expect.stringContaining('no such program') as string });
    expect(await user.here(['local', 'run'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('missing argument COMMAND') as string,
    });
    expect(listLeft()).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('%s goes to the program, which ends it', async (signal) => {
    const { child, end, pid, read } = await begin();
    child.kill(signal);
    const [code, by] = await end;
    expect(isThere(pid)).toBe(false);
    if (!child.stdout.closed) await once(child.stdout, 'close');
    if (signal === 'SIGTERM') expect([code, by, read()]).toEqual([9, null, expect.stringContaining('ended')]);
    else expect([code, by]).toEqual([null, 'SIGINT']);
    expect(listLeft()).toEqual([]);
  });

  it('tells that the program was killed; what a killed run leaves is removed by the next one', async () => {
    const first = await begin();
    process.kill(first.pid, 'SIGKILL');
    expect(await first.end).toEqual([137, null]);
    expect(listLeft()).toEqual([]);
    const second = await begin();
    second.child.kill('SIGKILL');
    await second.end;
    process.kill(second.pid, 'SIGKILL');
    while (isThere(second.pid)) await sleep(10);
    expect(listLeft()).toHaveLength(1);
    expect((await run('--', 'true')).code).toBe(0);
    expect(listLeft()).toEqual([]);
  });
});
