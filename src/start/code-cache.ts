import { existsSync, readdirSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { isRunning, openPrivate, parentOf, readTwice, removeQuietly, writePrivate, writeTwice } from '../base/private-files.ts';

/**
 * The file in which compiled code is kept from one run to the next.
 *
 * V8 believes what it is given and crashes on damaged code. Therefore the content is written twice (`writeTwice`), and a mark beside the file says
 * that a process starts with it: where that process has ended without removing its mark, the next start drops the file.
 */

/** The head of the file. */
interface Head {
  /** Name, begin and length of what was compiled. */
  readonly files: readonly [name: string, begin: number, length: number][];
  /** Runs by what they loaded, as numbers: what they called is compiled too. */
  readonly runs: readonly number[];
}

/** What earlier runs kept. */
export interface Kept {
  readonly names: readonly string[];
  readonly runs: readonly number[];
  /** Undefined for what is not there, or damaged. */
  readonly read: (name: string) => Buffer | undefined;
}

/** Holds the length of the head, and nearly always the head. */
const firstRead = 8192;

/** Kinds of runs that are remembered; there are fewer than commands. */
const mostRuns = 200;

/** Milliseconds after which a process that ends without a word was ended by somebody else, not by damaged code. */
const startTime = 1000;

/** There is no file, or it is not to be used. */
export const nothing: Kept = { names: [], runs: [], read: () => undefined };

/** Opens what earlier runs kept; `nothing` when it is damaged, or others could have written it. */
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

/** Whether the process that last marked its start has ended in the middle of it. In a container the next one may have the same number. */
function hasCrashed(mark: string): boolean {
  try {
    const pid = Number(readlinkSync(mark));
    return pid === process.pid || !isRunning(pid);
  } catch {
    return false;
  }
}

/**
 * Marks that this process starts with what is kept in a file. The mark is a link to the number of the process, made in one step; one that another
 * process has made stands for both.
 * @returns false when an earlier start has crashed: what it used is removed
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
  process.once('exit', remove);
  // A short command ends before this turn of the event loop: to make a timer takes as long as the mark.
  setImmediate(() => void setTimeout(remove, startTime).unref());
  return true;
}

/** Milliseconds after which what was kept for another release or place goes: a place that is still in use writes its own anew. */
const longestKept = 30 * 24 * 3_600_000;

function removeOld(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = `${folder}/${name}`;
    if (statSync(path).mtimeMs < Date.now() - longestKept) removeQuietly(path);
  }
}

/** Writes what was compiled, in the place of what was kept before. */
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
    // A disk that is full or read-only: the next run compiles again, and finds no more on it than this one did.
  }
}
