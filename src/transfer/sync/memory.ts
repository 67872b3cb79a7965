import { closeSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { isSystemError } from '../../base/errors.ts';
import { createPrivate, makeMissingFolders, parentOf, removeQuietly } from '../../base/private-files.ts';
import { readPrivateLines } from '../../base/private-lines.ts';
import type { Fetched } from '../download/fetch-file.ts';
import { comparePaths } from '../../base/order.ts';
import { toMilliseconds } from '../local/time.ts';

/** Bytes that are written at once. */
const pieceSize = 64 * 1024;

/** What is known of an object without asking: which local modification time belongs to which version. */
export interface Known {
  readonly rel: string;
  readonly etag: string;
  /** Nanoseconds since the epoch. */
  readonly mtime: bigint;
  /** Of the last change of anything about the file: what has another one may have other content in spite of its size and time. */
  readonly ctime?: bigint | undefined;
  /** Base64, when it was found out. */
  readonly md5?: string | undefined;
  /** Permission bits that both sides had. */
  readonly mode?: number | undefined;
  /** The `m-mtime` of the object, where it was read; else `mtime` is what it says. */
  readonly kept?: string | undefined;
}

/** What is known of a file that was fetched; undefined when somebody has edited it since it got its name. */
export function describeKnown({ file, etag, seen: { md5, kept, made, named } }: Fetched, modes: boolean): Omit<Known, 'rel'> | undefined {
  if (etag === undefined || made === undefined) return undefined;
  const stats = named ?? statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const { ino, size, mtimeNs, ctimeNs, mode } = stats;
  const isSame = Number(ino) === made.ino && Number(size) === made.size && toMilliseconds(mtimeNs) === Math.floor(made.mtimeMs);
  return isSame ? { etag, mtime: mtimeNs, ctime: ctimeNs, md5, kept, ...(modes && { mode: Number(mode) & 0o777 }) } : undefined;
}

function readLine(line: string): Known | undefined {
  try {
    const [rel, etag, mtime, md5, mode, ctime, kept] = JSON.parse(line) as unknown[];
    if (typeof rel !== 'string' || typeof etag !== 'string' || typeof mtime !== 'string') return undefined;
    return {
      rel,
      etag,
      mtime: BigInt(mtime),
      ...(typeof md5 === 'string' && md5 !== '' && { md5 }),
      ...(typeof mode === 'number' && { mode }),
      ...(typeof ctime === 'string' && { ctime: BigInt(ctime) }),
      ...(typeof kept === 'string' && { kept }),
    };
  } catch {
    return undefined;
  }
}

/** What an earlier run wrote, in the order of `comparePaths`. A line, or a file, that cannot be read is as good as none. */
export function* readMemory(file: string): Generator<Known> {
  for (const line of readPrivateLines(file)) {
    const known = readLine(line);
    if (known) yield known;
  }
}

/** Collects what a run finds out, in the order of `comparePaths`. */
export interface MemoryWriter {
  note(known: Known): void;
  /** Puts it in the place of the old memory. What is old about paths that a run did not get to is kept when it was not whole. */
  close(isWhole: boolean): void;
}

const forgetful: MemoryWriter = { note: () => undefined, close: () => undefined };

/** How the memory of a run is written. */
export interface MemoryOptions {
  /** Makes the temporary name this run's own. */
  readonly id: string;
  /** Keep what earlier runs found out about paths that this one does not come by. */
  readonly merges?: boolean;
}

/** Begins the memory of a run. Where it cannot be written (no space, no right) the run does its work without: the next one asks again. */
export function createMemoryWriter(file: string | undefined, { id, merges = false }: MemoryOptions): MemoryWriter {
  if (file === undefined) return forgetful;
  const temporary = `${file}.${id}`;
  try {
    makeMissingFolders(parentOf(file));
    return writeTo(file, temporary, createPrivate(temporary), merges);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return forgetful;
  }
}

/** Time in which a file may be written to twice without its times telling so, nanoseconds: the coarsest clocks of file systems. */
const coarseClock = 2_000_000_000n;

function readClock(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** A line of the memory. A ctime of 0 has the next run read the content once. */
function printLine({ rel, etag, mtime, md5 = '', mode, ctime, kept }: Known, began: bigint): string {
  const isYoung = mtime > began - coarseClock && mtime < readClock() + coarseClock;
  const known = kept === undefined ? [] : [kept];
  const seen = ctime === undefined && known.length === 0 ? [] : [isYoung || ctime === undefined ? '0' : String(ctime)];
  return `${JSON.stringify([rel, etag, String(mtime), md5, mode ?? null, ...seen, ...known])}\n`;
}

/** A line of the old memory, and the path that it is about. */
interface OldLine {
  readonly rel: string;
  readonly line: string;
}

/** What earlier runs found out about the paths between those that this one comes by. */
interface OldMemory {
  /** What comes before a path; what is known of the path itself is passed over. */
  before(rel: string): Generator<OldLine>;
  /** What comes after all of them. */
  rest(): Generator<OldLine>;
}

function readPath(line: string): string | undefined {
  try {
    const [rel] = JSON.parse(line) as unknown[];
    return typeof rel === 'string' ? rel : undefined;
  } catch {
    return undefined;
  }
}

function createOldMemory(file: string): OldMemory {
  const lines = readPrivateLines(file);
  let head: OldLine | undefined;
  function next(): OldLine | undefined {
    for (let { done, value } = lines.next(); done !== true; { done, value } = lines.next()) {
      const rel = readPath(value);
      if (rel !== undefined) return { rel, line: `${value}\n` };
    }
    return undefined;
  }
  function* before(rel: string): Generator<OldLine> {
    for (head ??= next(); head !== undefined && comparePaths(head.rel, rel) < 0; head = next()) yield head;
    if (head?.rel === rel) head = undefined;
  }
  function* rest(): Generator<OldLine> {
    for (head ??= next(); head !== undefined; head = next()) yield head;
  }
  return { before, rest };
}

function writeTo(file: string, temporary: string, handle: number, merges: boolean): MemoryWriter {
  const began = readClock();
  const old = createOldMemory(file);
  let text = '';
  let last: string | undefined;
  let isFailed = false;

  function flush(): void {
    const piece = text;
    text = '';
    try {
      if (!isFailed) writeFileSync(handle, piece);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      isFailed = true;
    }
  }
  function add(line: string): void {
    text += line;
    if (text.length > pieceSize) flush();
  }
  /** Old lines are kept as they are. */
  function keep(lines: Iterable<OldLine>): void {
    for (const { rel, line } of lines) if (last === undefined || comparePaths(rel, last) > 0) add(line);
  }
  return {
    note: (known) => {
      // Steps that wait for others come after their turn: what they do is found out by the next run.
      if (last !== undefined && comparePaths(known.rel, last) <= 0) return;
      if (merges) keep(old.before(known.rel));
      last = known.rel;
      add(printLine(known, began));
    },
    close: (isWhole) => {
      if (merges || !isWhole) keep(old.rest());
      flush();
      closeSync(handle);
      try {
        if (!isFailed) renameSync(temporary, file);
      } catch (error) {
        if (!isSystemError(error)) throw error;
        isFailed = true;
      }
      if (isFailed) removeQuietly(temporary);
    },
  };
}
