import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { arch } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prove, useAttackedServices, type Attacked } from '../support/attacked-services.ts';

/** Tasks that try to reach other processes, the kernel and the network, and to outlive their job. */

const services = useAttackedServices();

/** System calls by number, for perl: x86-64 and arm64. */
function call(x64: number, arm64: number, ...words: (string | number)[]): string {
  return `syscall(${[arch() === 'arm64' ? arm64 : x64, ...words].join(', ')})`;
}

/** Ids of processes with just this command line; ps is the witness. */
function findProcesses(line: string): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.filter((each) => each.trim().replace(/^\d+\s+/u, '') === line).map((each) => Number.parseInt(each, 10));
}

test('a task reads no environment, directory and memory of a process outside, nor of what started it', () =>
  prove(services, async (service) => {
    const secret = service.write('private', 'seen on the disk');
    const look = [
      'grep -sah "seen in the environment" $p/environ',
      `cat $p/root${secret} $p/cwd/private`,
      '[ "$p" = "/proc/$$" ] || ls -d $p/fd/*/.',
      `[ "$p" != "/proc/$PPID" ] || { exec 5<$p/mem && echo "opens the memory of what started it"; }`,
    ];
    const { stdout } = await service.run(`for p in /proc/[0-9]*; do { ${look.join('; ')}; } 2>/dev/null; done; true`);
    return stdout.trim() !== '';
  }));

test('a task traces neither what started it nor writes results in its name', () =>
  prove(services, async (service) => {
    // The runner says on its standard output how tasks end: this task fails, and says that it did not.
    const forge = 'for fd in /proc/$PPID/fd/*; do [ -p "$fd" ] && { echo "0 0 0"; echo "0 0 0"; } >"$fd"; done';
    // PTRACE_SEIZE, which does not stop what is traced.
    const trace = `perl -e '${call(101, 117, 0x4206, '$ARGV[0]+0', 0, 0)} == 0 and print STDERR "traced\\n"' $PPID`;
    const { stderr } = await service.run(`echo forged; { ${forge}; } 2>/dev/null; ${trace}; sleep 1; exit 3`);
    return !stderr.includes('exited with code 3') || stderr.includes('traced');
  }));

test('a task does not kill what started it', () =>
  prove(services, async (service) => {
    const signals = 'for signal in $(seq 1 64); do [ $signal = 19 ] || kill -$signal $PPID; done 2>/dev/null';
    const { stdout } = await service.run(`${signals}; sleep 0.2; echo alive`);
    return !stdout.includes('alive');
  }));

test('a task reaches no socket: TCP, a path, an abstract name', async () => {
  const heard = new Set<string>();
  const addresses = { path: `/tmp/cloud-${randomUUID()}.sock`, abstract: `\0cloud-${randomUUID()}`, tcp: { port: 0, host: '127.0.0.1' } };
  const servers: Server[] = [];
  for (const address of Object.values(addresses)) {
    const server = createServer((socket) => socket.on('data', (text) => heard.add(text.toString())).on('error', () => undefined));
    const isPath = typeof address === 'string' && address.startsWith('/');
    await new Promise<void>((done) => server.listen(isPath ? { path: address, writableAll: true } : address, done));
    servers.push(server);
  }
  try {
    const address = servers[2]?.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const places = [addresses.path, addresses.abstract, { port, host: '127.0.0.1' }];
    await prove(services, async (service) => {
      const say = places.map((place, index) => ({ place, text: `${service.name} ${index}` }));
      const script = `for (const { place, text } of ${JSON.stringify(say)}) require("net").connect(place).on("error", () => 0).end(text)`;
      service.write('say.js', script);
      await service.cloud('stor', 'put', 'say.js', '/demo/stor/say.js', '-q');
      await service.run('node $MANTA_INPUT_FILE', [], ['/demo/stor/say.js']);
      return say.every(({ text }) => heard.has(text));
    });
    expect([...heard].every((text) => text.startsWith('none '))).toBe(true);
  } finally {
    for (const server of servers) server.close();
  }
});

test('a task gets no rights over the kernel: namespaces, mounts, settings, keys, sockets of other kinds', () =>
  prove(services, async (service) => {
    const keep = 'v=$(cat /proc/sys/kernel/core_pattern) && echo "$v" >/proc/sys/kernel/core_pattern && echo writes settings';
    const tries = [
      'unshare --user --map-root-user true && echo makes user namespaces',
      'unshare --mount true && echo makes mount namespaces',
      keep,
      'mount -t tmpfs none /tmp/home && umount /tmp/home && echo mounts',
      'chroot / true && echo changes its root',
      'prlimit --pid $PPID --nofile=4000 && echo limits what started it',
    ];
    // A request that cannot succeed says ENOSYS or EPERM only when it is not looked at; keyctl(KEYCTL_GET_KEYRING_ID, session).
    const calls = [
      `perl -e '${call(250, 219, 0, -3, 0)} == -1 and $! == 1 or print "looks at keys\\n"'`,
      `perl -e '${call(321, 280, 0, 0, 0)} == -1 and $! == 1 or print "uses bpf\\n"'`,
      `perl -e '${call(425, 425, 0, 0)} == -1 and $! == 38 or print "uses io_uring\\n"'`,
      `perl -e 'socket(my $s, 40, 1, 0) and print "makes vsock sockets\\n"'`,
    ];
    const { stdout } = await service.run(`{ ${[...tries, ...calls].join('; ')}; } 2>/dev/null; true`);
    return stdout !== '';
  }));

test('what a task starts ends with it, in another session and with another environment too', () =>
  prove(services, async (service) => {
    // All services try at the same time: the fraction tells whose process it is.
    const line = `sleep ${process.pid}.${[services.open, ...services.sandboxed].indexOf(service)}7`;
    await service.run(`(env -i setsid ${line} >/dev/null 2>&1 &) ; (setsid setsid env -i ${line} </dev/null &); sleep 0.2`);
    const left = findProcesses(line);
    for (const pid of left) process.kill(pid, 'SIGKILL');
    return left.length > 0;
  }));

test('a task starts a thousand processes at most, and a fork bomb leaves a service that answers', async () => {
  // Bash would wait and try again.
  const many = `perl -e 'my $n = 0; for (1 .. 1200) { my $p = fork; last if !defined $p; if (!$p) { sleep 60; exit } $n++ } print "$n\n"'`;
  const count = async (service: Attacked): Promise<number> => Number((await service.run(many)).stdout);
  expect(await count(services.open)).toBe(1200);
  for (const service of services.sandboxed) {
    const started = await count(service);
    expect([service.name, started > 100 && started <= 1024]).toEqual([service.name, true]);
    const bomb = await service.run('bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1; exit 3');
    expect([service.name, bomb.stderr]).toEqual([service.name, expect.stringMatching(/1 of 1 input failed/u)]);
    expect((await service.run('echo still here')).stdout).toBe('still here\n');
  }
});

test('a task opens 4,096 files at most', async () => {
  const many = `ulimit -n 5000; perl -e 'my @f; for (1 .. 4900) { open(my $f, "<", "/dev/null") or last; push @f, $f } print scalar @f'`;
  expect((await services.open.run(many)).stdout).toBe('4900');
  for (const service of services.sandboxed) {
    const opened = Number((await service.run(`${many} 2>/dev/null`)).stdout);
    expect([service.name, opened > 4000 && opened <= 4096]).toEqual([service.name, true]);
  }
});

// What keeps the memory small is no sandbox but how the service reads. The control is what is stored: more than the bound of memory,
// which a service that held it would go beyond.
test('what a task writes to its standard error is stored without filling the memory of the service', async () => {
  const size = 350_000_000;
  for (const service of services.sandboxed.slice(0, 1)) {
    const { stderr } = await service.run(`head -c ${size} /dev/zero | tr "\\0" "x" >&2; exit 3`);
    expect(stderr).toContain('1 of 1 input failed');
    const found = await service.cloud('stor', 'find', '/demo/jobs', '--type', 'object', '-l', '-j');
    const sizes = (JSON.parse(found.stdout) as { size?: number }[]).map((object) => object.size ?? 0);
    expect(Math.max(...sizes)).toBe(size);
    const [, peak = ''] = /VmHWM:\s+(\d+) kB/u.exec(readFileSync(join('/proc', String(service.pid), 'status'), 'utf8')) ?? [];
    expect(Number(peak) / 1024).toBeLessThan(300);
  }
});
