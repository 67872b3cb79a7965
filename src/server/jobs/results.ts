import { constants } from 'node:os';
import { closeSync, createReadStream, fstatSync, readSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { discardContents } from '../storage/garbage.ts';
import { placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { isPostgres } from '../store/engine-of.ts';
import { keepInline } from '../store/inline-bytes.ts';
import { keepInRow, type RowBytes } from '../store/row-bytes.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Task } from './active-job.ts';
import { rootDirectory, streamDirectory } from './isolation.ts';
import { isNoRoom, type ReserveOutput } from './output-budget.ts';
import { openTaskFile, openTaskFolder } from './task-files.ts';
import type { Failure, NewObject, Ending } from './outcome.ts';

/** Maximum size of files that are read in one call, bytes. */
export const smallFile = 64 * 1024;

/** Maximum bytes of the part of an object name that comes from an input; with the suffixes it must fit into 1024. */
const longestName = 960;

const emptyMd5 = '1B2M2Y8AsgTpgAmY7PhCfg==';

function shortenName(name: string): string {
  const bytes = Buffer.from(name);
  if (bytes.length <= longestName) return name;
  // A character that was cut in two decodes to U+FFFD, which no name contains.
  const start = bytes.subarray(0, longestName).toString();
  return start.replace(/\uFFFD$/u, '');
}

/** Prefix of the paths of a task's objects: `/demo/jobs/<id>/stor/demo/stor/a.txt.0.` or `.../stor/reduce.1.`. */
export function baseOf(job: ActiveJob, phase: number, origin: string | null): string {
  const input = origin === null ? undefined : placeOfAbsolute(origin);
  const parts = input ? [input.login, ...input.parts] : ['reduce'];
  const name = shortenName(parts.at(-1) ?? '');
  return `/${job.account.login}/jobs/${job.id}/stor/${[...parts.slice(0, -1), name].join('/')}.${phase}.`;
}

function placeObject(base: string): Place {
  const place = placeOfAbsolute(`${base}${randomUUID()}`);
  if (!place) throw new Error(`no path: ${base}`);
  return place;
}

// The files of tasks are small, numerous and in the page cache. Synchronous calls cost a tenth of calls in the thread pool, and do not wait
// behind the flushes that occupy the threads.

/** Buffer for a small file; one byte more shows that a file is larger. */
const room = Buffer.allocUnsafe(smallFile + 1);

/**
 * Stores a few bytes. If the database is on another machine, a database row saves a request to the content store. @param now milliseconds
 * since the epoch
 */
async function keepSmall({ db, bytes: contents }: Store, bytes: Buffer, now: number): Promise<StoredBytes & Partial<RowBytes>> {
  return keepInline(bytes) ?? (isPostgres(db) ? keepInRow(db, bytes, now) : undefined) ?? contents.keep(bytes);
}

/** How files of a zone are stored. */
export interface SaveOptions {
  /** Prefix of the path of the object. */
  readonly base: string;
  readonly now: () => number;
  /** Aborts the copy. */
  readonly signal: AbortSignal;
  /** Called with the place of the object and the size of the file before the file is copied; an error prevents the copy. */
  readonly reserve: ReserveOutput;
}

/**
 * Stores an open file of a zone as the content of a new object under `base`, and closes the file. Without a file, the object is empty. Holes
 * of the file are copied as zero bytes.
 */
export async function saveFile(
  store: Store,
  descriptor: number | undefined,
  { base, now, signal, reserve }: SaveOptions,
): Promise<NewObject> {
  const place = placeObject(base);
  if (descriptor === undefined) return { place, content: null, size: 0, md5: emptyMd5 };
  let mustClose = true;
  try {
    const size = readSync(descriptor, room, 0, room.length, 0);
    if (size === 0) return { place, content: null, size: 0, md5: emptyMd5 };
    const isSmall = size <= smallFile;
    const bytes = isSmall ? Buffer.from(room.subarray(0, size)) : undefined;
    const length = bytes?.length ?? Math.max(size, fstatSync(descriptor).size);
    await reserve({ place, size: length });
    signal.throwIfAborted();
    mustClose = bytes !== undefined;
    const stored: StoredBytes & Partial<RowBytes> = await (bytes
      ? keepSmall(store, bytes, now())
      : store.bytes.write(createReadStream('', { fd: descriptor, start: 0, end: length - 1, signal })));
    return { place, content: stored.id, size: stored.size, md5: stored.md5, row: stored.row };
  } finally {
    if (mustClose) closeSync(descriptor);
  }
}

function nameSignal(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}

/** Describes an ending: `exited with code 3`, `terminated by SIGKILL`. */
export function describeEnding({ status, signalled }: Ending): string {
  return signalled ? `terminated by ${nameSignal(status - 128)}` : `exited with code ${status}`;
}

/** Maximum number of other entries of a directory in which a core file is searched for. */
const mostOthers = 10_000;

/** Opens the core file in a directory; undefined if there is none. */
function openCore(directory: string): number | undefined {
  const folder = openTaskFolder(directory);
  try {
    let others = 0;
    for (const name of folder?.names() ?? []) {
      if (/^core(?:\.\d+)?$/u.test(name)) return folder?.open(name);
      if ((others += 1) > mostOthers) break;
    }
    return undefined;
  } finally {
    folder?.close();
  }
}

/** Opens the stderr file of a command; undefined if it is missing or empty. */
function openSaid(file: string): number | undefined {
  const descriptor = openTaskFile(file);
  if (descriptor === undefined || fstatSync(descriptor).size > 0) return descriptor;
  closeSync(descriptor);
  return undefined;
}

/** Where a failed command left what is stored of it, and how. */
export interface TraceOptions extends SaveOptions {
  /** File of its stderr. */
  readonly stderr: string;
  /** Directory that may have a core file. */
  readonly directory: string;
}

/** Stores stderr and the core file of a failed command, if there are any and there is room for them. */
export async function saveTraces(
  store: Store,
  { stderr, directory, base, ...options }: TraceOptions,
): Promise<Pick<Failure, 'stderr' | 'core' | 'objects'>> {
  const save = async (descriptor: number | undefined, suffix: string): Promise<NewObject | undefined> => {
    try {
      return descriptor === undefined ? undefined : await saveFile(store, descriptor, { ...options, base: `${base}${suffix}` });
    } catch (error) {
      if (isNoRoom(error)) return undefined;
      throw error;
    }
  };
  const said = await save(openSaid(stderr), 'err.');
  const core = await save(openCore(directory), 'core.').catch(async (error: unknown) => {
    await discardContents(store, [said]);
    throw error;
  });
  const objects = [said, core].filter((object) => object !== undefined);
  return { stderr: said?.place.path, core: core?.place.path, objects };
}

/** The zone directory and slot of a task. */
export interface TaskPlace {
  /** Directory of the zone. */
  readonly directory: string;
  readonly slot: string;
}

/** The failure of a task that did not end successfully. */
export async function collectFailure(
  store: Store,
  task: Task,
  { directory, slot }: TaskPlace,
  { ending, reserve }: { ending: Ending; reserve: ReserveOutput },
): Promise<Failure> {
  const { job, phase, origin } = task;
  const traces = await saveTraces(store, {
    stderr: join(streamDirectory(directory), 'err', slot),
    directory: join(rootDirectory(directory), 'work', slot),
    base: baseOf(job, phase.number, origin),
    now: job.now,
    signal: job.stopping.signal,
    reserve,
  });
  const what = ending.status === 0 ? 'or child process dumped core' : describeEnding(ending);
  return { code: 'UserTaskError', message: ending.limit ?? `user command ${what}`, ...traces };
}
