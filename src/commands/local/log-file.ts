import { copyFileSync, existsSync, fstatSync, ftruncateSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The log of a service in the background is what it writes to stderr: it may run for weeks, so the log is kept short. */

const stderr = 2;

/** Bytes at which what is there is put aside. */
const longest = 64 * 1024 * 1024;

/** Files of the log, older first, as far as they are there. */
export function findLogs(dataDir: string): string[] {
  return [`${logFileOf(dataDir)}.1`, logFileOf(dataDir)].filter((file) => existsSync(file));
}

/** Where a service in the background logs. */
export function logFileOf(dataDir: string): string {
  return join(dataDir, 'service.log');
}

function isStderr(file: string): boolean {
  if (!existsSync(file)) return false;
  const [written, there] = [fstatSync(stderr), statSync(file)];
  return written.ino === there.ino && written.dev === there.dev;
}

/**
 * Begins to watch how long the log becomes; what it gives is called with each line. The stream has no end as long as the service
 * runs, so the file stays the same and is emptied; what was in it takes the place of what was put aside before.
 */
export function watchLog(dataDir: string): (line: string) => void {
  const file = logFileOf(dataDir);
  if (!isStderr(file)) return () => undefined;
  let size = fstatSync(stderr).size;
  return (line) => {
    size += Buffer.byteLength(line) + 1;
    if (size < longest) return;
    copyFileSync(file, `${file}.1`);
    ftruncateSync(stderr);
    size = 0;
  };
}
