import { readFileSync } from 'node:fs';
import { isSystemError, quietly } from '../base/errors.ts';
import { readPrivate, removeQuietly, UntrustedFile, writePrivate } from '../base/private-files.ts';
import { readPrivateLines } from '../base/private-lines.ts';
import { isAlive } from '../base/world.ts';

/** The kinds of work in lists. */
export type WorkKind = 'upload' | 'download' | 'sync' | 'remove' | 'copy' | 'move' | 'job' | 'images';

/** A source and its target: absolute paths, which mean the same in every directory, even if the target exists when work is resumed. */
export type Placed = readonly [source: string, target: string];

/** Work as a command declares it. All of it is stored as JSON. */
export interface Work {
  /** The command that resumes the work, from the table in `commands/resume/table.ts`: `stor put`. */
  readonly command: string;
  readonly kind: WorkKind;
  /** Arguments and options, as parsed. Arguments that `placed` contains may be omitted. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: Readonly<Record<string, unknown>>;
  readonly placed: readonly Placed[];
  /** Distinguishes work with the same arguments, such as the id of a job. */
  readonly key?: string | undefined;
  /** The reason why the work cannot be resumed: `its bytes came from stdin`. */
  readonly obstacle?: string | undefined;
  /** Further data for the command: the id of a job, the time at the service. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** The service and identity of the work, so that it is resumed with the same. */
export interface Connection {
  /** The profile in use, read again when the work is resumed. */
  readonly profile: string | undefined;
  /** Settings of the command line and environment that were used in addition. */
  readonly options: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
  /** URL of the object storage or the compute service, and the account: the profile may have changed when the work is resumed. */
  readonly service: string;
  readonly account: string;
}

/** An entry on disk, without its list of sources and targets. */
export interface Stored extends Omit<Work, 'placed'> {
  readonly id: string;
  readonly connection: Connection;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly began: number;
  /** Milliseconds since the epoch of the last change. */
  readonly updated: number;
  /** The process that does the work; 0 for none. */
  readonly pid: number;
  /** Start time of that process as the system counts it, since process ids are reused. */
  readonly processStart?: string | undefined;
  /** All processes that have done the work; temporary files with their ids belong to it. */
  readonly pids: readonly number[];
  readonly doneItems: number;
  readonly doneBytes: number;
  /** 0 if unknown. */
  readonly items: number;
  readonly bytes: number;
  /** The first sources and targets, for lists. */
  readonly shown: readonly Placed[];
  readonly sources: number;
}

/** Start time of a process in ticks since boot; undefined if the system does not provide it. */
export function readProcessStart(pid: number): string | undefined {
  return quietly(() => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ')[19], undefined);
}

/** True if another, running process works on an entry. */
export function isInUse({ pid, processStart }: Stored, own: number): boolean {
  if (pid === 0 || pid === own || !isAlive(process, pid)) return false;
  const start = readProcessStart(pid);
  return start === undefined || processStart === undefined || start === processStart;
}

/** Reads an entry; undefined if it is missing, invalid or not trusted. */
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

/** Writes an entry without flushing: it survives the end of the process, but not a power failure. */
export function writeStored(path: string, entry: Stored): void {
  writePrivate(path, `${JSON.stringify(entry)}\n`, { flush: false });
}

/** The list of an entry: sources with targets, and the version for which each item is done. */
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
  // The last line of a process that was killed is not JSON.
  const value = quietly<unknown>(() => JSON.parse(line), undefined);
  return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : [];
}

/** Reads the list of an entry. Skips truncated lines. */
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

/** Number of items done according to the list; higher than in the entry if the process was killed. */
export function countDone(path: string): number {
  let count = 0;
  for (const line of readPrivateLines(path)) if (line.startsWith('["done"')) count += 1;
  return count;
}

/** Deletes an entry: first the file that lists show. */
export function removeStored(path: string, list: string): void {
  removeQuietly(path);
  removeQuietly(list);
}
