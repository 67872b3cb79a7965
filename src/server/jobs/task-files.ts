import { closeSync, constants, fstatSync, lstatSync, openSync, opendirSync } from 'node:fs';
import { platform } from 'node:os';
import { isSystemError } from '../../base/errors.ts';

/**
 * Opens files that tasks have written, so that nothing which a task put in their place leads elsewhere: a link, a named pipe, a device.
 * Each file is opened once and read by its descriptor.
 */

const common = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Error codes that mean that there is no file of the expected kind. */
const absences = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO', 'EACCES', 'EMLINK']);

function open(path: string, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (isSystemError(error) && absences.has(error.code ?? '')) return undefined;
    throw error;
  }
}

/** Opens a regular file; undefined if there is none. The caller makes sure that tasks cannot change the directories of the path. */
export function openTaskFile(path: string): number | undefined {
  const descriptor = open(path, common);
  if (descriptor === undefined || fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  return undefined;
}

/** A directory that a task has written to. */
export interface TaskFolder {
  /** Names of its entries, read as they are consumed: there may be millions. */
  names(): Iterable<string>;
  /** Opens a regular file of the directory; undefined if there is none of this name. */
  open(name: string): number | undefined;
  /** Size of the entry of this name in bytes, links not followed; 0 if there is none. */
  measure(name: string): number;
  close(): void;
}

function* readNames(path: string): Generator<string> {
  const directory = opendirSync(path);
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name;
  } finally {
    directory.closeSync();
  }
}

/** Opens a directory; undefined if there is none. The caller makes sure that tasks cannot change the directories of the path. */
export function openTaskFolder(path: string): TaskFolder | undefined {
  const descriptor = open(path, common | constants.O_DIRECTORY);
  if (descriptor === undefined) return undefined;
  // Node.js has no openat(2). Systems without /proc have no sandbox either.
  const base = platform() === 'linux' ? `/proc/self/fd/${descriptor}` : path;
  return {
    names: () => readNames(base),
    open: (name) => openTaskFile(`${base}/${name}`),
    measure: (name) => lstatSync(`${base}/${name}`, { throwIfNoEntry: false })?.size ?? 0,
    close: () => closeSync(descriptor),
  };
}
