import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createSandbox, useSandbox } from '../support/sandbox.ts';

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
async function begin(first = ':') {
  const words = [
    'local',
    'run',
    '--',
    'sh',
    '-c',
    `trap "echo ended; exit 9" TERM; echo $$; ${first}; echo begun; while :; do sleep 0.05; done`,
  ];
  const child = spawn(process.execPath, [program, ...words], { env: user.env, cwd: user.home, stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  child.stdout.on('data', (piece: Buffer) => (told += piece.toString()));
  const end = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  while (!told.includes('begun\n')) await once(child.stdout, 'data');
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

  it('goes on when whoever reads the log has gone', async () => {
    const pipe = join(user.home, 'log-pipe');
    execFileSync('mkfifo', [pipe]);
    spawn('head', ['-n', '1', pipe], { stdio: 'ignore' });
    const line = 'for i in 1 2 3; do cloud stor ls -q -o name || exit; done';
    expect(await run('--log', pipe, '--', 'sh', '-c', `CLOUD_RETRIES=0; export CLOUD_RETRIES; ${line}`)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(listLeft()).toEqual([]);
  });

  it('says that there is no such program, and leaves nothing', async () => {
    user.write('plain.txt', 'x');
    user.write('bad', '#!/no/such/interpreter\n');
    chmodSync(join(user.home, 'bad'), 0o755);
    for (const [name, code, message] of [
      ['no-such-program', 127, 'no-such-program: no such program\n'],
      ['./plain.txt', 126, './plain.txt: permission denied\n'],
      ['./bad', 126, './bad: cannot be executed: the interpreter in its first line does not exist\n'],
    ] as const)
      expect(await run('--', name)).toMatchObject({ code, stderr: expect.stringContaining(message) as string });
    expect(await user.here(['local', 'run'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('missing argument COMMAND') as string,
    });
    expect(listLeft()).toEqual([]);
  });

  it('uses and changes nothing of the user: no profile, no unfinished work; status and stop are about its own services', async () => {
    const { sandbox, remove } = createSandbox();
    try {
      sandbox.write('.config/cloud/config.json', '{"profile":"work"}');
      sandbox.write(
        '.config/cloud/profiles/work.json',
        '{"account":"jill","user":"bob","role":"admin","retries":0,"defaultOutput":"json"}',
      );
      const line = [
        'cloud account get --columns login -o tsv -H',
        'cloud local status --columns running,dataDir -o tsv -H',
        'cloud local stop; echo $?',
        'cloud local start --columns profile -o tsv -H -q',
        'echo $CLOUD_LOCAL_DATA',
        'cloud account get | head -n 1',
      ].join('; ');
      const { stdout, stderr } = await sandbox.cloud(['local', 'run', '--', 'sh', '-c', line]);
      const dataDir = stdout.split('\n')[4] ?? '';
      expect(stdout.split('\n').slice(0, 6)).toEqual(['demo', `true\t${dataDir}`, '2', 'local', dataDir, expect.stringMatching(/^FIELD/u)]);
      expect(stderr).toContain('stop when its program ends; they were not stopped');
      expect(readdirSync(join(sandbox.home, '.config/cloud/profiles'))).toEqual(['work.json']);
      expect(existsSync(join(sandbox.home, '.local/state'))).toBe(false);
      sandbox.write('fixtures/a', 'x');
      expect(await sandbox.cloud(['local', 'run', '--fixtures', 'fixtures', '--', 'cloud', 'stor', 'cat', 'a'])).toMatchObject({
        code: 0,
        stdout: 'x',
      });
    } finally {
      remove();
    }
  });

  it('ends the services that were started in it', async () => {
    const words = '--compute-port 0 --stor-port 0 --empty';
    const line = `cloud local fork --columns pid -o tsv -H -q; cloud local start --data own ${words} --columns pid -o tsv -H -q`;
    const { code, stdout, stderr } = await run('--', 'sh', '-c', line);
    const pids = stdout.trim().split('\n').map(Number);
    expect([code, pids.map((pid) => pid > 0), stderr]).toEqual([0, [true, true], '']);
    expect(pids.map(isThere)).toEqual([false, false]);
    expect(listLeft()).toEqual([]);
    const killed = await begin('cloud local fork --columns pid -o tsv -H -q');
    killed.child.kill('SIGKILL');
    await killed.end;
    process.kill(killed.pid, 'SIGKILL');
    while (isThere(killed.pid)) await sleep(10);
    const fork = Number(killed.read().split('\n')[1]);
    expect([isThere(fork), (await run('--', 'true')).code]).toEqual([true, 0]);
    await expect.poll(() => isThere(fork)).toBe(false);
    expect(listLeft()).toEqual([]);
  });

  it('offers further accounts to its program', async () => {
    const line =
      'CLOUD_ACCOUNT=other CLOUD_KEY_ID= CLOUD_KEY_FILE=$CLOUD_LOCAL_DATA/keys/other.pem cloud account get --columns id -o tsv -H; echo $CLOUD_LOCAL_ACCOUNTS';
    const { stdout } = await run('--add-account', 'other', '--', 'sh', '-c', line);
    const [id, accounts] = stdout.split('\n');
    expect(JSON.parse(accounts ?? '')).toEqual([
      {
        account: 'other',
        accountId: id,
        keyId: expect.any(String) as string,
        keyFile: expect.stringContaining('/keys/other.pem') as string,
      },
    ]);
  });

  it('needs no home that can be written', async () => {
    const env = { HOME: '/proc/none', TMPDIR: join(user.home, 'tmp') };
    mkdirSync(env.TMPDIR);
    const { code, stdout } = await user.cloud(['local', 'run', '--', 'cloud', 'account', 'get', '--columns', 'login', '-o', 'tsv', '-H'], {
      env,
    });
    expect([code, stdout, readdirSync(env.TMPDIR)]).toEqual([0, 'demo\n', []]);
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

  it('every signal goes to the program, also after one that it ignores', async () => {
    const { child, end, read } = await begin('trap "echo ignored" INT');
    child.kill('SIGINT');
    await expect.poll(read).toContain('ignored');
    child.kill('SIGTERM');
    expect([await end, listLeft()]).toEqual([[9, null], []]);
    await expect.poll(read).toContain('ended');
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
