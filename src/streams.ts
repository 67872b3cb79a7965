import { fstatSync, readFileSync, statSync, writeSync } from 'node:fs';
import { isSystemError } from './base/errors.ts';
import type { OutputStream } from './base/world.ts';

/** The standard streams of the process, for `main.ts`. */

/** Path of the null device. `node:os` provides it too, but would be loaded only for this. */
const nullDevice = process.platform === 'win32' ? String.raw`\\.\nul` : '/dev/null';

/** True if a file descriptor is a terminal. Most other descriptors are recognized without loading `node:tty`. */
export function isTerminal(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    if (!stats.isCharacterDevice() || stats.rdev === statSync(nullDevice).rdev) return false;
  } catch {
    return false;
  }
  return process.getBuiltinModule('node:tty').isatty(fd);
}

/**
 * Why nothing can be read from stdin; undefined if something can. If the program was started with stdin closed, Node.js opens the null
 * device for reading and writing; a user who redirects from the null device opens it for reading only. A directory or a block device is an
 * empty stream in Node.js.
 */
export function findStdinObstacle(): string | undefined {
  try {
    const stats = fstatSync(0);
    if (stats.isDirectory() || stats.isBlockDevice()) return stats.isDirectory() ? 'is a directory' : 'is a block device';
    if (!stats.isCharacterDevice() || stats.rdev !== statSync(nullDevice).rdev) return undefined;
    writeSync(0, Buffer.alloc(1));
    return 'is closed';
  } catch {
    return undefined;
  }
}

/** True if a stream of the process is a terminal. */
export function usesTerminal(): boolean {
  return [0, 1, 2].some(isTerminal);
}

/** Writes as much as a file descriptor accepts without waiting; returns the rest. */
function writeNow(fd: number, text: string): Uint8Array {
  let rest: Uint8Array = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
  } catch (error) {
    // Another process has made the pipe non-blocking: the stream waits for its reader.
    if (!isSystemError(error) || error.code !== 'EAGAIN') throw error;
  }
  return rest;
}

/** False while the process is in the background of a shell, where using the terminal would stop it (SIGTTOU, SIGTTIN). Linux only. */
function isForeground(): boolean {
  try {
    // The second field, a name in parentheses, may contain any characters. Then: state, parent, group, session, terminal, foreground group.
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    return fields[5] === '-1' || fields[2] === fields[5];
  } catch {
    return true;
  }
}

/** A stream of the process, opened on first use because that loads a large part of Node.js. */
export function outputStream(fd: number, open: () => NodeJS.WriteStream): OutputStream & { isWritten: () => boolean } {
  let opened: NodeJS.WriteStream | undefined;
  let terminal: boolean | undefined;
  const get = (): NodeJS.WriteStream => {
    if (opened) return opened;
    opened = open();
    // Write callbacks report errors too; without a listener, errors would end the process.
    opened.on('error', () => undefined);
    return opened;
  };
  return {
    get stream() {
      return get();
    },
    // Data that the stream has buffered must come first.
    writeEarly: (text) => (opened ? Buffer.from(text) : writeNow(fd, text)),
    get isTerminal() {
      return (terminal ??= isTerminal(fd));
    },
    isForeground,
    columns: () => get().columns || 80,
    rows: () => get().rows || 24,
    isWritten: () => opened === undefined || opened.writableLength === 0,
  };
}
