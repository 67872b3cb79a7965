import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { quietly } from '../../base/errors.ts';
import { createPauses } from '../../base/pauses.ts';

/**
 * Resource usage of the processes of a zone, measured from outside, in short turns of the event loop. Processes come and go meanwhile: those
 * that are gone count as zero.
 */

type Pause = ReturnType<typeof createPauses>;

/** Ids of the descendants of a process. */
async function listDescendants(pid: number, pause: Pause): Promise<number[]> {
  const found: number[] = [];
  // Grows during the loop.
  const parents = [pid];
  for (const parent of parents) {
    for (const thread of quietly(() => readdirSync(`/proc/${parent}/task`), [])) {
      const children = quietly(() => readFileSync(`/proc/${parent}/task/${thread}/children`, 'latin1'), '');
      for (const child of children.split(' ').filter(Boolean).map(Number)) {
        found.push(child);
        parents.push(child);
      }
      await pause();
    }
  }
  return found;
}

const pageSize = 4096;

function readResident(pid: number): number {
  return Number(quietly(() => readFileSync(`/proc/${pid}/statm`, 'latin1'), '').split(' ')[1] ?? 0) * pageSize;
}

/** Memory of a process in bytes, with its share of the memory that it shares with others. A thread reads it: it may take 10 ms. */
async function readProportional(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/mu.exec(text) ?? [];
  return kibibytes === undefined ? readResident(pid) : Number(kibibytes) * 1024;
}

/** Maximum number of descriptors that the processes of a measured zone have open together: looking at each takes about 10 µs. */
export const mostDescriptors = 32_768;

/** The processes of a zone have more than `mostDescriptors` open. */
export class TooManyDescriptors extends Error {
  override readonly name = 'TooManyDescriptors';
}

/** What the descriptors of processes hold. */
interface Held {
  /** Bytes of unlinked files that processes still have open, on disk and in memory. */
  readonly disk: number;
  readonly memory: number;
  /** True if sockets hold descriptors that were sent and not yet received, so that no process has them open (SCM_RIGHTS, unix(7)). */
  readonly hasSent: boolean;
}

/** @throws {TooManyDescriptors} */
async function measureHeld(pids: readonly number[], pause: Pause): Promise<Held> {
  const files = new Map<string, { size: number; isMemory: boolean }>();
  let [count, hasSent] = [0, false];
  for (const pid of pids) {
    const descriptors = quietly(() => readdirSync(`/proc/${pid}/fd`), []);
    count += descriptors.length;
    if (count > mostDescriptors) throw new TooManyDescriptors();
    for (const descriptor of descriptors) {
      await pause();
      const path = `/proc/${pid}/fd/${descriptor}`;
      const target = quietly(() => readlinkSync(path), '');
      if (target.startsWith('socket:') && !hasSent) {
        hasSent = /^scm_fds:\s*[1-9]/mu.test(quietly(() => readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'latin1'), ''));
      }
      if (!target.endsWith(' (deleted)')) continue;
      const stat = quietly(() => statSync(path), undefined);
      if (!stat?.isFile()) continue;
      files.set(`${stat.dev}:${stat.ino}`, { size: stat.blocks * 512, isMemory: /^\/(?:memfd:|dev\/shm\/|dev\/zero|SYSV)/u.test(target) });
    }
  }
  const sum = (isMemory: boolean): number =>
    [...files.values()].filter((file) => file.isMemory === isMemory).reduce((total, { size }) => total + size, 0);
  return { disk: sum(false), memory: sum(true), hasSent };
}

/** Milliseconds after which the exact measurement of memory is given up: hundreds of processes share thousands of mappings. */
const longestMeasurement = 2000;

/**
 * Memory of the descendants of a process, bytes; exact if it exceeds `limit`, unless measuring that takes too long: then memory that
 * processes share counts once for each of them.
 * @throws {TooManyDescriptors}
 */
export async function measureMemory(pid: number, limit: number): Promise<number> {
  const pause = createPauses();
  const pids = await listDescendants(pid, pause);
  const { memory } = await measureHeld(pids, pause);
  let resident = memory;
  for (const each of pids) {
    resident += readResident(each);
    await pause();
  }
  // Shared memory is counted once for each process here; the exact measurement costs ten times as much.
  if (resident <= limit) return resident;
  let exact = memory;
  const end = performance.now() + longestMeasurement;
  for (const each of pids) {
    if (performance.now() > end) return resident;
    exact += await readProportional(each);
  }
  return exact;
}

/** Sums up the output of du, which also prints what it could measure when it cannot read everything. */
async function sumUp(words: readonly [string, ...string[]]): Promise<{ sum: number; isWhole: boolean }> {
  const [program, ...rest] = words;
  return new Promise((resolve) => {
    execFile(program, rest, (error, stdout) => {
      const numbers = stdout.split('\n').map((line) => Number(/^\d+/u.exec(line)?.[0] ?? 0));
      resolve({ sum: numbers.reduce((sum, number) => sum + number, 0), isWhole: !error });
    });
  });
}

/** Sums up what a zone has in its directories, with `du`, which descends by file descriptors, so that no task can redirect it outside. */
async function sumFiles(directory: string, option: string): Promise<number> {
  const du = ['du', '-s', '-x', option, '--', join(directory, 'root'), join(directory, 'io')] as const;
  const { sum, isWhole } = await sumUp(du);
  // A task may have made a directory unreadable to its owner; as root of a user namespace, du can read it.
  return isWhole ? sum : (await sumUp(['unshare', '--user', '--map-root-user', '--', ...du])).sum;
}

/**
 * Creates a function that returns the number of files and directories of a zone, or less while it is below `most`. The file system tells
 * first by its free inodes whether there can be so many: to count them takes a process.
 */
export function createFileCounter(directory: string, most: number): () => Promise<number> {
  const { ffree: before } = statfsSync(directory);
  let counted = performance.now();
  return async () => {
    const used = before - statfsSync(directory).ffree;
    // What others delete meanwhile hides what the zone creates.
    if (used <= most / 2 && performance.now() - counted < countInterval) return Math.max(0, used);
    counted = performance.now();
    return await sumFiles(directory, '--inodes');
  };
}

/** Milliseconds after which files are counted even if the file system has nearly as many free inodes as before. */
const countInterval = 60_000;

/** Bytes that each file and directory of a zone uses at least: empty files use inodes, which a file system has a limited number of. */
const leastBytes = 4096;

/** Number of files and directories that a disk limit allows. */
export function countAllowedFiles(bytes: number): number {
  return Math.floor(bytes / leastBytes);
}

function measureFree(directory: string): number {
  const { bfree, bsize } = statfsSync(directory);
  return bfree * bsize;
}

/**
 * Creates a function that returns the bytes on disk that a zone has written: those of its files, at least 4 KiB for each of them on average,
 * and those of unlinked files that its processes hold. Unlinked files in descriptors that were sent and not yet received cannot be seen:
 * while there are such descriptors, everything by which the free space of the disk decreases counts as written by the zone.
 */
export function createDiskMeter(pid: number, directory: string, limit: number): () => Promise<number> {
  const countFiles = createFileCounter(directory, countAllowedFiles(limit));
  let before = { size: 0, free: measureFree(directory) };
  return async () => {
    const pause = createPauses();
    const [bytes, files] = await Promise.all([sumFiles(directory, '--block-size=1'), countFiles()]);
    const { disk, hasSent } = await measureHeld(await listDescendants(pid, pause), pause);
    const size = Math.max(bytes, files * leastBytes) + disk;
    const free = measureFree(directory);
    if (hasSent) return Math.max(size, before.size + before.free - free);
    before = { size, free };
    return size;
  };
}
