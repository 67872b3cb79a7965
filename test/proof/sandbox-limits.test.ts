import { arch } from 'node:os';
import { expect, test } from 'vitest';
import { useAttackedServices, type Attacked } from '../support/attacked-services.ts';

/** Tasks that use more memory and disk than their phase allows. Each does so once without a limit, where it ends well. */

const services = useAttackedServices();

async function expectLimit(service: Attacked, command: string, options: readonly string[], message: string): Promise<void> {
  const { stderr } = await service.run(command, options);
  expect([service.name, command, stderr]).toEqual([service.name, command, expect.stringContaining(`${message} (UserTaskError)`)]);
}

/** Node.js with this much memory in use, MiB. */
function use(size: number, then = ''): string {
  return `node -e 'const b = Buffer.alloc(${size} * 1048576, 1); ${then}'`;
}

const memoryAttacks = [
  ['one process', use(600)],
  ['three together', `for i in 1 2 3; do ${use(250, 'setTimeout(() => 0, 3000)')} & done; wait; echo whole`],
  ['in another session', `setsid --wait ${use(600)}`],
] as const;

test.each(memoryAttacks)('memory of a zone is limited: %s', async (_, command) => {
  const free = await services.open.run(command);
  expect(free.stderr).toContain('1 output, 0 errors');
  await Promise.all(
    services.sandboxed.map((service) => expectLimit(service, command, ['--memory', '512'], 'memory limit of 512 MB reached')),
  );
});

test('a program that reserves much and uses little is not ended: node with 512 and with 128 MB', async () => {
  for (const service of services.sandboxed) {
    for (const memory of ['512', '128']) expect((await service.run('node -p 1+1', ['--memory', memory])).stdout).toBe('2\n');
  }
});

// Where the memory of a zone is sampled, programs do not get such memory and use their own, as on a kernel without it.
const hiddenMemory = [
  [
    'a file in memory, which no process maps',
    `perl -e 'my $n = "x"; if (syscall(${arch() === 'arm64' ? 279 : 319}, $n, 0) == 3) { open my $f, ">&=", 3; my $m = "x" x 1048576; syswrite $f, $m for 1 .. 600 } else { our $m = "x" x 629145600 } sleep 3'`,
  ],
  [
    'files in memory, sent to a socket and not received',
    `python3 -c '
import os, socket, time
a, b = socket.socketpair()
try:
  for i in range(6):
    f = os.memfd_create("x"); socket.send_fds(a, [b"x"], [f])
    for j in range(100): os.write(f, b"x" * 1048576)
    os.close(f)
except OSError: own = b"x" * 629145600
time.sleep(3)'`,
  ],
  [
    'System V segments, which nobody has attached',
    `perl -e 'my @s; for (1 .. 6) { my $s = shmget(0, 104857600, 0600); if (!defined $s) { our $m = "x" x 629145600; last } push @s, $s; shmwrite($s, "x" x 1048576, $_ * 1048576, 1048576) for 0 .. 99 } sleep 3; shmctl($_, 0, 0) for @s'`,
  ],
] as const;

test.each(hiddenMemory)('memory of a zone is limited: %s', async (_, command) => {
  expect((await services.open.run(command)).stderr).toContain('1 output, 0 errors');
  await Promise.all(
    services.sandboxed.map((service) => expectLimit(service, command, ['--memory', '512'], 'memory limit of 512 MB reached')),
  );
});

const diskAttacks = [
  ['three files of 400 MB', 'for i in 1 2 3; do fallocate -l 400M file$i || exit 1; done'],
  ['one file', 'head -c 1100000000 /dev/zero > file'],
  ['in its home and in /tmp', 'fallocate -l 700M ~/file; fallocate -l 700M $TMPDIR/file'],
  ['files that it has deleted', 'exec 5>a 6>b; rm a b; fallocate -l 700M /proc/self/fd/5; fallocate -l 700M /proc/self/fd/6; sleep 2'],
  ['in a directory that it made unreadable', 'mkdir d; for i in 1 2; do fallocate -l 700M d/file$i; done; chmod 0 d'],
  ['a file of nothing but holes, which would be copied whole', 'truncate -s 50G /proc/self/fd/1'],
  ['in its output', 'fallocate -l 700M file; fallocate -l 700M /proc/self/fd/1'],
] as const;

test.each(diskAttacks)('disk of a zone is limited: %s', async (_, command) => {
  const free = await services.open.run(`(${command}) >$TMPDIR/out`);
  expect(free.stderr).toContain('1 output, 0 errors');
  await Promise.all(services.sandboxed.map((service) => expectLimit(service, command, ['--disk', '1'], 'disk limit of 1 GB reached')));
});

test('disk of a zone is limited: files that it has deleted, sent to a socket and not received', async () => {
  const command = `python3 -c '
import os, socket, time
a, b = socket.socketpair()
for i in range(12):
  f = os.open("f", os.O_CREAT | os.O_RDWR); os.unlink("f"); socket.send_fds(a, [b"x"], [f])
  for j in range(100): os.write(f, b"x" * 1048576)
  os.close(f)
time.sleep(6)'`;
  expect((await services.open.run(command)).stderr).toContain('1 output, 0 errors');
  // One after another: such files are told by the free space of the disk, which the end of another zone increases.
  for (const service of services.sandboxed) await expectLimit(service, command, ['--disk', '1'], 'disk limit of 1 GB reached');
});
