import { closeSync, constants, fstatSync, openSync, readdirSync } from 'node:fs';
import { platform } from 'node:os';
import { isSystemError } from '../../base/errors.ts';

/**
 * Files that tasks have written, opened so that nothing that a task put there instead leads elsewhere: a link, a named pipe, a device.
 * Each is opened once and read by its descriptor.
 */

const common = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Failures of opening that mean that no file of the kind is there. */
const absences = new Set(['ENOENT', 'ELOOP', 'ENOTDIR', 'ENXIO', 'EACCES', 'EMLINK']);

function open(path: string, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (isSystemError(error) && absences.has(error.code ?? '')) return undefined;
    throw error;
  }
}

/** The descriptor of a regular file; undefined when there is none. Tasks must not be able to change the path before the last name. */
export function openTaskFile(path: string): number | undefined {
  const descriptor = open(path, common);
  if (descriptor === undefined || fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  return undefined;
}

/** A directory that a task has written to. */
export interface TaskFolder {
  readonly names: readonly string[];
  /** The descriptor of a regular file in it; undefined when there is none by this name. */
  open(name: string): number | undefined;
  close(): void;
}

/** Opens a directory; undefined when there is none. Tasks must not be able to change the path before the last name. */
export function openTaskFolder(path: string): TaskFolder | undefined {
  const descriptor = open(path, common | constants.O_DIRECTORY);
  if (descriptor === undefined) return undefined;
  // Node.js has no openat(2). Systems without this file system have no sandbox either.
  const base = platform() === 'linux' ? `/proc/self/fd/${descriptor}` : path;
  return {
    names: readdirSync(base),
    open: (name) => openTaskFile(`${base}/${name}`),
    close: () => closeSync(descriptor),
  };
}
