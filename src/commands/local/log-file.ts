import { copyFileSync, existsSync, fstatSync, ftruncateSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The log of a background service is its stderr. A service may run for weeks, so the size of its log is limited. */

const stderr = 2;

/** Size at which the log is rotated, bytes. */
const longest = 64 * 1024 * 1024;

/** The existing files of the log, the older first. */
export function findLogs(dataDir: string): string[] {
  return [`${logFileOf(dataDir)}.1`, logFileOf(dataDir)].filter((file) => existsSync(file));
}

/** The log file of a background service. */
export function logFileOf(dataDir: string): string {
  return join(dataDir, 'service.log');
}

function isStderr(file: string): boolean {
  if (!existsSync(file)) return false;
  const [written, there] = [fstatSync(stderr), statSync(file)];
  return written.ino === there.ino && written.dev === there.dev;
}

/**
 * Returns a function to call with each line; it rotates the log at 64 MiB. The service cannot reopen its stderr: the content is copied over
 * `service.log.1`, and the file is truncated.
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
