import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { quietly } from '../../base/errors.ts';

/** Resource usage of the processes of a zone, measured from outside. Processes come and go meanwhile: those that are gone count as zero. */

/** Ids of the descendants of a process. */
export function listDescendants(pid: number): number[] {
  const found: number[] = [];
  const visit = (parent: number): void => {
    for (const thread of quietly(() => readdirSync(`/proc/${parent}/task`), [])) {
      const children = quietly(() => readFileSync(`/proc/${parent}/task/${thread}/children`, 'latin1'), '');
      for (const child of children.split(' ').filter(Boolean).map(Number)) {
        found.push(child);
        visit(child);
      }
    }
  };
  visit(pid);
  return found;
}

const pageSize = 4096;

function readResident(pid: number): number {
  return Number(quietly(() => readFileSync(`/proc/${pid}/statm`, 'latin1'), '').split(' ')[1] ?? 0) * pageSize;
}

/** Memory of a process in bytes, with its share of the memory that it shares with others. */
function readProportional(pid: number): number {
  const text = quietly(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'), '');
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/mu.exec(text) ?? [];
  return kibibytes === undefined ? readResident(pid) : Number(kibibytes) * 1024;
}

/** Bytes of unlinked files that processes still have open, on disk and in memory. */
function measureUnnamed(pids: readonly number[]): { disk: number; memory: number } {
  const files = new Map<string, { size: number; isMemory: boolean }>();
  for (const pid of pids) {
    for (const descriptor of quietly(() => readdirSync(`/proc/${pid}/fd`), [])) {
      const path = `/proc/${pid}/fd/${descriptor}`;
      const target = quietly(() => readlinkSync(path), '');
      if (!target.endsWith(' (deleted)')) continue;
      const stat = quietly(() => statSync(path), undefined);
      if (!stat?.isFile()) continue;
      files.set(`${stat.dev}:${stat.ino}`, { size: stat.blocks * 512, isMemory: /^\/(?:memfd:|dev\/shm\/|dev\/zero|SYSV)/u.test(target) });
    }
  }
  const sum = (isMemory: boolean): number =>
    [...files.values()].filter((file) => file.isMemory === isMemory).reduce((total, { size }) => total + size, 0);
  return { disk: sum(false), memory: sum(true) };
}

/** Memory of the descendants of a process, bytes; exact if it exceeds `limit`. */
export function measureMemory(pid: number, limit: number): number {
  const pids = listDescendants(pid);
  const unnamed = measureUnnamed(pids).memory;
  const resident = pids.reduce((sum, each) => sum + readResident(each), unnamed);
  // Shared memory is counted once for each process here; the exact measurement costs ten times as much.
  return resident <= limit ? resident : pids.reduce((sum, each) => sum + readProportional(each), unnamed);
}

/** Sums up the output of du, which also prints what it could measure when it cannot read everything. */
async function sumBlocks(words: readonly [string, ...string[]]): Promise<{ size: number; isWhole: boolean }> {
  const [program, ...rest] = words;
  return new Promise((resolve) => {
    execFile(program, rest, (error, stdout) => {
      const sizes = stdout.split('\n').map((line) => Number(/^\d+/u.exec(line)?.[0] ?? 0));
      resolve({ size: sizes.reduce((sum, size) => sum + size, 0), isWhole: !error });
    });
  });
}

/** Bytes on disk that a zone has written, including unlinked files. */
export async function measureDisk(pid: number, directory: string): Promise<number> {
  // du descends by file descriptors, so that no task can redirect it outside.
  const du = ['du', '-s', '-x', '--block-size=1', '--', join(directory, 'root'), join(directory, 'io')] as const;
  let { size, isWhole } = await sumBlocks(du);
  // A task may have made a directory unreadable to its owner; as root of a user namespace, du can read it.
  if (!isWhole) ({ size, isWhole } = await sumBlocks(['unshare', '--user', '--map-root-user', '--', ...du]));
  return size + measureUnnamed(listDescendants(pid)).disk;
}
