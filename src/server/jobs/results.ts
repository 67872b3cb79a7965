import { constants } from 'node:os';
import { closeSync, createReadStream, fstatSync, readSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { StoredBytes } from '../store/bytes.ts';
import { isPostgres } from '../store/engine-of.ts';
import { keepInline } from '../store/inline-bytes.ts';
import { keepInRow, type RowBytes } from '../store/row-bytes.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Task } from './active-job.ts';
import { rootDirectory, streamDirectory } from './isolation.ts';
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

/** Stores an open file of a zone as the content of a new object under `base`, and closes the file. Without a file, the object is empty. */
export async function saveFile(
  store: Store,
  descriptor: number | undefined,
  { base, now }: { base: string; now: () => number },
): Promise<NewObject> {
  const place = placeObject(base);
  if (descriptor === undefined) return { place, content: null, size: 0, md5: emptyMd5 };
  let mustClose = true;
  try {
    const size = readSync(descriptor, room, 0, room.length, 0);
    if (size === 0) return { place, content: null, size: 0, md5: emptyMd5 };
    const isSmall = size <= smallFile;
    mustClose = isSmall;
    const stored: StoredBytes & Partial<RowBytes> = await (isSmall
      ? keepSmall(store, Buffer.from(room.subarray(0, size)), now())
      : store.bytes.write(createReadStream('', { fd: descriptor, start: 0 })));
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

/** Opens the core file in a directory; undefined if there is none. */
function openCore(directory: string): number | undefined {
  const folder = openTaskFolder(directory);
  try {
    const core = folder?.names.find((name) => /^core(?:\.\d+)?$/u.test(name));
    return core === undefined ? undefined : folder?.open(core);
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

/** Stores stderr and the core file of a failed command, if there are any. */
export async function saveTraces(
  store: Store,
  { stderr, directory, base, now }: { stderr: string; directory: string; base: string; now: () => number },
): Promise<Pick<Failure, 'stderr' | 'core' | 'objects'>> {
  const saidFile = openSaid(stderr);
  const coreFile = openCore(directory);
  const said = saidFile === undefined ? undefined : await saveFile(store, saidFile, { base: `${base}err.`, now });
  const core = coreFile === undefined ? undefined : await saveFile(store, coreFile, { base: `${base}core.`, now });
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
export async function collectFailure(store: Store, task: Task, { directory, slot }: TaskPlace, ending: Ending): Promise<Failure> {
  const { job, phase, origin } = task;
  const base = baseOf(job, phase.number, origin);
  const traces = await saveTraces(store, {
    stderr: join(streamDirectory(directory), 'err', slot),
    directory: join(rootDirectory(directory), 'work', slot),
    base,
    now: job.now,
  });
  const what = ending.status === 0 ? 'or child process dumped core' : describeEnding(ending);
  return { code: 'UserTaskError', message: ending.limit ?? `user command ${what}`, ...traces };
}
