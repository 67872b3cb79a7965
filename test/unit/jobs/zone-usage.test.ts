import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createDiskMeter,
  createFileCounter,
  measureMemory,
  mostDescriptors,
  TooManyDescriptors,
} from '../../../src/server/jobs/zone-usage.ts';

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'cloud-usage-'));
  for (const name of ['root', 'io']) mkdirSync(join(directory, name));
});
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs `measure` beside a program, which prints something when it is ready. */
async function beside<T>(program: string, words: readonly string[], measure: (pid: number) => Promise<T>): Promise<T> {
  // Measured are the descendants of a process.
  const child: ChildProcess = spawn('sh', ['-c', '"$@" & wait', 'sh', program, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const pid = child.pid ?? 0;
  try {
    if (child.stdout) await once(child.stdout, 'data');
    return await measure(pid);
  } finally {
    process.kill(-pid, 'SIGKILL');
    await once(child, 'exit');
  }
}

test('each file counts as 4 KiB at least: a file system has a limited number of inodes', async () => {
  // Other programs may delete files on the same disk meanwhile, which hides the new ones until they are counted a minute later.
  const least = 10_000;
  const [count, measure] = [createFileCounter(directory, least), createDiskMeter(process.pid, directory, least * 4096)];
  for (let at = 0; at < least; at += 1) writeFileSync(join(directory, 'root', `empty${at}`), '');
  await expect.poll(count).toBe(least + 2);
  await expect.poll(measure).toBeGreaterThanOrEqual(least * 4096);
});

test('unlinked files in descriptors that were sent and not received count', async () => {
  const size = 64 * 1024 * 1024;
  const code = `
import os, socket, sys, time
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
path = sys.argv[1] + '/root/sent'
sys.stdout.write('ready\\n'); sys.stdout.flush()
f = os.open(path, os.O_CREAT | os.O_RDWR); os.unlink(path)
socket.send_fds(a, [b'x'], [f])
for i in range(64): os.write(f, b'A' * 1048576)
os.fsync(f); os.close(f)
sys.stdout.write('written\\n'); sys.stdout.flush()
time.sleep(60)
`;
  // The meter compares the free space of the disk: what others delete meanwhile hides what is written.
  const attempt = async (left: number): Promise<void> => {
    const timeout = left === 0 ? 60_000 : 4000;
    try {
      await beside('python3', ['-c', code, directory], async (pid) => {
        const measure = createDiskMeter(pid, directory, 2 * size);
        await expect.poll(measure, { timeout, interval: 100 }).toBeGreaterThan(size * 0.9);
      });
    } catch (error) {
      if (left === 0) throw error;
      await attempt(left - 1);
    }
  };
  await attempt(4);
});

test('many descriptors of many processes are refused, and other work goes on meanwhile', async () => {
  const processes = 25;
  const code = `my @f; for (1 .. ${Math.ceil(mostDescriptors / processes) + 100}) { open(my $f, "<", "/dev/null") or die; push @f, $f }
    for (2 .. ${processes}) { fork or last } $| = 1; print "ready"; sleep 60`;
  await beside('bash', ['-c', `ulimit -n 3000; exec perl -e '${code}'`], async (pid) => {
    let turns = 0;
    const measure = async (): Promise<unknown> => {
      turns = 0;
      const timer = setInterval(() => (turns += 1), 1);
      return measureMemory(pid, 1)
        .catch((error: unknown) => error)
        .finally(() => clearInterval(timer));
    };
    await expect.poll(measure).toBeInstanceOf(TooManyDescriptors);
    // Synchronous measuring would leave no turn.
    expect(turns).toBeGreaterThan(3);
  });
});
