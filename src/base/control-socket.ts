import { closeSync, existsSync, openSync } from 'node:fs';
import { LocalError } from './errors.ts';

/** Folder of a data directory in which the socket of the control interface is; nobody else may look into it. */
const folder = 'control';

/** Most bytes of the path of a socket on every system: macOS has 104 with the NUL at the end, Linux 108. */
const longestPath = 103;

/** Where the descriptors of a process are paths, a long directory has a short name. */
const descriptors = '/proc/self/fd';

export function controlFolderOf(dataDir: string): string {
  return `${dataDir}/${folder}`;
}

export function controlSocketOf(dataDir: string): string {
  return `${controlFolderOf(dataDir)}/socket`;
}

/** A path by which a socket is bound or connected to. */
export interface ShortPath {
  readonly path: string;
  /** The path may be of no use afterwards. */
  close(): void;
}

/**
 * A path of the socket that is short enough for the system, which knows none beyond about 100 bytes.
 * @throws {LocalError} where the path is too long and the system has no other name for it; ENOENT when there is no folder.
 */
export function shortenSocketPath(dataDir: string): ShortPath {
  const path = controlSocketOf(dataDir);
  if (Buffer.byteLength(path) <= longestPath) return { path, close: () => undefined };
  if (!existsSync(descriptors))
    throw new LocalError(`${path}: the path is too long for a socket of this system, which may have ${longestPath} bytes`, {
      hint: 'choose a data directory with a shorter path: --data DIR',
    });
  const descriptor = openSync(controlFolderOf(dataDir), 'r');
  return { path: `${descriptors}/${descriptor}/socket`, close: () => closeSync(descriptor) };
}
