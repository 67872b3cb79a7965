import { closeSync, statSync, writeFileSync } from 'node:fs';
import { batchText } from '../base/batches.ts';
import { readClock } from '../base/clock.ts';
import { isSystemError, LocalError } from '../base/errors.ts';
import { openToAppend, UntrustedFile } from '../base/private-files.ts';
import { printDone, readListed, removeStored, writeStored, type Placed, type Stored } from './journal-file.ts';

/** Milliseconds between two saves of the progress. */
const notePause = 1000;

/** Work in progress. Everything that it records survives a kill of the process. */
export interface Entry {
  /** Empty if nothing is recorded because the state folder cannot be used. */
  readonly id: string;
  /** True if an earlier run started the work. */
  readonly isResumed: boolean;
  readonly placed: readonly Placed[];
  readonly facts: Readonly<Record<string, unknown>>;
  /** Milliseconds since the epoch of the last change by an earlier run; Infinity for new work. */
  readonly left: number;
  /** Milliseconds since the epoch at which the first run began the work. */
  readonly began: number;
  /** Milliseconds since the first run began the work. */
  elapsed(): number;
  readonly doneItems: number;
  /** The version for which an item is done. */
  find(key: string): string | undefined;
  /** Records that an item is done, by a write without a flush at the end of this turn of the event loop. */
  note(key: string, version: string): void;
  /** Adds to the progress in lists. */
  add(items: number, bytes: number): void;
  /** Sets the total amount of work, once it is known. */
  expect(items: number, bytes: number): void;
  /** Stores further data of the command. */
  learn(facts: Readonly<Record<string, unknown>>): void;
  /** Ends the run: deletes the entry if nothing can be resumed, else keeps it for `cloud resume`. Further calls do nothing. */
  close(isOver: boolean): void;
  /** True once the entry is closed and deleted. */
  readonly isOver: boolean;
}

/** Paths of an entry and its list. */
export interface Files {
  readonly entry: string;
  readonly list: string;
}

/** Writes to the journal; the work itself does not fail because the disk is full or read-only. */
export function tryToKeep(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!isSystemError(error) && !(error instanceof UntrustedFile) && !(error instanceof LocalError)) throw error;
    return false;
  }
}

/** Opens an entry for the work of this process, which has claimed it. */
export function openEntry(files: Files, stored: Stored, now: () => number, isResumed: boolean): Entry {
  const listed = isResumed ? readListed(files.list) : { placed: [], done: new Map<string, string>() };
  const left = isResumed ? Math.max(stored.updated, statSync(files.list, { throwIfNoEntry: false })?.mtimeMs ?? 0) : Infinity;
  let current = stored;
  let { items, bytes } = stored;
  // Items that are done are counted again as the run passes them: until then, the counts of the earlier run hold.
  let [doneItems, doneBytes] = [0, 0];
  let last = readClock();
  let descriptor: number | undefined;
  let isClosed = false;
  let isDeleted = false;

  function save(change: Partial<Stored> = {}): void {
    const counts = { doneItems: Math.max(stored.doneItems, doneItems), doneBytes: Math.max(stored.doneBytes, doneBytes) };
    current = { ...current, ...change, ...counts, items, bytes, updated: now() };
    last = readClock();
    tryToKeep(() => writeStored(files.entry, current));
  }
  /** Does nothing once the entry is closed: code that runs beside the work may report progress later. */
  function saveNowAndThen(): void {
    if (!isClosed && readClock() - last > notePause) save();
  }
  function append(text: string): void {
    tryToKeep(() => {
      descriptor ??= openToAppend(files.list);
      writeFileSync(descriptor, text);
    });
  }
  const { add: addLine, flush: writeLines } = batchText(append);
  return {
    id: stored.id,
    isResumed,
    placed: listed.placed,
    get facts() {
      return current.facts ?? {};
    },
    left,
    began: stored.began,
    elapsed: () => now() - stored.began,
    get doneItems() {
      return doneItems;
    },
    find: (key) => listed.done.get(key),
    note: (key, version) => {
      if (isClosed) return;
      addLine(printDone(key, version));
      setImmediate(writeLines);
    },
    add: (moreItems, moreBytes) => {
      doneItems += moreItems;
      doneBytes += moreBytes;
      saveNowAndThen();
    },
    expect: (allItems, allBytes) => {
      [items, bytes] = [allItems, allBytes];
      saveNowAndThen();
    },
    learn: (facts) => save({ facts: { ...current.facts, ...facts } }),
    close: (isOver) => {
      if (isClosed) return;
      isClosed = true;
      writeLines();
      isDeleted = isOver;
      if (descriptor !== undefined) closeSync(descriptor);
      if (isOver) removeStored(files.entry, files.list);
      else save({ pid: 0 });
    },
    get isOver() {
      return isDeleted;
    },
  };
}
