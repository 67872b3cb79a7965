import { readFileSync } from 'node:fs';
import { isSystemError } from '../base/errors.ts';
import { isRunning, readPrivate, removeQuietly, UntrustedFile, writePrivate } from '../base/private-files.ts';
import { readPrivateLines } from '../base/private-lines.ts';

/** What kinds of work are listed. */
export type WorkKind = 'upload' | 'download' | 'sync' | 'remove' | 'copy' | 'move' | 'job' | 'images';

/** A source and where it goes: whole paths, so that it means the same in every directory and when the target is there by then. */
export type Placed = readonly [source: string, target: string];

/** A piece of work as a command declares it. Everything in it is kept as JSON. */
export interface Work {
  /** The command that goes on with it, from the table in `commands/resume/table.ts`: `stor put`. */
  readonly command: string;
  readonly kind: WorkKind;
  /** Arguments and options, as parsed. What `placed` says need not be among the arguments. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
  readonly placed: readonly Placed[];
  /** What tells it apart from other work with the same arguments: the id of a job. */
  readonly key?: string | undefined;
  /** Why nobody can go on with it, in words: `its bytes came from stdin`. */
  readonly obstacle?: string | undefined;
  /** What else the command has to know: the id of a job, the time at the service. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** Where and as whom work was done, so that it goes on there and as the same. */
export interface Connection {
  /** The profile in use, read again when the work goes on. */
  readonly profile: string | undefined;
  /** Settings of the command line, and variables of the environment, that were used beside it. */
  readonly options: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** URL of the object storage or of the compute service, and the account: a profile may say otherwise by then. */
  readonly service: string;
  readonly account: string;
}

/** An entry as it is on disk, without the list of what is placed. */
export interface Stored extends Omit<Work, 'placed'> {
  readonly id: string;
  readonly connection: Connection;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly began: number;
  /** When anything was last noted. */
  readonly updated: number;
  /** The process that works on it; 0 for none. */
  readonly pid: number;
  /** When that process began, in the system's count: numbers are used again. */
  readonly processStart?: string | undefined;
  /** All processes that have worked on it: what they left under names of their own is theirs. */
  readonly pids: readonly number[];
  readonly doneItems: number;
  readonly doneBytes: number;
  /** 0 where nobody has counted. */
  readonly items: number;
  readonly bytes: number;
  /** A few of what is placed, for lists. */
  readonly shown: readonly Placed[];
  readonly sources: number;
}

/** When a process began, in ticks since the machine did; undefined where the system does not say. */
export function readProcessStart(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[19];
  } catch {
    return undefined;
  }
}

/** Whether another process, which is still there, works on an entry. */
export function isInUse({ pid, processStart }: Stored, own: number): boolean {
  if (pid === 0 || pid === own || !isRunning(pid)) return false;
  const start = readProcessStart(pid);
  return start === undefined || processStart === undefined || start === processStart;
}

/** Reads an entry; undefined when there is none, or none that can be believed. */
export function readStored(path: string): Stored | undefined {
  try {
    const value = JSON.parse(readPrivate(path)) as Partial<Stored> | null;
    const isWhole =
      typeof value?.id === 'string' &&
      typeof value.command === 'string' &&
      typeof value.cwd === 'string' &&
      typeof value.pid === 'number' &&
      typeof value.connection?.service === 'string' &&
      Array.isArray(value.pids) &&
      Array.isArray(value.shown);
    return isWhole ? (value as Stored) : undefined;
  } catch (error) {
    if (isSystemError(error) || error instanceof UntrustedFile || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Writes an entry. It may be lost with the machine's power, not with the process: nothing is flushed. */
export function writeStored(path: string, entry: Stored): void {
  writePrivate(path, `${JSON.stringify(entry)}\n`, { flush: false });
}

/** What the list beside an entry holds: what is placed, and what is done with the version that it was done for. */
export interface Listed {
  readonly placed: Placed[];
  readonly done: Map<string, string>;
}

export function printPlaced([source, target]: Placed): string {
  return `${JSON.stringify(['placed', source, target])}\n`;
}

export function printDone(key: string, version: string): string {
  return `${JSON.stringify(['done', key, version])}\n`;
}

function readLine(line: string): string[] {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : [];
  } catch {
    // The last line of a process that was killed.
    return [];
  }
}

/** Reads the list beside an entry. A line that was cut is none. */
export function readListed(path: string): Listed {
  const listed: Listed = { placed: [], done: new Map() };
  for (const line of readPrivateLines(path)) {
    const [kind, first, second] = readLine(line);
    if (first === undefined || second === undefined) continue;
    if (kind === 'placed') listed.placed.push([first, second]);
    else if (kind === 'done') listed.done.set(first, second);
  }
  return listed;
}

/** How many items the list beside an entry has as done: more than the entry says when the process was killed. */
export function countDone(path: string): number {
  let count = 0;
  for (const line of readPrivateLines(path)) if (line.startsWith('["done"')) count += 1;
  return count;
}

/** Removes an entry: first that which lists show. */
export function removeStored(path: string, list: string): void {
  removeQuietly(path);
  removeQuietly(list);
}
