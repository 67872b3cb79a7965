import { constants } from 'node:os';
import { closeSync, constants as flags, createReadStream, openSync, readSync, statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isSystemError } from '../../errors.ts';
import { placeOfAbsolute, type Place } from '../storage/paths.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Failure, NewObject, Task } from './active-job.ts';
import { rootDirectory } from './isolation.ts';
import type { Ending } from './zone.ts';

/** Files up to this size are read at once. */
export const smallFile = 64 * 1024;

/** Most bytes of the part of a name that comes from an input; what is added to it must fit into 1024. */
const longestName = 960;

const emptyMd5 = '1B2M2Y8AsgTpgAmY7PhCfg==';

function shortenName(name: string): string {
  const bytes = Buffer.from(name);
  // A character that was cut in two reads as one that no name has.
  return bytes.length <= longestName
    ? name
    : bytes
        .subarray(0, longestName)
        .toString()
        .replace(/\uFFFD$/u, '');
}

/** What the paths of a task's objects begin with: `/demo/jobs/<id>/stor/demo/stor/a.txt.0.`, or `.../stor/reduce.1.`. */
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

// The files of tasks are small and many, and in the memory of the system: asking without a detour through threads costs a
// tenth, and nothing waits behind the flushes that occupy the threads.

function measureFile(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Room for a small file, and one byte more that tells that a file is larger. */
const room = Buffer.allocUnsafe(smallFile + 1);

/** What is in a file that a task wrote; undefined when that is more than is read at once. A file that is not there is empty. */
function readSmall(file: string): Buffer | undefined {
  let descriptor;
  try {
    // What a task may have put there instead must neither be followed nor waited for.
    descriptor = openSync(file, flags.O_RDONLY | flags.O_NOFOLLOW | flags.O_NONBLOCK);
    const size = readSync(descriptor, room, 0, room.length, 0);
    return size > smallFile ? undefined : Buffer.from(room.subarray(0, size));
  } catch (error) {
    if (isSystemError(error) && error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Stores a file of a zone as what an object under `base` is to be made of. */
export async function saveFile(store: Store, file: string, base: string): Promise<NewObject> {
  const place = placeObject(base);
  const bytes = readSmall(file);
  if (bytes?.length === 0) return { place, content: null, size: 0, md5: emptyMd5 };
  const stored = await (bytes ? store.bytes.keep(bytes) : store.bytes.write(createReadStream(file)));
  return { place, content: stored.id, size: stored.size, md5: stored.md5 };
}

function nameSignal(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}

/** An ending in words: `exited with code 3`, `terminated by SIGKILL`. */
export function describeEnding({ status, signalled }: Ending): string {
  return signalled ? `terminated by ${nameSignal(status - 128)}` : `exited with code ${status}`;
}

async function findCore(directory: string): Promise<string | undefined> {
  const names = await readdir(directory).catch(() => []);
  const core = names.find((name) => /^core(?:\.\d+)?$/u.test(name));
  return core === undefined ? undefined : join(directory, core);
}

/** Stores standard error and core file of a command that failed, where it left any. */
export async function saveTraces(
  store: Store,
  { stderr, directory, base }: { stderr: string; directory: string; base: string },
): Promise<Pick<Failure, 'stderr' | 'core' | 'objects'>> {
  const said = measureFile(stderr) > 0 ? await saveFile(store, stderr, `${base}err.`) : undefined;
  const coreFile = await findCore(directory);
  const core = coreFile === undefined ? undefined : await saveFile(store, coreFile, `${base}core.`);
  const objects = [said, core].filter((object) => object !== undefined);
  return { stderr: said?.place.path, core: core?.place.path, objects };
}

/** Where a task is done. */
export interface TaskPlace {
  /** Directory of the zone. */
  readonly directory: string;
  readonly slot: string;
}

/** What became of a task: its output, or why it has none. */
export async function collectTask(store: Store, task: Task, { directory, slot }: TaskPlace, ending: Ending): Promise<NewObject | Failure> {
  const { job, phase, origin } = task;
  const base = baseOf(job, phase.number, origin);
  if (ending.status === 0) return saveFile(store, join(directory, 'out', slot), base);
  const traces = await saveTraces(store, {
    stderr: join(directory, 'err', slot),
    directory: join(rootDirectory(directory), 'work', slot),
    base,
  });
  return { code: 'UserTaskError', message: `user command ${describeEnding(ending)}`, ...traces };
}
