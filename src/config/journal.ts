import { createHash, randomBytes } from 'node:crypto';
import { closeSync, writeFileSync } from 'node:fs';
import { LocalError } from '../base/errors.ts';
import { withLock } from '../base/lock.ts';
import { createPrivate, makeMissingFolders, parentOf } from '../base/private-files.ts';
import { openEntry, tryToKeep, type Entry, type Files } from './journal-entry.ts';
import {
  countDone,
  isInUse,
  printPlaced,
  readProcessStart,
  readStored,
  removeStored,
  writeStored,
  type Connection,
  type Placed,
  type Stored,
  type Work,
} from './journal-file.ts';
import type { State } from './state.ts';

/** Milliseconds after which an entry that nobody resumed is deleted. */
const entryLifetime = 14 * 24 * 3_600_000;

/** Number of sources shown in lists. */
const shownSources = 3;

/** An entry in lists. */
export interface Unfinished extends Stored {
  /** True if a process works on it. */
  readonly runs: boolean;
}

/** Another process works on the entry. */
export class InUseError extends LocalError {}

/** The work of this user, of all commands, that is in progress or was interrupted. */
export interface Journal {
  /** Creates an entry, or returns the one that this run resumes. Replaces an older entry of the same work. */
  begin(work: Work): Entry;
  /** All entries, oldest first. Deletes those that are too old. */
  list(): Unfinished[];
  /** Claims an entry, so that no other process resumes it. @throws {InUseError} when another process works on it */
  claim(id: string): Entry | undefined;
}

interface JournalOptions {
  readonly state: State;
  /** Id of this process. */
  readonly pid: number;
  readonly now: () => number;
  readonly cwd: () => string;
  readonly connection: () => Connection;
  readonly resumed?: Entry | undefined;
}

const entryId = /^resume\/([0-9a-f]{8})$/;

const unkept: Entry = {
  id: '',
  isResumed: false,
  placed: [],
  facts: {},
  left: Infinity,
  began: Infinity,
  elapsed: () => 0,
  doneItems: 0,
  find: () => undefined,
  note: () => undefined,
  add: () => undefined,
  expect: () => undefined,
  learn: () => undefined,
  close: () => undefined,
  isOver: false,
};

/** Options that change the speed and the display of work, not its result. */
const irrelevant = new Set(['parallel', 'bwlimit', 'partSize', 'progress', 'progressInterval', 'noProgress']);

/** An id that is the same for the same work, so that a new run replaces the entry of an interrupted one. */
function nameWork({ command, placed, args, options, key }: Work, { service, account }: Connection, folder: string): string {
  const relevant = Object.fromEntries(Object.entries(options).filter(([name]) => !irrelevant.has(name)));
  const what = JSON.stringify([service, account, folder, command, placed, args, relevant, key]);
  return createHash('sha256').update(what).digest('hex').slice(0, 8);
}

/** Writes both files of an entry, or none. */
function createEntry(files: Files, stored: Stored, placed: readonly Placed[]): void {
  removeStored(files.entry, files.list);
  try {
    const descriptor = createPrivate(files.list);
    try {
      writeFileSync(descriptor, placed.map(printPlaced).join(''));
    } finally {
      closeSync(descriptor);
    }
    writeStored(files.entry, stored);
  } catch (error) {
    removeStored(files.entry, files.list);
    throw error;
  }
}

interface Store extends JournalOptions {
  readonly locate: (id: string) => Files | undefined;
  /** This process, as entries name it. */
  readonly own: Pick<Stored, 'pid' | 'processStart'>;
}

function lock<T>({ entry }: Files, work: () => T): T {
  return withLock(`${entry}.lock`, work);
}

function listEntries({ state, locate, now, pid }: Store): Unfinished[] {
  const found: Unfinished[] = [];
  for (const name of state.list('resume')) {
    const id = entryId.exec(name)?.[1];
    const files = id === undefined ? undefined : locate(id);
    const stored = files && readStored(files.entry);
    if (files === undefined || stored?.id !== id || stored === undefined) continue;
    const runs = isInUse(stored, pid);
    if (!runs && now() - stored.updated > entryLifetime) removeStored(files.entry, files.list);
    else found.push({ ...stored, runs, doneItems: Math.max(stored.doneItems, countDone(files.list)) });
  }
  return found.toSorted((a, b) => a.began - b.began);
}

/** Creates an entry. If another process works on an entry of the same work, the new entry gets a random id. */
function beginEntry(store: Store, { placed, ...declared }: Work): Entry {
  const { locate, now, pid, own } = store;
  const [connection, folder, time] = [store.connection(), store.cwd(), now()];
  const id = nameWork({ placed, ...declared }, connection, folder);
  const usual = locate(id);
  if (usual === undefined) return unkept;
  const counts = { doneItems: 0, doneBytes: 0, items: 0, bytes: 0, sources: placed.length, shown: placed.slice(0, shownSources) };
  const stored: Stored = { ...declared, id, connection, cwd: folder, began: time, updated: time, pids: [pid], ...own, ...counts };
  let begun: { files: Files; stored: Stored } | undefined;
  tryToKeep(() => {
    makeMissingFolders(parentOf(usual.entry));
    lock(usual, () => {
      const there = readStored(usual.entry);
      const other = randomBytes(4).toString('hex');
      const isFree = there === undefined || !isInUse(there, pid);
      const chosen = isFree ? { files: usual, stored } : { files: locate(other) ?? usual, stored: { ...stored, id: other } };
      createEntry(chosen.files, chosen.stored, placed);
      begun = chosen;
    });
  });
  return begun ? openEntry(begun.files, begun.stored, now, false) : unkept;
}

function claimEntry({ locate, now, pid, own }: Store, id: string): Entry | undefined {
  const files = locate(id);
  if (files === undefined) return undefined;
  const taken = lock(files, () => {
    const stored = readStored(files.entry);
    if (stored === undefined) return undefined;
    if (isInUse(stored, pid))
      throw new InUseError(`${id} is in use by process ${stored.pid}`, { hint: 'wait for that process to end, or interrupt it' });
    const mine = { ...stored, ...own, pids: [...new Set([...stored.pids, pid])] };
    writeStored(files.entry, mine);
    return mine;
  });
  return taken && openEntry(files, taken, now, true);
}

export function openJournal(options: JournalOptions): Journal {
  const { state, pid, resumed } = options;
  const store: Store = {
    ...options,
    own: { pid, processStart: readProcessStart(pid) },
    locate: (id) => {
      const entry = state.locate(`resume/${id}.json`);
      return entry === undefined ? undefined : { entry, list: `${entry}l` };
    },
  };
  return {
    begin: (work) => resumed ?? beginEntry(store, work),
    list: () => listEntries(store),
    claim: (id) => claimEntry(store, id),
  };
}
