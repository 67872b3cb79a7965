import { closeSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { batchText } from '../../base/batches.ts';
import { isSystemError, quietly } from '../../base/errors.ts';
import { createPrivate, makeMissingFolders, parentOf, removeQuietly } from '../../base/private-files.ts';
import { readPrivateLines } from '../../base/private-lines.ts';
import type { Fetched } from '../download/write-object.ts';
import { comparePaths } from '../../base/order.ts';
import { toMilliseconds } from '../local/time.ts';

/** What is known of an object without a request: the local modification time that belongs to its version. */
export interface Known {
  readonly rel: string;
  readonly etag: string;
  /** Nanoseconds since the epoch. */
  readonly mtime: bigint;
  /** Nanoseconds since the epoch. A file whose ctime has changed may have other content, even with the same size and mtime. */
  readonly ctime?: bigint | undefined;
  /** Base64, if it was determined. */
  readonly md5?: string | undefined;
  /** Permission bits that both sides had. */
  readonly mode?: number | undefined;
  /** The `m-mtime` of the object, if it was read; otherwise the object's time is `mtime`. */
  readonly kept?: string | undefined;
}

/** What is known of a fetched file; undefined when somebody has edited it since it got its name. */
export function describeKnown({ file, etag, seen: { md5, kept, made, named } }: Fetched, modes: boolean): Omit<Known, 'rel'> | undefined {
  if (etag === undefined || made === undefined) return undefined;
  const stats = named ?? statSync(file, { bigint: true, throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  const { ino, size, mtimeNs, ctimeNs, mode } = stats;
  const isSame = Number(ino) === made.ino && Number(size) === made.size && toMilliseconds(mtimeNs) === Math.floor(made.mtimeMs);
  return isSame ? { etag, mtime: mtimeNs, ctime: ctimeNs, md5, kept, ...(modes && { mode: Number(mode) & 0o777 }) } : undefined;
}

/** What an earlier run learnt. It has its line, which is written again if nothing has changed; a copy of its properties has none. */
class Remembered implements Known {
  readonly rel: string;
  readonly etag: string;
  readonly mtime: bigint;
  readonly md5: string | undefined;
  readonly mode: number | undefined;
  readonly ctime: bigint | undefined;
  readonly kept: string | undefined;
  readonly #line: string;

  /** @throws for a line that no run has written */
  constructor(line: string) {
    const [rel, etag, mtime, md5, mode, ctime, kept] = JSON.parse(line) as unknown[];
    if (typeof rel !== 'string' || typeof etag !== 'string' || typeof mtime !== 'string') throw new TypeError('the line is incomplete');
    this.rel = rel;
    this.etag = etag;
    this.mtime = BigInt(mtime);
    this.md5 = typeof md5 === 'string' && md5 !== '' ? md5 : undefined;
    this.mode = typeof mode === 'number' ? mode : undefined;
    this.ctime = typeof ctime === 'string' ? BigInt(ctime) : undefined;
    this.kept = typeof kept === 'string' ? kept : undefined;
    this.#line = line;
  }

  static lineOf(known: Known): string | undefined {
    return #line in known ? `${known.#line}\n` : undefined;
  }
}

/** Reads what an earlier run wrote, in the order of `comparePaths`. Lines and files that cannot be read are ignored. */
export function* readMemory(file: string): Generator<Known> {
  for (const line of readPrivateLines(file)) {
    const known = quietly(() => new Remembered(line), undefined);
    if (known) yield known;
  }
}

/** Collects what a run learns, in the order of `comparePaths`. */
export interface MemoryWriter {
  note(known: Known): void;
  /** Replaces the old memory. If the run was not complete, old entries for paths that it did not reach are kept. */
  close(isWhole: boolean): void;
}

const forgetful: MemoryWriter = { note: () => undefined, close: () => undefined };

/** How the memory of a run is written. */
export interface MemoryOptions {
  /** Makes the name of the temporary file unique to this run. */
  readonly id: string;
  /** Keep what earlier runs learnt about paths that this one does not visit. */
  readonly merges?: boolean;
}

/** Starts the memory of a run. If it cannot be written (no space, no permission), the run works without: the next one compares again. */
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

/** Time within which two writes may leave a file with the same times, nanoseconds: the resolution of the coarsest file systems. */
const coarseClock = 2_000_000_000n;

function readClock(): bigint {
  return BigInt(Date.now()) * 1_000_000n;
}

/** A line of the memory. A ctime of 0 makes the next run read the content once. */
function printLine({ rel, etag, mtime, md5 = '', mode, ctime, kept }: Known, began: bigint): string {
  const isYoung = mtime > began - coarseClock && mtime < readClock() + coarseClock;
  const known = kept === undefined ? [] : [kept];
  const seen = ctime === undefined && known.length === 0 ? [] : [isYoung || ctime === undefined ? '0' : String(ctime)];
  return `${JSON.stringify([rel, etag, String(mtime), md5, mode ?? null, ...seen, ...known])}\n`;
}

/** A line of the old memory, and its path. */
interface OldLine {
  readonly rel: string;
  readonly line: string;
}

/** What earlier runs learnt about paths that this one does not visit. */
interface OldMemory {
  /** The lines before a path; a line of the path itself is skipped. */
  before(rel: string): Generator<OldLine>;
  /** All remaining lines. */
  rest(): Generator<OldLine>;
}

function readPath(line: string): string | undefined {
  return quietly(() => {
    const [rel] = JSON.parse(line) as unknown[];
    return typeof rel === 'string' ? rel : undefined;
  }, undefined);
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
  let last: string | undefined;
  let isFailed = false;

  function attempt(work: () => void): void {
    try {
      if (!isFailed) work();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      isFailed = true;
    }
  }
  const { add, flush } = batchText((text) => attempt(() => writeFileSync(handle, text)));
  /** Keeps old lines unchanged. */
  function keep(lines: Iterable<OldLine>): void {
    for (const { rel, line } of lines) if (last === undefined || comparePaths(rel, last) > 0) add(line);
  }
  return {
    note: (known) => {
      // Delayed steps finish out of order: the next run learns their results.
      if (last !== undefined && comparePaths(known.rel, last) <= 0) return;
      if (merges) keep(old.before(known.rel));
      last = known.rel;
      add(Remembered.lineOf(known) ?? printLine(known, began));
    },
    close: (isWhole) => {
      if (merges || !isWhole) keep(old.rest());
      flush();
      closeSync(handle);
      attempt(() => renameSync(temporary, file));
      if (isFailed) removeQuietly(temporary);
    },
  };
}
