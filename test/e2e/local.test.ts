import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { findPorts } from '../support/free-ports.ts';
import { copyTemplate } from '../support/local-template.ts';
import { createRsaKey, writeRsaKeyFile } from '../support/rsa-keys.ts';
import { createSandbox, useLocal, type LocalInfo } from '../support/sandbox.ts';

const user = useLocal();
const start = ['local', 'start', '--compute-port', '0', '--stor-port', '0'];

describe('the running service', () => {
  test('start again: already running, the same place', async () => {
    const again = await user.here(['local', 'start', '-j']);
    expect(JSON.parse(again.stderr)).toEqual({ note: 'Already running' });
    expect((JSON.parse(again.stdout) as LocalInfo).pid).toBe(user.local.pid);
  });

  test('options of a start that is none are not taken silently', async () => {
    const { code, stderr } = await user.here(['local', 'start', '--http']);
    expect([code, stderr]).toEqual([0, 'Already running; options apply only at the start\n']);
  });

  test('what cannot be started leaves no data behind, and ends', async () => {
    for (const [words, message] of [
      [['--data', 'none', '--fault', 'bogus'], 'fault "bogus"'],
      [['--data', '/proc/none'], '/proc/none: no such file or directory'],
      [['--data', ''], '--data: the value is empty'],
    ] as const) {
      const { code, stderr } = await user.here(['local', 'start', ...words]);
      expect([words, code === 0, stderr.includes(message)]).toEqual([words, false, true]);
    }
    expect(existsSync(join(user.home, 'none/cloud.db'))).toBe(false);
  });

  test('a second service cannot open the same data', async () => {
    const { code, stderr } = await user.cloud(['local', 'serve', '--data', user.local.dataDir, '--compute-port', '0', '--stor-port', '0']);
    expect(code).toBe(1);
    expect(stderr).toContain(`in use`);
  });

  test('a service that does not start says what to do, as far as its own error does', async () => {
    const { code, stderr } = await user.here(['local', 'start', '--data', 'keyless', '--public-key', 'no.pub']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/did not start: .*no\.pub: no such file or directory\nhint: ls \S+\n$/u)]);
  });

  test('a port that is taken is named', async () => {
    const port = new URL(user.local.computeUrl).port;
    // With a key, so that the start makes none.
    user.write('other.pub', createRsaKey().line);
    const place = ['--data', 'other', '--profile', 'other', '--public-key', 'other.pub'];
    const { code, stderr } = await user.here(['local', 'start', ...place, '--compute-port', port, '--stor-port', '0']);
    expect(code).toBe(1);
    expect(stderr).toContain(`port ${port} of`);
    expect(stderr).toContain('hint: use free ports: cloud local start --compute-port 0 --stor-port 0\n');
    expect(stderr.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(2);
    expect((await user.here(['profile', 'list', '-o', 'name'])).stdout).toBe('local\n');
  });

  test('status tells where, since when and how much', async () => {
    const status = await user.json<Record<string, unknown>>('local', 'status');
    expect(status).toMatchObject({ running: true, pid: user.local.pid, computeUrl: user.local.computeUrl, dataDir: user.local.dataDir });
    expect(status['size']).toBeGreaterThan(0);
  });

  test('one that does not answer in time is told from one that does not run, and its data is left alone', async () => {
    process.kill(user.local.pid, 'SIGSTOP');
    try {
      const [status, reset] = await Promise.all([user.here(['local', 'status', '-j']), user.here(['local', 'reset', '-y'])]);
      expect(JSON.parse(status.stdout)).toMatchObject({ running: true, answers: false, pid: user.local.pid });
      expect(JSON.parse(status.stderr)).toEqual({
        warning: `process ${user.local.pid} runs but does not respond in time: it is busy or hangs`,
      });
      expect([reset.code, reset.stderr]).toEqual([6, expect.stringContaining(`(process ${user.local.pid}) but does not respond in time`)]);
    } finally {
      process.kill(user.local.pid, 'SIGCONT');
    }
    expect(await user.json('local', 'status')).toMatchObject({ running: true, answers: true });
  });

  test('it listens on this machine only, and its data is for its owner only', () => {
    expect(new URL(user.local.computeUrl).hostname).toBe('localhost');
    const listening = readFileSync(`/proc/${user.local.pid}/net/tcp`, 'utf8');
    const port = Number(new URL(user.local.storUrl).port).toString(16).toUpperCase().padStart(4, '0');
    const addresses = listening.split('\n').filter((line) => line.includes(`:${port} 00000000:0000 0A`));
    expect(addresses.every((line) => line.includes(`0100007F:${port}`))).toBe(true);
    expect(statSync(user.local.dataDir).mode & 0o077).toBe(0);
    expect(statSync(user.local.keyFile).mode & 0o077).toBe(0);
    expect(statSync(join(user.home, '.config/cloud/profiles/local.json')).mode & 0o077).toBe(0);
  });

  test('ping shows both services', async () => {
    const rows = await user.json<{ service: string; skew: number }[]>('ping');
    expect(rows.map(({ service }) => service)).toEqual(['compute', 'storage']);
    expect(rows.every(({ skew }) => Math.abs(skew) <= 2)).toBe(true);
  });
});

describe('accounts that do not trust each other, and limits', () => {
  const { sandbox, remove } = createSandbox();
  const accountWords = ['--add-account', 'other', '--add-account', 'third@home'];
  let accounts: LocalInfo['accounts'] = [];
  afterAll(async () => {
    await sandbox.here(['local', 'stop']);
    remove();
  });

  test('each has a key and a profile of its own, and reads nothing of the others until a role lets it', async () => {
    ({ accounts = [] } = await sandbox.json<LocalInfo>(...start, ...accountWords));
    expect(accounts.map(({ account, profile }) => [account, profile])).toEqual([
      ['other', 'local-other'],
      ['third@home', 'local-third-home'],
    ]);
    expect(accounts.map(({ keyFile }) => statSync(keyFile).mode & 0o077)).toEqual([0, 0]);
    sandbox.write('f', 'of demo');
    await sandbox.here(['stor', 'put', 'f', 'f']);
    const read = (profile: string) => sandbox.here(['--profile', profile, 'stor', 'cat', '/demo/stor/f']);
    expect(await read('local')).toMatchObject({ code: 0, stdout: 'of demo' });
    for (const profile of ['local-other', 'local-third-home']) expect(await read(profile)).toMatchObject({ code: 4, stdout: '' });
    await sandbox.line(
      `cloud policies create read --rule 'CAN getobject *' && cloud roles create readers --policy read --default-member account:other`,
    );
    expect(await read('local-other')).toMatchObject({ code: 0, stdout: 'of demo' });
    expect(await read('local-third-home')).toMatchObject({ code: 4, stdout: '' });
  });

  test('a second start finds them; on the IPv6 loopback it is reached, and its certificate names the address', async () => {
    await sandbox.here(['local', 'stop']);
    const limits = ['--limit', 'user-keys=1,roles=2', '--limit', 'users=3'];
    const again = await sandbox.json<LocalInfo>(...start, ...accountWords, '--host', '::1', ...limits);
    expect(again.accounts).toEqual(accounts);
    expect(again.computeUrl).toMatch(/^https:\/\/\[::1\]:\d+$/);
    expect((await sandbox.here(['ping'])).code).toBe(0);
  });

  test('a limit that the service was started with is named by the refusal and in the log; help lists them all', async () => {
    writeRsaKeyFile(join(sandbox.home, 'k'));
    const { code, stderr } = await sandbox.here(['keys', 'create', 'k.pub']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('an account has at most 1 keys (limit user-keys)')]);
    expect((await sandbox.here(['local', 'logs'])).stdout).toContain('limit user-keys reached');
    expect((await sandbox.here(['help', 'local-service'])).stdout).toContain('user-keys=100');
    expect((await sandbox.here(['local', 'stop'])).stderr, 'on the IPv6 loopback it is stopped').toBe('Stopped\n');
    const wrong = await sandbox.here(['local', 'start', '--limit', 'user-kyes=1']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/unknown limit\n.*did you mean user-keys\?/u)]);
    expect((await sandbox.here(['local', 'start', '--limit', 'user-keys=0'])).code).toBe(2);
  });
});

test('a profile that somebody made for another cloud is not written over', async () => {
  const profile = join(user.home, '.config/cloud/profiles/work.json');
  writeFileSync(profile, '{"url":"https://cloud.example.com","account":"jill"}');
  const { code, stderr } = await user.here(['local', 'start', '--profile', 'work']);
  expect([code, stderr.includes('profile "work" is for https://cloud.example.com')]).toEqual([2, true]);
  expect(readFileSync(profile, 'utf8')).toContain('jill');
});

describe('the life of a service', () => {
  const { sandbox, remove } = createSandbox();
  afterAll(async () => {
    await sandbox.here(['local', 'stop']);
    remove();
  });
  let first: LocalInfo;
  const countRequests = async (): Promise<number> => (await sandbox.here(['images', 'list', '-v'])).stderr.match(/^> GET/gm)?.length ?? 0;

  test('what was stored is there after stop and start; reset deletes it; SIGTERM ends serve with 0', async () => {
    copyTemplate(sandbox.home, start);
    // A later test needs the same port, which no other program is given meanwhile.
    const place = ['--compute-port', String(await findPorts(1)), '--stor-port', '0'];
    first = JSON.parse((await sandbox.cloud(['local', 'start', ...place, '-j'])).stdout) as LocalInfo;
    expect([await countRequests(), await countRequests()], 'the id of the account is asked for once').toEqual([2, 1]);
    sandbox.write('f', 'kept');
    await sandbox.cloud(['stor', 'put', 'f', 'f']);
    expect((await sandbox.cloud(['local', 'stop'])).stderr).toBe('Stopped\n');
    expect(await sandbox.json('local', 'status')).toMatchObject({ running: false });
    const log = join(first.dataDir, 'service.log');
    const before = readFileSync(log, 'utf8');
    truncateSync(log, 64 * 1024 * 1024);
    const second = await sandbox.json<LocalInfo>(...start);
    expect(second.keyId).toBe(first.keyId);
    expect((await sandbox.here(['stor', 'cat', 'f'])).stdout).toBe('kept');
    process.kill(second.pid, 'SIGTERM');
    await expect.poll(() => sandbox.json('local', 'status')).toMatchObject({ running: false });
    // A log that has become long is put aside; what came after it is there too.
    expect(readFileSync(log).length).toBeLessThan(10_000);
    const logs = (await sandbox.cloud(['local', 'logs'])).stdout;
    expect(logs.startsWith(before)).toBe(true);
    expect(logs.trimEnd()).toMatch(/ storage GET \/demo\/stor\/f 200 [^]*Z stopping\b/u);
    expect(await sandbox.cloud(['local', 'reset', '-y'])).toMatchObject({ code: 0 });
    expect((await sandbox.cloud(['local', 'stop'])).stderr).toBe('Not running\n');
  });

  test('the id of the account is asked for anew of another service at the same address', async () => {
    await sandbox.json('local', 'start', '--compute-port', new URL(first.computeUrl).port, '--stor-port', '0');
    expect(await countRequests()).toBe(2);
    expect((await sandbox.here(['stor', 'stat', 'f'])).code, 'reset has deleted what was stored').toBe(3);
  });

  test('one that nobody can reach is known by the lock of its data, and stopped', async () => {
    const { pid } = await sandbox.json<{ pid: number }>('local', 'status');
    const file = join(first.dataDir, 'run.json');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/localhost:\d+/g, 'localhost:1'));
    expect(JSON.parse((await sandbox.here(['local', 'status', '-j'])).stdout)).toMatchObject({ running: true, answers: false, pid });
    expect((await sandbox.here(['local', 'reset', '-y'])).code).toBe(6);
    expect((await sandbox.here(['local', 'stop'])).stderr).toBe('Stopped\n');
    expect(await sandbox.json('local', 'status')).toMatchObject({ running: false });
  });

  test('status does not fail of folders that go while it looks', async () => {
    const { sandbox, remove } = createSandbox();
    const folder = join(sandbox.home, '.local/share/cloud/local');
    const churn = spawn(process.execPath, [
      '-e',
      `const fs = require('fs'); for (;;) { fs.mkdirSync(${JSON.stringify(`${folder}/a/b/c/d`)}, { recursive: true }); fs.rmSync(${JSON.stringify(`${folder}/a`)}, { recursive: true }); }`,
    ]);
    try {
      await expect.poll(() => existsSync(folder)).toBe(true);
      for (let tries = 0; tries < 200; tries += 1) expect(await sandbox.json('local', 'status')).toMatchObject({ running: false });
    } finally {
      churn.kill('SIGKILL');
      await once(churn, 'exit');
      remove();
    }
  });

  test('reset leaves a folder alone that is no data of a service', async () => {
    user.write('precious/file', 'x');
    const { code, stderr } = await user.here(['local', 'reset', '-y', '--data', 'precious']);
    expect(code).toBe(2);
    expect(stderr).toContain('nothing was changed');
  });

  test('a directory with other files is not made the data of a service, and reset does not delete what a service has not made', async () => {
    const { sandbox, remove } = createSandbox();
    try {
      sandbox.write('project/.git/config', 'x');
      sandbox.write('project/keys/own.pem', 'x');
      const ports = ['--compute-port', '0', '--stor-port', '0'];
      for (const words of [['start'], ['serve'], ['start', '--replay', 'r']]) {
        sandbox.write('r', '{"recording":1,"account":"demo"}\n');
        const argv = ['local', ...words, '--data', 'project', ...ports];
        const { code, stderr } = await (words[0] === 'serve' ? sandbox.cloud(argv) : sandbox.here(argv));
        expect([words, code, stderr]).toEqual([
          words,
          2,
          expect.stringContaining('is not the data of a local service; nothing was changed'),
        ]);
      }
      expect((await sandbox.shell('cd project; find . -type f | sort')).stdout).toBe('./.git/config\n./keys/own.pem\n');
      const { pid } = await sandbox.json<LocalInfo>(...start, '--data', 'mixed');
      // What a killed service leaves is its own too.
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => sandbox.json('local', 'status', '--data', 'mixed')).toMatchObject({ running: false });
      expect(readdirSync(join(sandbox.home, 'mixed'))).toContain('running-tasks');
      sandbox.write('mixed/notes.txt', 'x');
      const reset = await sandbox.here(['local', 'reset', '-y', '--data', 'mixed']);
      expect([reset.code, reset.stderr]).toEqual([
        2,
        expect.stringContaining('files that no service made (notes.txt); nothing was changed'),
      ]);
      await sandbox.shell('rm mixed/notes.txt');
      expect((await sandbox.here(['local', 'reset', '-y', '--data', 'mixed'])).code).toBe(0);
      expect(existsSync(join(sandbox.home, 'mixed'))).toBe(false);
    } finally {
      remove();
    }
  });

  test('a key of the user is registered instead of a new one; no samples with --empty until they are put in', async () => {
    const { sandbox, remove } = createSandbox();
    try {
      writeRsaKeyFile(join(sandbox.home, 'key'));
      const words = ['--account', 'jill', '--public-key', 'key.pub', '--empty', '--profile', 'jill'];
      const info = await sandbox.json<LocalInfo>(...start, ...words);
      expect(info).toMatchObject({ account: 'jill', profile: 'jill' });
      expect(await sandbox.json('images', 'list', '--key-file', join(sandbox.home, 'key'))).toEqual([]);
      expect(await sandbox.json('account', 'get', '--key-file', join(sandbox.home, 'key'))).toMatchObject({ login: 'jill' });
      const seeded = await sandbox.json('local', 'seed');
      expect(seeded).toEqual({ images: 11, packages: 10, instances: 8 });
      expect(await sandbox.json<unknown[]>('images', 'list', '--key-file', join(sandbox.home, 'key'))).not.toEqual([]);
      expect(await sandbox.here(['local', 'reset', '-y'])).toMatchObject({ code: 0 });
      expect(await sandbox.json('images', 'list', '--key-file', join(sandbox.home, 'key'))).toEqual([]);
      await sandbox.here(['local', 'stop']);
      const again = await sandbox.here([...start, ...words]);
      const { dataDir } = info;
      expect(again.stderr).toContain(
        `--empty has no effect on the data in ${dataDir}; to delete it and begin without samples: cloud local reset -y\n`,
      );
      await sandbox.here(['local', 'stop']);
      expect(await sandbox.json('local', 'seed')).toEqual({ images: 11, packages: 10, instances: 8 });
      expect(await sandbox.json('local', 'seed')).toEqual({ images: 0, packages: 0, instances: 0 });
    } finally {
      await sandbox.here(['local', 'stop']);
      remove();
    }
  });
});

test('the guided tour does the main job and leaves nothing behind', async () => {
  const { sandbox, remove } = createSandbox();
  try {
    const { code, stdout } = await sandbox.cloud(['local', 'try']);
    expect(code).toBe(0);
    for (const line of [
      '$ cloud images list',
      '$ cloud keys create',
      '$ cloud keys delete',
      '$ cloud stor mkdir',
      '$ cloud stor put',
      '| sha256sum',
    ]) {
      expect(stdout).toContain(line);
    }
    const digests = [...stdout.matchAll(/^([0-9a-f]{64})  /gm)].map(([, digest]) => digest);
    expect(digests).toHaveLength(2);
    expect(digests[0]).toBe(digests[1]);
    // But for compiled code, which serves the next command.
    expect((await sandbox.shell('find . -type f')).stdout).toMatch(/^(\.\/(bin\/cloud|\.cache\/cloud\/code\/\S+)\n)+$/);
  } finally {
    remove();
  }
});
