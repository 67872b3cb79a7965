import { expect, test } from 'vitest';
import { createSeccompFilter } from '../../../src/server/jobs/seccomp.ts';

/** The filter of system calls, run by an interpreter of the instructions that it uses (bpf(2), "classic"). */

interface SystemCall {
  call: number;
  architecture: number;
  arguments?: readonly number[];
}

const x64 = 0xc000003e;
const arm64 = 0xc00000b7;
const allowed = 0x7fff0000;
const killed = 0x80000000;
const refused = (error: number): number => 0x00050000 + error;
const [EPERM, ENOSYS, EAFNOSUPPORT] = [1, 38, 97];

function run(filter: Buffer, { call, architecture, arguments: words = [] }: SystemCall): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, word] of words.entries()) data.writeBigUInt64LE(BigInt(word), 16 + index * 8);
  let value = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const [code, whenTrue, whenFalse, k] = [filter.readUInt16LE(at), filter[at + 2] ?? 0, filter[at + 3] ?? 0, filter.readUInt32LE(at + 4)];
    const jump = (holds: boolean): void => void (at += 8 * (holds ? whenTrue : whenFalse));
    if (code === 0x06) return k;
    if (code === 0x20) value = data.readUInt32LE(k);
    else if (code === 0x15) jump(value === k);
    else if (code === 0x35) jump(value >= k);
    else if (code === 0x45) jump((value & k) !== 0);
    else throw new Error(`instruction ${code.toString(16)}`);
  }
  throw new Error('the filter has no end');
}

function filterOf(architecture: string, isSampled = false): Buffer {
  const filter = createSeccompFilter(architecture, { isSampled });
  if (!filter) throw new Error(`no filter for ${architecture}`);
  return filter;
}

// Numbers of asm/unistd_64.h and asm-generic/unistd.h.
test.each([
  [
    'x64',
    x64,
    { read: 0, openat: 257, execve: 59, memfd_create: 319, seccomp: 317 },
    { ptrace: 101, mount: 165, unshare: 272, keyctl: 250, bpf: 321 },
    435,
    56,
    16,
    41,
  ],
  [
    'arm64',
    arm64,
    { read: 63, openat: 56, execve: 221, memfd_create: 279, seccomp: 277 },
    { ptrace: 117, mount: 40, unshare: 97, keyctl: 219, bpf: 280 },
    435,
    220,
    29,
    198,
  ],
] as const)(
  '%s: programs run, what reaches beyond the sandbox does not',
  (name, architecture, common, forbidden, clone3, clone, ioctl, socket) => {
    const filter = filterOf(name);
    const ask = (call: number, ...words: number[]): number => run(filter, { call, architecture, arguments: words });
    expect(Object.values(common).map((call) => ask(call))).toEqual(Object.values(common).map(() => allowed));
    expect(Object.values(forbidden).map((call) => ask(call))).toEqual(Object.values(forbidden).map(() => refused(EPERM)));
    expect([clone3, 425, 426, 427].map((call) => ask(call))).toEqual(Array(4).fill(refused(ENOSYS)));
    // SIGCHLD; a thread; CLONE_NEWUSER; CLONE_NEWNS.
    expect([17, 0x3d0f00, 0x10000011, 0x20011].map((flags) => ask(clone, flags))).toEqual([
      allowed,
      allowed,
      refused(EPERM),
      refused(EPERM),
    ]);
    // TCGETS; TIOCSTI; TIOCLINUX; TIOCSTI with bits that the kernel does not look at.
    expect([0x5401, 0x5412, 0x541c, 0x1_0000_5412].map((request) => ask(ioctl, 1, request))).toEqual([
      allowed,
      ...Array<number>(3).fill(refused(EPERM)),
    ]);
    // AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; AF_PACKET, AF_ALG, AF_VSOCK.
    expect([1, 2, 10, 16].map((family) => ask(socket, family))).toEqual(Array(4).fill(allowed));
    expect([17, 38, 40].map((family) => ask(socket, family))).toEqual(Array(3).fill(refused(EAFNOSUPPORT)));
  },
);

// prlimit64, sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr, migrate_pages, move_pages.
test.each([
  ['x64', x64, [302, 142, 144, 203, 314, 256, 279], 141, 251],
  ['arm64', arm64, [261, 118, 119, 122, 274, 238, 239], 140, 30],
] as const)('%s: a task governs itself and its processes, not the first process', (name, architecture, calls, setpriority, ioprioSet) => {
  const ask = (call: number, ...words: number[]): number => run(filterOf(name), { call, architecture, arguments: words });
  // 0 is the calling process; of a process id the kernel takes the low 32 bits.
  const answers = [0, 2, 4711, 1, 0x1_0000_0001].map((pid) => calls.map((call) => ask(call, pid)));
  const all = (answer: number): number[] => calls.map(() => answer);
  expect(answers).toEqual([allowed, allowed, allowed, refused(EPERM), refused(EPERM)].map(all));
  // A process, a group, and a user, who has the first process too.
  const [process, group] = [[0, 1] as const, [1, 2] as const];
  for (const [call, kinds, user] of [
    [setpriority, process, 2],
    [ioprioSet, group, 3],
  ] as const) {
    for (const kind of kinds) expect([0, 2, 1].map((who) => ask(call, kind, who))).toEqual([allowed, allowed, refused(EPERM)]);
    expect(ask(call, user, 0)).toBe(refused(EPERM));
  }
});

test('memory that belongs to no process is absent where memory is sampled: shmget, memfd_create', () => {
  for (const [name, architecture, calls] of [
    ['x64', x64, [29, 319]],
    ['arm64', arm64, [194, 279]],
  ] as const) {
    const answers = (isSampled: boolean): number[] => calls.map((call) => run(filterOf(name, isSampled), { call, architecture }));
    expect([answers(false), answers(true)]).toEqual([
      [allowed, allowed],
      [refused(ENOSYS), refused(ENOSYS)],
    ]);
  }
});

test('calls of another architecture end the program, those of x32 fail', () => {
  const other = filterOf('x64');
  expect(run(other, { call: 0, architecture: 0x40000003 })).toBe(killed);
  expect(run(other, { call: 0, architecture: arm64 })).toBe(killed);
  expect(run(filterOf('arm64'), { call: 0, architecture: x64 })).toBe(killed);
  expect(run(other, { call: 0x40000000 + 101, architecture: x64 })).toBe(refused(EPERM));
});

test('there is no filter for other architectures, and none longer than the kernel takes', () => {
  expect(createSeccompFilter('riscv64', { isSampled: false })).toBeUndefined();
  expect(filterOf('x64').length / 8).toBeLessThan(4096);
});
