import { longestTimer } from '../base/clock.ts';
import type { Monitor, Ticket } from '../base/monitor.ts';
import type { OutputStream } from '../base/world.ts';
import { createBottomLines } from './bottom-lines.ts';
import { escapeControl } from './escape.ts';
import { createRate } from './rate.ts';
import { formatDuration, formatRate, formatSize } from './units.ts';
import { pad, truncate } from './width.ts';
import { countOf } from '../base/count.ts';

/** A running transfer. */
interface Running {
  readonly label: string;
  size: number | undefined;
  readonly since: number;
  /** Bytes moved by this run. */
  moved: number;
  /** Bytes moved by earlier runs. */
  kept: number;
}

/** How progress is shown: at the bottom of a terminal (`bar`), as a line at intervals (`plain`), or not at all. */
export type ProgressMode = 'bar' | 'plain' | 'none';

export interface ProgressOptions {
  readonly now: () => number;
  readonly mode: ProgressMode;
  /** Milliseconds between two plain lines. */
  readonly interval?: number;
  /** Plain lines and the summary are JSON objects. */
  readonly isJson?: boolean;
  /** Omit the summary. */
  readonly isQuiet?: boolean;
  /** Number of repeated requests so far. */
  readonly countRetries?: () => number;
}

export interface Progress {
  readonly monitor: Monitor;
  /** Erases the display while other text is written. */
  pause<T>(work: () => Promise<T>): Promise<T>;
  /** Removes the display and prints a summary of the transfers. */
  close(failed: number, others?: number, isTold?: boolean): void;
}

/** Milliseconds between two redraws. */
const drawingPause = 100;

/** A transfer gets its own line when it takes longer than this, in milliseconds. */
const worthShowing = 300;

/** Most lines for single transfers. */
const mostLines = 8;

function describePart(moved: number, size: number | undefined): string {
  if (size === undefined || size === 0) return formatSize(moved);
  const percent = Math.min(100, Math.floor((moved / size) * 100));
  return `${String(percent).padStart(3)}% of ${formatSize(size)}`;
}

/** Default milliseconds between two plain lines. */
const usualInterval = 10_000;

/** A run longer than this gets a summary, in milliseconds. */
const longRun = 10_000;

/** The transfers of a run, counted together. */
class Totals {
  /** Bytes moved by this run, and by earlier ones. */
  moved = 0;
  kept = 0;
  done = 0;
  failed = 0;
  expected = { files: 0, bytes: 0 };
  /** Transfers that were started, and the sum of their known sizes. */
  begun = { files: 0, bytes: 0 };
  readonly running = new Set<Running>();

  begin(label: string, size: number | undefined, since: number): Ticket {
    const transfer: Running = { label, size, since, moved: 0, kept: 0 };
    this.running.add(transfer);
    this.begun = { files: this.begun.files + 1, bytes: this.begun.bytes + (size ?? 0) };
    const expect = (bytes: number): void => {
      this.begun.bytes += bytes - (transfer.size ?? 0);
      transfer.size = bytes;
    };
    return {
      expect,
      move: (bytes) => {
        transfer.moved += bytes;
        this.moved += bytes;
      },
      keep: (bytes) => {
        transfer.kept += bytes;
        this.kept += bytes;
      },
      end: (outcome) => {
        this.running.delete(transfer);
        expect(transfer.moved + transfer.kept);
        if (outcome === 'done') this.done += 1;
        if (outcome === 'failed') this.failed += 1;
      },
    };
  }

  /** Estimated bytes of all files; 0 if the number of files is unknown. Files that were not started count with the average size. */
  measureAll(): number {
    const { expected, begun } = this;
    if (expected.files === 0) return 0;
    const average = begun.files === 0 ? 0 : begun.bytes / begun.files;
    return Math.max(expected.bytes, begun.bytes + average * Math.max(0, expected.files - begun.files));
  }
}

/** The line for all transfers. @param speed bytes per second */
function describeTotals(totals: Totals, speed: number): string {
  const { expected, done, failed, moved, kept } = totals;
  const files = expected.files > done + failed ? `${done} of ${countOf(expected.files, 'file')}` : countOf(done, 'file');
  const rest = totals.measureAll() - moved - kept;
  const left = rest > 0 && speed > 0 ? `, ${formatDuration(Math.ceil(rest / speed) * 1000)} left` : '';
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${files}, ${formatSize(moved)}, ${formatRate(speed)}${left}${failures}`;
}

/** The line for one transfer. */
function describeTransfer({ label, size, moved, kept }: Running, width: number): string {
  const state = describePart(moved + kept, size);
  const rest = width - state.length - 2;
  return `${pad(truncate(escapeControl(label), rest), rest)}  ${state}`;
}

/** What a run did beside its transfers; `others` are files without one. */
type Run = Readonly<Record<'failures' | 'others' | 'retries' | 'milliseconds', number>>;

/** The summary; undefined if the result says enough. */
function summarize({ done, moved, kept, begun }: Totals, { failures, others, retries, milliseconds }: Run, isJson: boolean) {
  if (isJson) return JSON.stringify({ summary: { files: done, bytes: moved, kept, failed: failures, retries, milliseconds } });
  // Links and renamed files move no bytes; a single one needs no summary.
  if (begun.files === 0 && others > 0 && failures === 0)
    return others === 1 ? undefined : `${countOf(others, 'file')} in ${formatDuration(milliseconds)}`;
  const speed = milliseconds > 0 ? ` (${formatRate((moved / milliseconds) * 1000)})` : '';
  const earlier = kept > 0 ? `, ${formatSize(kept)} kept from an earlier run` : '';
  const repeated = retries > 0 ? `, ${countOf(retries, 'request')} retried` : '';
  const failure = failures > 0 ? `, ${failures} failed` : '';
  return `${countOf(done, 'file')}, ${formatSize(moved)} in ${formatDuration(milliseconds)}${speed}${earlier}${repeated}${failure}`;
}

/** Shows progress: on a terminal a line for each long transfer and one for the total, elsewhere a line for the total at intervals. */
export function createProgress(err: OutputStream, options: ProgressOptions): Progress {
  const { now, mode, interval = usualInterval, isJson = false, isQuiet = false, countRetries = () => 0 } = options;
  const totals = new Totals();
  const started = now();
  const rate = createRate();
  rate.add(started, 0);
  const bottom = createBottomLines(err);
  let isClosed = false;

  const describeNow = (at: number): string => describeTotals(totals, rate.add(at, totals.moved));
  function draw(): void {
    const at = now();
    const width = Math.max(20, err.columns() - 1);
    const slow = [...totals.running].filter(({ since }) => at - since > worthShowing).slice(0, mostLines);
    bottom.draw([...slow.map((each) => describeTransfer(each, width)), truncate(describeNow(at), width)]);
  }

  function printLine(): void {
    const line = describeNow(now());
    err.stream.write(`${isJson ? JSON.stringify({ progress: line }) : escapeControl(line)}\n`);
  }

  /** Undefined if progress is not shown. */
  const timer =
    mode === 'none'
      ? undefined
      : mode === 'bar'
        ? setInterval(draw, drawingPause)
        : setInterval(printLine, Math.min(interval, longestTimer));
  timer?.unref();

  function printSummary(failures: number, others: number): void {
    const run: Run = { failures, others, retries: countRetries(), milliseconds: now() - started };
    const isShort = totals.done + failures < 2 && run.retries === 0 && run.milliseconds < longRun;
    if (isQuiet || (mode !== 'bar' && isShort)) return;
    const summary = summarize(totals, run, isJson);
    if (summary !== undefined) err.stream.write(`${summary}\n`);
  }

  return {
    monitor: {
      countAfterMs: mode === 'none' ? undefined : mode === 'bar' ? 0 : interval / 2,
      expect: (files, bytes) => {
        totals.expected = { files: totals.expected.files + files, bytes: totals.expected.bytes + bytes };
      },
      begin: (label, size) => totals.begin(label, size, now()),
    },
    pause: async (work) => {
      bottom.erase();
      return await work();
    },
    close: (failures, others = 0, isTold = true) => {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      bottom.erase();
      if (isTold) printSummary(failures, others);
    },
  };
}
