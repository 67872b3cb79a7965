import { closeSync, fstatSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { createMemoryGroup, type ControlGroups } from './control-groups.ts';
import { openTaskFile } from './task-files.ts';
import { countAllowedFiles, createFileCounter, createDiskMeter, measureMemory, mostDescriptors, TooManyDescriptors } from './zone-usage.ts';
import type { Ending } from './outcome.ts';

/**
 * Limits memory and disk of a zone as a whole. Memory: by a control group if one can be created; otherwise the memory of its processes is
 * summed up periodically, and each process is limited to the whole amount. Disk: no file may exceed the whole limit, and disk usage is
 * summed up periodically.
 */

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

export function diskLimitBytes(disk: number): number {
  return disk * gibibyte;
}

/** @param disk limit of a phase, GiB */
export function describeDiskLimit(disk: number): string {
  return `disk limit of ${disk} GB reached`;
}

/**
 * Minimum milliseconds between measurements; measuring takes a tenth of the time, unless the pauses would exceed the longest interval.
 */
const memoryInterval = 50;
const diskInterval = 200;
const filesInterval = 2000;
const longestInterval = 4000;

/** Maximum number of files and directories of a zone without a disk limit: a file system has a limited number of inodes. */
const mostFiles = 1_000_000;
const filesMessage = `limit of ${mostFiles} files reached; a disk limit allows ${countAllowedFiles(gibibyte)} for each GB`;

/** The limits of a zone. */
export interface LimitOptions {
  /** Name of the zone, which tasks find in their environment. */
  readonly name: string;
  /** Directory of the zone, created by `prepareZone`. */
  readonly directory: string;
  /** Memory limit of the zone, MiB. */
  readonly memory?: number | undefined;
  /** Disk limit of the zone, GiB. */
  readonly disk?: number | undefined;
  readonly groups: ControlGroups | undefined;
}

/** What a command left behind. */
export interface CommandLeft extends Pick<Ending, 'status'> {
  /** Disk usage of the zone when the command ended, bytes. */
  readonly size: number;
  /** File of the command's stderr. */
  readonly stderr: string;
}

/** The enforced limits of a running zone. */
export interface ZoneLimits {
  /** Control group that the zone joins; empty for none. */
  readonly group: string;
  /** Maximum data segment of a process and maximum file size, KiB; empty for no limit. */
  readonly data: string;
  readonly blocks: string;
  /** Measures the descendants of a process periodically, and calls `onReached` once when they exceed a limit. */
  watch(pid: number, onReached: (message: string) => void): void;
  /** The limit that ended a command or that the command exceeded; undefined if there is none. */
  judge(left: CommandLeft): string | undefined;
  /** The limit that ended the zone; undefined if there is none. */
  explainEnd(): string | undefined;
  stop(): void;
}

/** Calls `look` periodically until it returns a message, and passes that to `onReached`. @returns a function that stops */
function repeat(interval: number, look: () => Promise<string | undefined>, onReached: (message: string) => void): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const step = async (): Promise<void> => {
    const begun = performance.now();
    const message = await look().catch((error: unknown) => {
      if (error instanceof TooManyDescriptors) return `limit of ${mostDescriptors} open files of all processes reached`;
      // The directory was removed, for example: the zone ends.
      return undefined;
    });
    if (stopped) return;
    if (message !== undefined) return onReached(message);
    const wait = Math.min(Math.max(interval, (performance.now() - begun) * 10), longestInterval);
    timer = setTimeout(() => void step(), wait);
  };
  timer = setTimeout(() => void step(), interval);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** The status of a command that was ended by SIGXFSZ, because a file exceeded the limit. */
const tooLargeFile = 128 + constants.signals.SIGXFSZ;

/** Number of bytes at the end of stderr that are searched for an out-of-memory message. */
const lastWords = 16 * 1024;

/** True if stderr says that memory ran out: a process at its limit gets an error for further memory, and nobody else is notified. */
function saysMemory(stderr: string): boolean {
  const descriptor = openTaskFile(stderr);
  if (descriptor === undefined) return false;
  try {
    const start = Math.max(0, fstatSync(descriptor).size - lastWords);
    const bytes = Buffer.alloc(lastWords);
    const text = bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, lastWords, start));
    return /cannot allocate|can't allocate|out of memory|memory exhausted|memoryerror|bad_alloc|allocation failed|enomem/iu.test(text);
  } finally {
    closeSync(descriptor);
  }
}

/** Prepares the limits of a zone. */
export function createZoneLimits({ memory, disk, groups, name, directory }: LimitOptions): ZoneLimits {
  const memoryMessage = `memory limit of ${memory} MB reached`;
  const group = memory === undefined || !groups ? undefined : createMemoryGroup(groups, name, Math.ceil(memory * mebibyte));
  const stops: (() => void)[] = [];
  let reached: string | undefined;
  let kills = 0;
  const wasKilled = (): boolean => {
    const now = group?.countKills() ?? 0;
    const isMore = now > kills;
    kills = now;
    return isMore;
  };
  return {
    group: group?.directory ?? '',
    data: memory === undefined || group ? '' : String(Math.ceil(memory * 1024)),
    blocks: disk === undefined ? '' : String(Math.ceil(disk * mebibyte)),
    watch: (pid, onReached) => {
      const found = (message: string): void => {
        reached ??= message;
        onReached(reached);
      };
      if (memory !== undefined && !group) {
        const most = memory * mebibyte;
        const look = async (): Promise<string | undefined> => ((await measureMemory(pid, most)) > most ? memoryMessage : undefined);
        stops.push(repeat(memoryInterval, look, found));
      }
      if (disk !== undefined) {
        const measure = createDiskMeter(pid, directory, diskLimitBytes(disk));
        const look = async (): Promise<string | undefined> =>
          (await measure()) > diskLimitBytes(disk) ? describeDiskLimit(disk) : undefined;
        stops.push(repeat(diskInterval, look, found));
      } else {
        const countFiles = createFileCounter(directory, mostFiles);
        const look = async (): Promise<string | undefined> => ((await countFiles()) > mostFiles ? filesMessage : undefined);
        stops.push(repeat(filesInterval, look, found));
      }
    },
    judge: ({ status, size, stderr }) => {
      if (reached !== undefined) return reached;
      const failed = status !== 0;
      // Applies even if the command continued without the killed process: its output may be incomplete.
      if (wasKilled()) return memoryMessage;
      if (failed && memory !== undefined && !group && saysMemory(stderr)) return memoryMessage;
      if (disk === undefined) return undefined;
      // A command that could no longer write has used exactly the limit.
      const isFull = size > diskLimitBytes(disk) || (failed && size >= diskLimitBytes(disk));
      return isFull || status === tooLargeFile ? describeDiskLimit(disk) : undefined;
    },
    explainEnd: () => reached ?? (wasKilled() ? memoryMessage : undefined),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
