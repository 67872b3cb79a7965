import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What the processes of a zone use of the machine, as seen from outside. Processes come and go meanwhile: what is gone counts nothing. */

/** What is read, or something else where it cannot be read. */
export function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/** Ids of the processes below one. */
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

/** Memory of a process with its share of what it has in common with others, bytes. */
function readProportional(pid: number): number {
  const text = quietly(() => readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'), '');
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/mu.exec(text) ?? [];
  return kibibytes === undefined ? readResident(pid) : Number(kibibytes) * 1024;
}

/** Bytes of files that processes have open and that have no name any more, on disk and in memory. */
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

/** Memory that the processes below one use, bytes; exact when it is more than `limit`. */
export function measureMemory(pid: number, limit: number): number {
  const pids = listDescendants(pid);
  const unnamed = measureUnnamed(pids).memory;
  const resident = pids.reduce((sum, each) => sum + readResident(each), unnamed);
  // What processes share is counted for each here; looking closely costs ten times as much.
  return resident <= limit ? resident : pids.reduce((sum, each) => sum + readProportional(each), unnamed);
}

/** What du counts; it says what it can also where it cannot look everywhere. */
async function sumBlocks(words: readonly [string, ...string[]]): Promise<{ size: number; isWhole: boolean }> {
  const [program, ...rest] = words;
  return new Promise((resolve) => {
    execFile(program, rest, (error, stdout) => {
      const sizes = stdout.split('\n').map((line) => Number(/^\d+/u.exec(line)?.[0] ?? 0));
      resolve({ size: sizes.reduce((sum, size) => sum + size, 0), isWhole: !error });
    });
  });
}

/** Bytes on disk that a zone has written, those of files without a name too. */
export async function measureDisk(pid: number, directory: string): Promise<number> {
  // du goes from directory to directory by descriptors, so that no task leads it out.
  const du = ['du', '-s', '-x', '--block-size=1', '--', join(directory, 'root'), join(directory, 'io')] as const;
  let { size, isWhole } = await sumBlocks(du);
  // A task may have made a directory unreadable to its owner, who is root in a user namespace.
  if (!isWhole) ({ size, isWhole } = await sumBlocks(['unshare', '--user', '--map-root-user', '--', ...du]));
  return size + measureUnnamed(listDescendants(pid)).disk;
}
