import { closeSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { quietly } from '../../base/errors.ts';

/** The key of a task in the database. */
export interface TaskKey {
  readonly job: string;
  readonly phase: number;
  readonly number: number;
}

export function nameTask({ job, phase, number }: TaskKey): string {
  return `${job}/${phase}/${number}`;
}

/** What the file says of a task: it runs, or it is to run when no other task of this kind does, because its process died before. */
type Mark = 'running' | 'suspect';

/**
 * A file with the tasks that a process runs, for the process after it: a write to the database for each task would cost as much as the task.
 * The file survives the death of the process, not that of the machine. An entry is a line of fixed length, blank when it is free.
 */
export interface RunningTasks {
  /** Writes an entry. @returns a function that changes its mark, or removes it */
  add(task: TaskKey, mark: Mark): (mark: Mark | undefined) => void;
  /** Removes the file if it has no entries. */
  close(): void;
}

const lineLength = 96;

function writeLine({ job, phase, number }: TaskKey, mark: Mark | undefined): string {
  const text = mark === undefined ? '' : `${mark} ${job} ${phase} ${number}`;
  return `${text.padEnd(lineLength - 1)}\n`;
}

/** The entries of a file; none without a file. Other lines are ignored. */
export function readRunningTasks(file: string): (TaskKey & { readonly mark: Mark })[] {
  const lines = quietly(() => readFileSync(file, 'latin1'), '').split('\n');
  return lines.flatMap((line) => {
    const [, mark, job, phase, number] = /^(running|suspect) ([0-9a-f-]{36}) (\d{1,9}) (\d{1,15}) *$/u.exec(line) ?? [];
    if (job === undefined) return [];
    return [{ mark: mark === 'running' ? mark : 'suspect', job, phase: Number(phase), number: Number(number) }];
  });
}

/** Creates an empty file, over an existing one. */
export function createRunningTasks(file: string): RunningTasks {
  const descriptor = openSync(file, 'w', 0o600);
  const free: number[] = [];
  let lines = 0;
  let isOpen = true;
  return {
    add: (task, first) => {
      const line = free.pop() ?? lines++;
      const write = (mark: Mark | undefined): void => {
        if (!isOpen) return;
        // Without room on the disk, a task goes on without its entry.
        quietly(() => writeSync(descriptor, writeLine(task, mark), line * lineLength, 'latin1'), 0);
        if (mark === undefined) free.push(line);
      };
      write(first);
      return write;
    },
    close: () => {
      if (!isOpen) return;
      isOpen = false;
      closeSync(descriptor);
      if (free.length === lines) quietly(() => unlinkSync(file), undefined);
    },
  };
}
