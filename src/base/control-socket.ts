import { closeSync, existsSync, openSync } from 'node:fs';
import { LocalError } from './errors.ts';

/** Folder in a data directory that holds the socket of the control interface; only its owner may access it. */
const folder = 'control';

/** Most bytes in the path of a socket that every system accepts: macOS allows 104 with the NUL at the end, Linux 108. */
const longestPath = 103;

/** Where file descriptors have paths, a long directory can be addressed by a short one. */
const descriptors = '/proc/self/fd';

export function controlFolderOf(dataDir: string): string {
  return `${dataDir}/${folder}`;
}

export function controlSocketOf(dataDir: string): string {
  return `${controlFolderOf(dataDir)}/socket`;
}

/** A path for binding or connecting a socket. */
export interface ShortPath {
  readonly path: string;
  /** Releases the path, which may be invalid afterwards. */
  close(): void;
}

/**
 * A path of the socket that is short enough for the system, which accepts about 100 bytes.
 * @throws {LocalError} when the path is too long and the system offers no shorter one; ENOENT when the folder does not exist.
 */
export function shortenSocketPath(dataDir: string): ShortPath {
  const path = controlSocketOf(dataDir);
  if (Buffer.byteLength(path) <= longestPath) return { path, close: () => undefined };
  if (!existsSync(descriptors))
    throw new LocalError(`${path}: the path is too long for a socket: this system allows ${longestPath} bytes`, {
      hint: 'choose a data directory with a shorter path: --data DIR',
    });
  const descriptor = openSync(controlFolderOf(dataDir), 'r');
  return { path: `${descriptors}/${descriptor}/socket`, close: () => closeSync(descriptor) };
}
