import { closeSync, fstatSync, readSync } from 'node:fs';
import { constants } from 'node:os';
import { createMemoryGroup, type ControlGroups } from './control-groups.ts';
import { openTaskFile } from './task-files.ts';
import { measureDisk, measureMemory } from './zone-usage.ts';
import type { Ending } from './outcome.ts';

/**
 * Limits of memory and disk for a zone as a whole. Memory: a control group, where one can be made; otherwise what its processes use is
 * summed up again and again, and each alone may not have more. Disk: no file may be larger than all may be together, and what
 * there is is summed up again and again.
 */

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

/** Milliseconds between looks; looking takes a tenth of the time at most. */
const memoryInterval = 50;
const diskInterval = 200;

/** What a zone may use. */
export interface LimitOptions {
  /** MiB. */
  readonly memory?: number | undefined;
  /** GiB. */
  readonly disk?: number | undefined;
  readonly groups: ControlGroups | undefined;
  readonly name: string;
  readonly directory: string;
}

/** What a command left. */
export interface CommandLeft extends Pick<Ending, 'status'> {
  /** What the zone had on disk at its end, bytes. */
  readonly size: number;
  /** File of its standard error. */
  readonly stderr: string;
}

/** The limits of a zone that runs. */
export interface ZoneLimits {
  /** Control group that the zone joins; empty for none. */
  readonly group: string;
  /** Largest data segment of a process and largest file, KiB; empty for none. */
  readonly data: string;
  readonly blocks: string;
  /** Looks at what the processes below one use, and says so once when it is too much. */
  watch(pid: number, onReached: (message: string) => void): void;
  /** The limit that ended a command, or that it has gone beyond; undefined when there is none. */
  judge(left: CommandLeft): string | undefined;
  /** The limit that ended the zone; undefined when there is none. */
  explainEnd(): string | undefined;
  stop(): void;
}

/** Calls `look` again and again until it returns true. */
function repeat(interval: number, look: () => Promise<boolean> | boolean): () => void {
  let stopped = false;
  let timer: NodeJS.Timeout;
  const step = async (): Promise<void> => {
    const begun = performance.now();
    const isOver = await look();
    const wait = Math.max(interval, (performance.now() - begun) * 10);
    if (!isOver && !stopped) timer = setTimeout(() => void step(), wait);
  };
  timer = setTimeout(() => void step(), interval);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** The status of a command that a signal for a file beyond the limit ended. */
const tooLargeFile = 128 + constants.signals.SIGXFSZ;

/** Bytes at the end of standard error in which a command says why it ended. */
const lastWords = 16 * 1024;

/**
 * True when a command says that it got no memory: a process that has its share gets an error for more, and nobody else is told.
 */
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
  const diskMessage = `disk limit of ${disk} GB reached`;
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
      const found = (message: string): true => {
        reached ??= message;
        onReached(reached);
        return true;
      };
      if (memory !== undefined && !group) {
        stops.push(repeat(memoryInterval, () => measureMemory(pid, memory * mebibyte) > memory * mebibyte && found(memoryMessage)));
      }
      if (disk !== undefined) {
        stops.push(repeat(diskInterval, async () => (await measureDisk(pid, directory)) > disk * gibibyte && found(diskMessage)));
      }
    },
    judge: ({ status, size, stderr }) => {
      if (reached !== undefined) return reached;
      const failed = status !== 0;
      // Also when the command went on without the process that was killed: what it wrote may lack a part.
      if (wasKilled()) return memoryMessage;
      if (failed && memory !== undefined && !group && saysMemory(stderr)) return memoryMessage;
      if (disk === undefined) return undefined;
      // A command that could not write on has left just as much as it may.
      const isFull = size > disk * gibibyte || (failed && size >= disk * gibibyte);
      return isFull || status === tooLargeFile ? diskMessage : undefined;
    },
    explainEnd: () => reached ?? (wasKilled() ? memoryMessage : undefined),
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
