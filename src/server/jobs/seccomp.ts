import { constants } from 'node:os';

/**
 * The system calls that tasks may not make, as a classic BPF program for seccomp (seccomp(2)): the format that `bwrap --seccomp FD` and
 * `setpriv --seccomp-filter FILE` load. This is a deny list: all other calls are left to permissions, namespaces and limits.
 */

type Architecture = 'x64' | 'arm64';

/** AUDIT_ARCH_* of linux/audit.h. */
const auditArchitecture: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Numbers on x86-64 and arm64; null where the architecture has no such call. */
type Numbers = readonly [x64: number | null, arm64: number | null];

/** Calls that fail with EPERM. */
const forbidden: Readonly<Record<string, Numbers>> = {
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // Keys of the kernel, which no namespace separates.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large parts of the kernel that tasks have no use for.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  fanotify_init: [300, 262],
  lookup_dcookie: [212, 18],
  modify_ldt: [154, null],
  // Mounts and namespaces.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_tree_attr: [467, 467],
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  // The machine.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  syslog: [103, 116],
  vhangup: [153, 58],
  iopl: [172, null],
  ioperm: [173, null],
};

/** Calls that fail with ENOSYS: programs have a fallback for kernels without them. */
const absent: Readonly<Record<string, Numbers>> = {
  // The flags of clone3 are in memory, where a filter cannot look; the C library falls back to clone.
  clone3: [435, 435],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // Memory that no limit covers.
  memfd_secret: [447, 447],
};

/**
 * Calls that fail with ENOSYS where the memory of a zone is sampled: memory that belongs to no process while nobody has it attached, mapped or
 * open. Programs have a fallback, for kernels that are older or built without System V IPC.
 */
const uncounted: Readonly<Record<string, Numbers>> = {
  shmget: [29, 194],
  memfd_create: [319, 279],
};

/**
 * Calls that change limits, priority or scheduling of the process in their first argument. They fail with EPERM for the first process of the
 * PID namespace: the runner of the zone, which has the same user as its tasks.
 */
const governing: Readonly<Record<string, Numbers>> = {
  prlimit64: [302, 261],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
};

/** The same for calls whose first argument says what the second is: a process, a process group, or a user, whose processes include the runner. */
const governingMany: Readonly<Record<string, { readonly numbers: Numbers; readonly user: number }>> = {
  // PRIO_USER, IOPRIO_WHO_USER.
  setpriority: { numbers: [141, 140], user: 2 },
  ioprio_set: { numbers: [251, 30], user: 3 },
};

/** Process id of the runner, and its process group, for tasks. */
const runner = 1;

const clone: Numbers = [56, 220];
const ioctl: Numbers = [16, 29];
const socket: Numbers = [41, 198];

/** All CLONE_NEW* flags of clone except CLONE_NEWTIME, which clone does not accept. */
const namespaceFlags = 0x7e020000;

/** The ioctl requests by which a process types on the terminal of another process: TIOCSTI, TIOCLINUX. */
const typingRequests = [0x5412, 0x541c];

/**
 * Socket families that stay within the network namespace: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. AF_VSOCK is missing: it reaches the host
 * of a virtual machine from any namespace.
 */
const socketFamilies = [1, 2, 10, 16];

// Instructions and results (linux/bpf_common.h, linux/seccomp.h).
const load = 0x20;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAnyBit = 0x45;
const end = 0x06;
const allow = 0x7fff0000;
const kill = 0x80000000;
const fail = (number: number): number => 0x00050000 | number;

// Offsets in struct seccomp_data; arguments are 64 bits, low half first on both architectures.
const callOffset = 0;
const architectureOffset = 4;
const argumentOffset = (index: number): number => 16 + index * 8;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

function isKnown(architecture: string): architecture is Architecture {
  return Object.hasOwn(auditArchitecture, architecture);
}

/** Runs `then` for the system call with this number. `then` must end with a result for every argument. */
function onCall(number: number, then: readonly Instruction[]): Instruction[] {
  return [[jumpIfEqual, 0, then.length, number], ...then];
}

/** Instructions that fail with `error` if the loaded value equals `value`. */
function failIf(value: number, error: number): Instruction[] {
  return onCall(value, [[end, 0, 0, fail(error)]]);
}

/** Protects the runner from the calls that govern other processes. */
function protectRunner(column: 0 | 1): Instruction[] {
  const { EPERM } = constants.errno;
  return [
    ...Object.values(governing).flatMap((numbers) =>
      onCall(numbers[column] ?? -1, [[load, 0, 0, argumentOffset(0)], ...failIf(runner, EPERM), [end, 0, 0, allow]]),
    ),
    ...Object.values(governingMany).flatMap(({ numbers, user }) =>
      onCall(numbers[column] ?? -1, [
        [load, 0, 0, argumentOffset(0)],
        ...failIf(user, EPERM),
        [load, 0, 0, argumentOffset(1)],
        ...failIf(runner, EPERM),
        [end, 0, 0, allow],
      ]),
    ),
  ];
}

function listInstructions(architecture: Architecture, isSampled: boolean): Instruction[] {
  const column = architecture === 'x64' ? 0 : 1;
  const { EPERM, ENOSYS, EAFNOSUPPORT } = constants.errno;
  const failCalls = (calls: Readonly<Record<string, Numbers>>, error: number): Instruction[] =>
    Object.values(calls).flatMap((numbers) => {
      const number = numbers[column];
      return number === null ? [] : failIf(number, error);
    });
  const numberOf = (numbers: Numbers): number => numbers[column] ?? -1;
  return [
    [load, 0, 0, architectureOffset],
    [jumpIfEqual, 1, 0, auditArchitecture[architecture]],
    [end, 0, 0, kill],
    [load, 0, 0, callOffset],
    // The x32 ABI has its own call numbers.
    ...(architecture === 'x64'
      ? ([
          [jumpIfAtLeast, 0, 1, 0x40000000],
          [end, 0, 0, fail(EPERM)],
        ] as Instruction[])
      : []),
    ...failCalls(forbidden, EPERM),
    ...failCalls(absent, ENOSYS),
    ...(isSampled ? failCalls(uncounted, ENOSYS) : []),
    ...protectRunner(column),
    ...onCall(numberOf(clone), [
      [load, 0, 0, argumentOffset(0)],
      [jumpIfAnyBit, 0, 1, namespaceFlags],
      [end, 0, 0, fail(EPERM)],
      [end, 0, 0, allow],
    ]),
    ...onCall(numberOf(ioctl), [
      [load, 0, 0, argumentOffset(1)],
      ...typingRequests.flatMap((request) => failIf(request, EPERM)),
      [end, 0, 0, allow],
    ]),
    ...onCall(numberOf(socket), [
      [load, 0, 0, argumentOffset(0)],
      ...socketFamilies.flatMap((family) => onCall(family, [[end, 0, 0, allow]])),
      [end, 0, 0, fail(EAFNOSUPPORT)],
    ]),
    [end, 0, 0, allow],
  ];
}

/**
 * The filter for an architecture (as Node.js names it): an array of struct sock_filter. Undefined for unsupported architectures.
 * @param isSampled true for zones whose memory is limited without a control group
 */
export function createSeccompFilter(architecture: string, { isSampled }: { isSampled: boolean }): Buffer | undefined {
  if (!isKnown(architecture)) return undefined;
  const instructions = listInstructions(architecture, isSampled);
  const bytes = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, whenTrue, whenFalse, value]] of instructions.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(whenTrue, index * 8 + 2);
    bytes.writeUInt8(whenFalse, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return bytes;
}
