import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apart, cannotMount } from '../support/mounts.ts';
import { createSandbox, useLocal, type LocalInfo, type Outcome } from '../support/sandbox.ts';
import { openServices, readRecords, type SignedServices } from '../support/signed.ts';
import { listFileNames } from '../support/whole-store.ts';

/**
 * A disk that is full, for the tool and for the service: a file system of 16 MiB in the memory, which the processes concerned have to
 * themselves in namespaces of their own, so that no privileges are needed.
 */

const inNamespace = apart.join(' ');
const cannot = cannotMount();
if (cannot !== undefined) process.stdout.write(`a full disk cannot be made here: ${cannot}\n`);

const program = resolve(import.meta.dirname, '../../bin/cloud');
const mebibyte = 1024 * 1024;

describe.skipIf(cannot !== undefined)('the tool', () => {
  const user = useLocal('--http');

  beforeAll(async () => {
    user.write('large', randomBytes(24 * mebibyte));
    for (let number = 0; number < 6; number += 1) user.write(`tree/f${number}`, randomBytes(5 * mebibyte));
    mkdirSync(join(user.home, 'small'));
    await user.shell('cloud stor put large large && cloud stor put -r tree tree');
  });

  /** Runs lines where `small` is a small disk; with `full` there is no room left on it. */
  function runOnSmall(lines: string, full = false): Promise<Outcome> {
    user.write(
      'script',
      `mount -t tmpfs -o size=16m tmpfs small
${full ? 'head -c 17M /dev/zero > small/filler 2> /dev/null' : ''}
${lines}`,
    );
    return user.shell(`${inNamespace} bash script`);
  }

  test('get: the file and the cause are named, nothing has its name, nothing is left', async () => {
    const { stdout, stderr } = await runOnSmall('cloud stor get large small/out; echo "code $?"; ls -A small');
    expect(stdout).toBe('code 1\n');
    expect(stderr).toMatch(/^cloud stor get large small\/out: .*small\/out: no space left on the disk\n$/u);
  });

  test('get -r: files that cannot even be begun keep no connection from the others', async () => {
    const make =
      'cloud stor mkdir -q many; cloud stor put -q tree/f0 many/00; for n in {10..70}; do cloud stor ln -q many/00 many/$n; done';
    const line = 'mount -t tmpfs -o nr_inodes=3 tmpfs small; mkdir small/back; cloud stor get -r many/ small/back; echo "code $?"';
    user.write('script', line);
    const { stdout, stderr } = await user.shell(`${make}; ${inNamespace} bash script`);
    expect([stdout, stderr]).toEqual(['code 1\n', expect.stringContaining('62 of 62 failed')]);
  });

  test.each([
    ['stor get -r tree small/back', 'small/back'],
    ['stor sync stor:tree small/back', 'small/back'],
  ])('%s: what has its name is whole, the rest is told one by one', async (line, back) => {
    const { stdout, stderr } = await runOnSmall(
      `cloud ${line} > told; echo "code $?"; for file in ${back}/*; do [ -f $file ] && cmp $file tree/\${file##*/} && echo whole; done; ls -A ${back} | grep -c cloud-`,
    );
    expect(stdout).toMatch(/^code [15]\n(whole\n)*0\n$/u);
    const told = stderr.split('\n').filter((words) => words.includes('no space left on the disk'));
    const whole = stdout.split('whole').length - 1;
    expect([told.length, stderr]).toEqual([6 - whole, expect.stringMatching(/small\/back\/f\d: no space left/u)]);
    expect(stderr).toContain(`${told.length} of 6 failed`);
  });

  test.each(['stor get large', 'stor cat large', 'images list', 'images list -j', 'images list -o jsonl', '--help', 'completion bash'])(
    '%s into a file on a full disk fails and says so',
    async (line) => {
      const { code, stderr } = await user.shell(`cloud ${line} > /dev/full`);
      expect([code, stderr.trim().split('\n')]).toEqual([1, [expect.stringContaining('no space left on the disk')]]);
    },
  );

  test('a multipart upload succeeds even if the client cannot record it', async () => {
    const { stdout } = await runOnSmall(
      'XDG_STATE_HOME=$PWD/small cloud mpu upload large parts; echo "code $?"; cloud mpu list -H; cloud stor get parts | cmp - large && echo same',
      true,
    );
    expect(stdout).toBe('code 0\nsame\n');
  });

  test('an upload that was remembered is gone on with, though no more can be', async () => {
    const { stdout } = await runOnSmall(`
export XDG_STATE_HOME=$PWD/small
cloud mpu upload large parts --part-size 5M --bwlimit 5M & sleep 2.5; kill -9 $!
cloud mpu list -H | wc -l
head -c 17M /dev/zero > small/filler
cloud mpu upload large parts --part-size 5M -q; echo "code $?"; cloud mpu list -H | wc -l
cloud stor get parts | cmp - large && echo same`);
    expect(stdout).toBe('1\ncode 0\n0\nsame\n');
  });

  test('a profile that cannot be written is as it was', async () => {
    const { stdout, stderr } = await runOnSmall(
      `
export XDG_CONFIG_HOME=$PWD/small
cloud profile create old --url https://localhost:1 --account demo --key-id ${user.local.keyId} --no-test -q > told
cp small/cloud/profiles/old.json before
head -c 17M /dev/zero > small/filler
cloud profile edit old --url https://localhost:2; echo "code $?"
cmp before small/cloud/profiles/old.json && echo same; ls -A small/cloud/profiles`,
    );
    expect(stdout).toBe('code 1\nsame\nold.json\n');
    expect(stderr).toContain('small/cloud/profiles/old.json: no space left on the disk');
  });

  test('a service that cannot start says why', async () => {
    const { stdout, stderr } = await runOnSmall(
      'cloud local start --data small/data --compute-port 0 --stor-port 0 --profile small; echo "code $?"',
      true,
    );
    expect(stdout).toBe('code 1\n');
    expect(stderr).toContain('no space left on the disk');
  });

  test('snapshots of data at rest are neither made nor restored, and the data stays', async () => {
    const { stdout, stderr } = await runOnSmall(`
cloud local start --data small/data --http --compute-port 0 --stor-port 0 --profile small -q > told; cloud local stop --data small/data -q
cloud local snapshot create there --data small/data -q > told
head -c 17M /dev/zero > small/filler
for verb in create restore; do cloud local snapshot $verb there$([ $verb = create ] && echo 2) --data small/data; echo "code $?"; done
ls -A small/data/snapshots; rm small/filler
cloud local snapshot restore there --data small/data; echo "code $?"`);
    expect(stdout).toBe('code 1\ncode 1\nthere\ncode 0\n');
    expect(stderr.match(/small\/data: no space left on the disk\nhint: free some space/gu)).toHaveLength(2);
  });
});

describe.skipIf(cannot !== undefined)('the service', () => {
  const { sandbox, remove } = createSandbox();
  let local: LocalInfo;
  let services: SignedServices;
  const start = 'cloud local start --data small/data --http --compute-port 0 --stor-port 0 -j -q';

  /** The small disk as it is seen from here. */
  const seen = (path: string): string => join(`/proc/${local.pid}/root`, sandbox.home, 'small', path);

  beforeAll(async () => {
    mkdirSync(join(sandbox.home, 'small'));
    // What holds the file system while the service is restarted.
    const line = `mount -t tmpfs -o size=16m tmpfs small && ${start}`;
    const { stdout } = await sandbox.shell(`${inNamespace} bash -c '${line}'`);
    local = JSON.parse(stdout) as LocalInfo;
    services = await openServices({ ...local, keyFile: seen('data/keys/demo.pem') }, 8);
  });
  afterAll(async () => {
    await services.close();
    process.kill(local.pid, 'SIGTERM');
    while (existsSync(`/proc/${local.pid}/root/`)) await new Promise((resolve) => setTimeout(resolve, 20));
    remove();
  });

  function fill(): void {
    try {
      writeFileSync(seen('filler'), Buffer.alloc(32 * mebibyte));
    } catch {
      // Until nothing more goes in.
    }
  }

  const stor = (method: string, path: string, sent = {}) => services.send('storage', method, `/demo/stor/${path}`, sent);
  const directory = { headers: { 'content-type': 'application/json; type=directory' } };
  const code = ({ bytes }: { bytes: Buffer }): string => (bytes.length > 0 ? (JSON.parse(bytes.toString()) as { code: string }).code : '');

  test('writes are refused with 507, reads are answered, and nothing half stays; with room again all goes on', async () => {
    const content = randomBytes(100_000);
    expect((await stor('PUT', 'before', { body: content })).status).toBe(204);
    const files = listFileNames(seen('data/bytes'));
    fill();
    const large = await stor('PUT', 'large', { body: randomBytes(4 * mebibyte) });
    expect([large.status, code(large)]).toEqual([507, 'NotEnoughSpace']);
    // What needs no more than the database has set aside may succeed; what is answered is what holds.
    const made = new Map<string, number>();
    for (let number = 0; number < 40; number += 1) {
      made.set(`small${number}`, (await stor('PUT', `small${number}`, { body: randomBytes(5000) })).status);
      made.set(`directory${number}`, (await stor('PUT', `directory${number}`, directory)).status);
      const name = `policy${number}`;
      const json = { name, rules: ['CAN getobject'], description: 'x'.repeat(5000) };
      made.set(name, (await services.send('compute', 'POST', '/my/policies', { json })).status);
    }
    expect([...new Set(made.values())].filter((status) => ![201, 204, 507].includes(status))).toEqual([]);
    expect([...made.values()].filter((status) => status === 507).length).toBeGreaterThan(40);
    expect((await stor('PUT', 'before', { body: randomBytes(4 * mebibyte) })).status).toBe(507);

    const checkReads = async (): Promise<void> => {
      expect((await stor('GET', 'before')).bytes.equals(content)).toBe(true);
      const names = readRecords<{ name: string }>(await stor('GET', '')).map(({ name }) => name);
      const policies = JSON.parse((await services.send('compute', 'GET', '/my/policies')).bytes.toString()) as { name: string }[];
      const there = new Set([...names, ...policies.map(({ name }) => name)]);
      for (const [name, status] of made) expect([name, there.has(name)]).toEqual([name, status < 300]);
    };
    await checkReads();
    expect(listFileNames(seen('data/tmp'))).toEqual([]);
    const kept = [...made].filter(([name, status]) => name.startsWith('small') && status === 204).length;
    expect(listFileNames(seen('data/bytes'))).toHaveLength(files.length + kept);

    rmSync(seen('filler'));
    expect((await stor('PUT', 'after', { body: content })).status).toBe(204);
    expect((await stor('PUT', 'directory', directory)).status).toBe(204);
    await checkReads();
    expect(readFileSync(seen('data/service.log'), 'utf8')).not.toContain('internal error');
  });

  test('on a disk that objects have filled, all of them can be deleted', async () => {
    const stored: string[] = [];
    for (const size of [300_000, 5000]) {
      for (let number = 0; ; number += 1) {
        const name = `filling${size}-${number}`;
        const { status } = await stor('PUT', name, { body: randomBytes(size) });
        if (status !== 204) break;
        stored.push(name);
      }
    }
    expect(stored.length).toBeGreaterThan(5);
    for (const name of stored) expect([name, (await stor('DELETE', name)).status]).toEqual([name, 204]);
  });

  test('a job whose outcomes could not be stored for a long time ends when there is room again', { timeout: 60_000 }, async () => {
    expect((await stor('PUT', 'input')).status).toBe(204);
    const json = { phases: [{ exec: 'sleep 0.05' }] };
    const { headers } = await services.send('storage', 'POST', '/demo/jobs', { json });
    const job = `${String(headers['location'])}/live`;
    const readJob = async (): Promise<{ state: string; stats: Record<string, number> }> =>
      JSON.parse((await services.send('storage', 'GET', `${job}/status`)).bytes.toString()) as never;
    expect(
      (await services.send('storage', 'POST', `${job}/in?end=true`, { body: Buffer.from('/demo/stor/input\n'.repeat(200)) })).status,
    ).toBe(204);
    await expect.poll(async () => (await readJob()).stats['tasksDone']).toBeGreaterThan(0);
    fill();
    const { stats } = await readJob();
    await new Promise((resolve) => setTimeout(resolve, 7000));
    expect(stats['tasksDone']).toBeLessThan(200);
    expect((await readJob()).stats).toEqual(stats);
    rmSync(seen('filler'));
    await expect.poll(async () => (await readJob()).state).toBe('done');
    expect((await readJob()).stats).toMatchObject({ tasks: 200, tasksDone: 200 });
  });

  test('jobs run says once why a job does not go on while there is no room, and ends well when there is', async () => {
    expect((await stor('PUT', 'words', { body: Buffer.from('some words') })).status).toBe(204);
    const words = ['jobs', 'run', '--map', 'sleep 2', '/demo/stor/words', '--key-file', seen('data/keys/demo.pem')];
    const child = spawn(process.execPath, [program, ...words], { env: sandbox.env, cwd: sandbox.home });
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (piece: Buffer) => (said.stdout += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (said.stderr += piece.toString()));
    const ended = new Promise<number | null>((done) => child.on('close', done));
    await expect.poll(() => said.stderr).toContain('Created job');
    const [, id] = /Created job (\S+)/.exec(said.stderr) ?? [];
    const readStatus = async () => (await services.send('storage', 'GET', `/demo/jobs/${id}/live/status`)).bytes.toString();
    await expect.poll(readStatus).toContain('"inputDone":true');
    fill();
    await expect.poll(() => said.stderr).toContain('no space left on the disk; the service retries');
    rmSync(seen('filler'));
    expect([await ended, said.stderr.split('no space left on the disk').length], said.stderr).toEqual([0, 2]);
  });
});
