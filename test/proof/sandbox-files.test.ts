import { randomUUID } from 'node:crypto';
import { chmodSync, chownSync, copyFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holds, prove, useAttackedServices, type Attacked } from '../support/attacked-services.ts';

/** Tasks that try to reach files outside of their sandbox, by themselves and by way of the service. */

const services = useAttackedServices();

/** Puts a link in the place of a directory of the zone, so that the service works in `target` when it follows that. */
function redirect(folder: string, target: string): string {
  return `root=\${TMPDIR%/*}; mv $root/${folder} $root/moved; ln -s ${target} $root/${folder}; true`;
}

test('a task deletes nothing outside, neither by itself nor by way of the cleaning of its directory', () =>
  prove(services, async (service) => {
    const file = service.write('victim/0/file', 'precious');
    await service.run(`rm -rf ${service.home}/victim/0; ${redirect('work', join(service.home, 'victim'))}`);
    return !existsSync(file);
  }));

test.each<[string, (secret: string) => string]>([
  ['a directory in the place of its own', (secret: string) => redirect('work', join(secret, '../..'))],
  ['a link named core', (secret: string) => `ln -s ${secret} core`],
  ['a hard link named core', (secret: string) => `ln ${secret} core`],
  ['a directory that is a link', (secret: string) => `cd ..; rmdir "$OLDPWD"; ln -s ${join(secret, '..')} "$OLDPWD"`],
])('a task reads nothing outside by way of what the service stores: %s', (_, plant) =>
  prove(services, async (service) => {
    const words = randomUUID();
    const secret = service.write('secret/0/core', `${words}\n`.repeat(100));
    await service.run(`cat ${secret} >&2; ${plant(secret)}; exit 3`);
    return holds(join(service.dataDir, 'bytes'), words);
  }),
);

test('nor by way of the home of the init command', () =>
  prove(services, async (service) => {
    const words = randomUUID();
    const secret = service.write('home-secret/core', `${words}\n`.repeat(100));
    await service.run('cat', ['--init', `cat ${secret} >&2; ${redirect('home', join(secret, '..'))}; exit 3`]);
    return holds(join(service.dataDir, 'bytes'), words);
  }));

test('nor by a core file that the next task replaces while the service reads it', () =>
  prove(services, async (service) => {
    const words = randomUUID();
    const secret = service.write('large-secret', words.repeat(4000));
    const replace = `for i in 1 2 3 4 5 6 7 8 9; do for core in ../*/core; do ln -sf ${secret} "$core"; done; done`;
    await service.run(`cat ${secret} >&2; ${replace}; head -c 200000 /dev/zero > core; exit 3`, [], Array(8).fill('/demo/stor/input'));
    return holds(join(service.dataDir, 'bytes'), words);
  }));

test('a task sees no file of the machine but programs and what they need', () =>
  prove(services, async (service) => {
    const secret = service.write('private', 'x');
    const places = [
      secret,
      service.dataDir,
      service.home,
      '/home',
      '/root',
      '/etc/shadow',
      '/etc/ssh',
      '/mnt',
      '/srv',
      '/sys/kernel',
      '/boot',
      '/var/lib',
    ];
    const { stdout } = await service.run(
      `for path in ${places.join(' ')}; do [ ! -e "$path" ] || echo "sees $path"; done; ls -A / | tr '\\n' ' '`,
    );
    const [names = '', ...seen] = stdout.trim().split('\n').toReversed();
    const others = names
      .trim()
      .split(' ')
      .filter((name) => !/^(?:\.runner|assets|bin|dev|etc|lib\w*|opt|proc|run|s?bin|tmp|usr|var)$/u.test(name));
    return seen.length > 0 || others.length > 0;
  }));

test('a task writes nowhere but in its own places', () =>
  prove(services, async (service) => {
    const name = `cloud-planted-${randomUUID()}`;
    const places = [
      '/dev/shm',
      '/mnt',
      '/run',
      '/run/lock',
      '/var/tmp',
      '/var/lock',
      '/usr',
      '/etc',
      '/',
      '/dev',
      '/proc/sys/kernel',
      service.home,
      '/tmp',
    ];
    await service.run(`for place in ${places.join(' ')}; do { : > $place/${name}; } 2>/dev/null; done; true`);
    const planted = places.map((place) => join(place, name)).filter((path) => existsSync(path));
    for (const path of planted) rmSync(path, { force: true });
    return planted.length > 0;
  }));

test('a task changes no object, by its input or by the files of the service', () =>
  prove(services, async (service) => {
    const tries = [
      'chmod u+w "$MANTA_INPUT_FILE"',
      'ln "$MANTA_INPUT_FILE" mine && chmod u+w mine && echo changed > mine',
      'echo changed > "$MANTA_INPUT_FILE"',
      'echo changed > /proc/self/fd/0',
      'mv "$MANTA_INPUT_FILE" x',
      `find ${service.dataDir}/bytes -type f | while read -r file; do echo changed > "$file"; done`,
    ];
    await service.run(`{ ${tries.join('; ')}; } 2>/dev/null; true`);
    const { stdout } = await service.cloud('stor', 'cat', '/demo/stor/input', '--retries', '0');
    if (stdout.startsWith('input')) return false;
    await service.cloud('stor', 'put', 'input', '/demo/stor/input', '-q');
    return true;
  }));

// Not the sandbox but the runner clears what tasks leave, without a sandbox too. The control is the task's own last look, which finds it.
test('what a task leaves, whatever its name and mode, is gone for the next one, and names with line ends are names', async () => {
  const leave = `mkdir -p $'new\\nline/deep' $'0 0 0\\n1 0 0' -- -rf; touch $'core\\n.1' ' ' '*' .hidden; ln -s / root; mkfifo pipe; chmod 0 -- -rf new*`;
  const command = `cat; ls -A | wc -l; ${leave}; find . -mindepth 1 -maxdepth 1 -printf x | wc -c`;
  const check = async (service: Attacked): Promise<void> => {
    // A name with a line end cannot be an input, which is a line: other names that might be taken for a line of the runner.
    const name = '/demo/stor/0 0 0 0 0 0 \\n1';
    service.write('odd', 'odd\n');
    const put = await service.cloud('stor', 'put', 'odd', name, '-q');
    expect([service.name, put.stderr]).toEqual([service.name, '']);
    const inputs = Array<string>(4).fill(name);
    const { stdout, stderr } = await service.run(command, [], inputs);
    expect([service.name, stdout, stderr]).toEqual([service.name, 'odd\n0\n9\n'.repeat(4), expect.stringContaining('4 outputs, 0 errors')]);
  };
  await Promise.all([services.open, ...services.sandboxed].map(check));
});

test('a program with a setuid bit among the assets gives no rights, whoever owns it', async () => {
  // Only root can make the file. As another user what remains is that no task can gain privileges, which the trial of each sandbox
  // asserts and the next test shows.
  if (userInfo().uid !== 0) return;
  await prove(services, async (service) => {
    copyFileSync('/usr/bin/id', service.write('id', ''));
    await service.cloud('stor', 'put', 'id', '/demo/stor/id', '-q');
    const use = 'touch $TMPDIR/ready; while [ ! -e $TMPDIR/go ]; do sleep 0.02; done; $CLOUD_ASSETS/demo/stor/id';
    const running = service.run(use, ['--asset', '/demo/stor/id']);
    const zones = join(service.dataDir, 'zones');
    const findReady = (): string | undefined => readdirSync(zones).find((zone) => existsSync(join(zones, zone, 'root/tmp/ready')));
    await expect.poll(findReady).toBeDefined();
    const root = join(zones, findReady() ?? '', 'root');
    const program = join(root, 'assets/demo/stor/id');
    // Tasks without a sandbox are root here: they become nobody, the others would become root.
    chownSync(program, service.isolation === 'none' ? 65534 : 0, -1);
    chmodSync(program, 0o4755);
    writeFileSync(join(root, 'tmp/go'), '');
    const { stdout } = await running;
    expect([service.name, stdout]).toEqual([service.name, expect.stringContaining('uid=')]);
    return stdout.includes('euid=');
  });
});

test('no program of the machine gives a task privileges, and no mount that it can write to has setuid bits', () =>
  prove(services, async (service) => {
    const look = [
      'grep -c "NoNewPrivs:.1" /proc/self/status',
      "awk '$4 ~ /rw/ && $4 !~ /nosuid/' /proc/self/mounts | wc -l",
      'grep -c "CapBnd:.0*$" /proc/self/status',
    ];
    const { stdout } = await service.run(`${look.join('; ')}; true`);
    return stdout !== '1\n0\n1\n';
  }));
