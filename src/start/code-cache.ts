import { existsSync, readdirSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { openPrivate, parentOf, readTwice, removeQuietly, writePrivate, writeTwice } from '../base/private-files.ts';
import { isAlive } from '../base/world.ts';

/**
 * The file that keeps compiled code between runs.
 *
 * V8 does not verify its input and crashes on damaged code. Therefore the content is written twice (`writeTwice`), and a marker beside the
 * file says that a process is starting with it: if that process ended without removing the marker, the next start deletes the file.
 */

/** The header of the file. */
interface Head {
  /** Name, start and length of each compiled file. */
  readonly files: readonly [name: string, begin: number, length: number][];
  /** Hashes of the sets of files that runs loaded; the code compiled by these runs is included. */
  readonly runs: readonly number[];
}

/** The compiled code of earlier runs. */
export interface Kept {
  readonly names: readonly string[];
  readonly runs: readonly number[];
  /** Undefined if missing or damaged. */
  readonly read: (name: string) => Buffer | undefined;
}

/** Bytes of the first read: the length of the header, and nearly always all of the header. */
const firstRead = 8192;

/** Number of sets of files that are remembered; higher than the number of sets in practice. */
const mostRuns = 200;

/** Milliseconds after the start. A process that ends silently later than this was ended from outside, not by damaged code. */
const startTime = 1000;

/** The file is missing or must not be used. */
export const nothing: Kept = { names: [], runs: [], read: () => undefined };

/** Opens the compiled code of earlier runs; `nothing` if it is damaged or others could have written it. */
export function openKept(path: string): Kept {
  try {
    const { file, size } = openPrivate(path);
    const first = readTwice(file, size, 0, Math.min(firstRead, size / 2));
    const start = 4 + first.readUInt32LE(0);
    const head = start > first.length ? readTwice(file, size, 0, start) : first;
    const { files, runs } = JSON.parse(head.toString('utf8', 4, start)) as Head;
    return {
      names: files.map(([name]) => name),
      runs,
      read: (wanted) => {
        const place = files.find(([name]) => name === wanted);
        try {
          return place && readTwice(file, size, start + place[1], place[2]);
        } catch {
          return undefined;
        }
      },
    };
  } catch {
    return nothing;
  }
}

/** True if the process of the marker ended during its start. In a container, the next process may have the same id. */
function hasCrashed(mark: string): boolean {
  try {
    const pid = Number(readlinkSync(mark));
    return pid === process.pid || !isAlive(process, pid);
  } catch {
    return false;
  }
}

/**
 * Marks that this process starts with the code in a file. The marker is a symbolic link whose target is the process id, which is created
 * atomically; processes that start concurrently share it.
 * @returns false when an earlier start has crashed; the file is then deleted
 */
export function markStart(path: string): boolean {
  const mark = `${path}.starting`;
  const remove = (): void => removeQuietly(mark);
  try {
    symlinkSync(String(process.pid), mark);
  } catch {
    if (!hasCrashed(mark)) return true;
    [path, mark].forEach(removeQuietly);
    return false;
  }
  process.on('exit', remove);
  // A short command ends before this turn of the event loop. Creating a timer immediately takes as long as creating the marker.
  setImmediate(() => void setTimeout(remove, startTime).unref());
  return true;
}

/** Milliseconds until files of other versions and locations are deleted; an installation that is still in use compiles again. */
const longestKept = 30 * 24 * 3_600_000;

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (statSync(path).mtimeMs < Date.now() - longestKept) removeQuietly(path);
  }
}

/** Writes compiled code, replacing the file. */
export function writeKept(path: string, kept: ReadonlyMap<string, Buffer>, runs: readonly number[]): void {
  let begin = 0;
  const files: Head['files'] = [...kept].map(([name, { length }]) => {
    begin += length;
    return [name, begin - length, length];
  });
  const head: Head = { files, runs: runs.slice(-mostRuns) };
  const text = Buffer.from(JSON.stringify(head));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(text.length);
  try {
    const isFirst = !existsSync(path);
    writePrivate(path, writeTwice(Buffer.concat([size, text, ...kept.values()])), { flush: false });
    if (isFirst) removeOld(parentOf(path));
  } catch {
    // The disk is full or read-only: the next run compiles again.
  }
}
