import { unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quietly } from '../../base/errors.ts';
import { streamDirectory } from './isolation.ts';
import type { Ending } from './outcome.ts';
import type { ZoneLimits } from './zone-limits.ts';

/** The zone ended before the task did; the task can be retried. */
export class ZoneLost extends Error {
  override readonly name = 'ZoneLost';
  /** True if the task had begun. */
  readonly begun: boolean;

  constructor(message: string, begun: boolean) {
    super(message);
    this.begun = begun;
  }
}

/** The service withdrew the task before it began. */
export class TaskTakenBack extends Error {
  override readonly name = 'TaskTakenBack';
  /** Resolves when the zone has skipped the task: then its slot is free. */
  readonly passed: Promise<void>;

  constructor(passed: Promise<void>) {
    super('the task was taken back before it began');
    this.passed = passed;
  }
}

/** The task exceeded its time limit and was killed with its zone. */
export class TaskTooLong extends Error {
  override readonly name = 'TaskTooLong';
}

/** The zone exceeded a limit and was killed with the task. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
}

interface Waiting {
  /** First word of the output line that ends this entry: the slot of a task, or `ready` for init. */
  readonly label: string;
  resolve(ending: Ending): void;
  reject(error: Error): void;
  /** True if the runner is to skip the task. */
  isMarked?: boolean;
  /** Called when the runner has skipped a withdrawn task. */
  pass?: () => void;
}

/** Parses the line that the runner prints at the end of a task: its label, and numbers. */
function readEnding([, status, signalled, dumped, emitted]: readonly string[], duration: number): Ending {
  return {
    status: Number(status),
    signalled: signalled === '1',
    duration,
    dumped: dumped === '1',
    emitted: emitted === '1' ? 'some' : emitted === '2' ? 'lost' : 'none',
  };
}

/** The tasks handed to a zone, in the order in which it runs them. @param timeLimit of a task, milliseconds @param kill ends the zone */
export function createQueue({ directory, timeLimit }: { directory: string; timeLimit: number }, { judge }: ZoneLimits, kill: () => void) {
  const waiting: Waiting[] = [];
  const streams = streamDirectory(directory);
  const markOf = (slot: string): string => join(streams, 'taken', slot);
  let timer: NodeJS.Timeout | undefined;
  let begun = performance.now();
  let lost: string | undefined;
  let isStopped = false;

  const watch = (): void => {
    begun = performance.now();
    if (timer && waiting.length > 0 && !isStopped) return void timer.refresh();
    clearTimeout(timer);
    timer = waiting.length === 0 || isStopped ? undefined : setTimeout(expire, timeLimit);
  };
  const fail = (error: Error): void => {
    waiting.shift()?.reject(error);
    kill();
  };
  const expire = (): void => fail(new TaskTooLong(`longer than ${timeLimit / 1000} s`));
  const settle = (): void => {
    for (const each of waiting.slice(1)) {
      if (each.isMarked !== true || each.pass) continue;
      const passed = new Promise<void>((resolve) => {
        each.pass = resolve;
      });
      each.reject(new TaskTakenBack(passed));
    }
  };

  return {
    fail,
    /** Closes the queue: no further task begins. */
    stop: () => {
      isStopped = true;
    },
    isOpen: () => lost === undefined && !isStopped,
    expect: (label: string): Promise<Ending> =>
      new Promise((resolve, reject) => {
        if (lost !== undefined) return reject(new ZoneLost(lost, false));
        waiting.push({ label, resolve, reject });
        if (waiting.length === 1) watch();
      }),
    takeLine: (line: string): void => {
      const words = line.split(' ');
      const [label = '', status, , , , size] = words;
      const [first] = waiting;
      if (first?.label !== label) return kill();
      waiting.shift();
      if (first.isMarked === true) quietly(() => unlinkSync(markOf(label)), undefined);
      if (status === 'taken') {
        if (first.pass) first.pass();
        else first.reject(new TaskTakenBack(Promise.resolve()));
      } else {
        const ending = readEnding(words, performance.now() - begun);
        const stderr = join(streams, 'err', label === 'ready' ? 'init' : label);
        first.resolve({ ...ending, limit: judge({ ...ending, size: Number(size), stderr }) });
      }
      watch();
    },
    takeBack: (): void => {
      for (const each of waiting.slice(1)) {
        if (each.label === 'ready' || each.isMarked === true) continue;
        // Without a mark, as on a full disk, the task stays where it is.
        quietly(() => {
          writeFileSync(markOf(each.label), '');
          each.isMarked = true;
        }, undefined);
      }
      // The runner checks the mark of a task after it has printed the line of the previous task. Whatever it printed before the marks were
      // made has been read when the next round of events is over: a task that is still behind another one then has not begun and never
      // will.
      setImmediate(() => setImmediate(settle));
    },
    /** Rejects the remaining tasks. @param limit the limit that the zone exceeded, if any */
    lose: (message: string, limit: string | undefined): void => {
      lost = message;
      clearTimeout(timer);
      for (const [index, { reject }] of waiting.splice(0).entries()) {
        reject(index === 0 && limit !== undefined ? new LimitReached(limit) : new ZoneLost(message, index === 0));
      }
    },
  };
}
