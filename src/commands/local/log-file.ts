import { copyFileSync, existsSync, fstatSync, ftruncateSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { logName } from '../../base/data-directory.ts';
import { readClock } from '../../base/clock.ts';
import { quietly } from '../../base/errors.ts';
import type { Context } from '../../cli/command.ts';
import { formatNote, saysJson } from '../../output/notes.ts';

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
  return join(dataDir, logName);
}

function isStderr(file: string): boolean {
  if (!existsSync(file)) return false;
  const [written, there] = [fstatSync(stderr), statSync(file)];
  return written.ino === there.ino && written.dev === there.dev;
}

/**
 * Returns a function to call before text is written; it rotates the log at 64 MiB. The service cannot reopen its stderr: the content is
 * copied over `service.log.1`, and the file is truncated.
 */
function rotateLog(dataDir: string): (text: string) => void {
  const file = logFileOf(dataDir);
  if (!isStderr(file)) return () => undefined;
  let size = fstatSync(stderr).size;
  return (text) => {
    size += Buffer.byteLength(text);
    if (size < longest) return;
    // On a full disk the older lines are lost: the service goes on.
    quietly(() => copyFileSync(file, `${file}.1`), undefined);
    quietly(() => ftruncateSync(stderr), undefined);
    size = 0;
  };
}

/** The log of a service, on its stderr. */
export interface Log {
  /** Adds a line with the time. */
  add(text: string): void;
  /** Writes the lines that are not written yet. */
  flush(): void;
}

/** Milliseconds within which a line follows another only if many requests arrive: one client waits longer for its response. */
const busyMs = 0.5;

/**
 * A line is written before its response, unless the service is busy: then lines are written together at the end of the turn of the event
 * loop, because a write for each request takes a tenth of the time of a small one.
 */
export function openLog({ world, global }: Pick<Context, 'world' | 'global'>, dataDir: string): Log {
  const rotate = rotateLog(dataDir);
  const asJson = saysJson({ ...global });
  let held = '';
  let latest = -Infinity;
  function flush(): void {
    const lines = held;
    held = '';
    if (lines === '') return;
    rotate(lines);
    if (!global.quiet) world.stderr.stream.write(lines);
  }
  return {
    add: (text) => {
      const now = readClock();
      const isBusy = now - latest < busyMs;
      latest = now;
      if (isBusy && held === '') setImmediate(flush);
      held += formatNote('note', `${new Date(world.now()).toISOString()} ${text}`, asJson);
      if (!isBusy) flush();
    },
    flush,
  };
}
