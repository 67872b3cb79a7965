import type { Context } from '../../cli/command.ts';
import { withHint } from '../../base/error-copies.ts';
import { checkInterrupted, InterruptedError, isOfAccess, NetworkError, PartialError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Monitor, Ticket } from '../../base/monitor.ts';
import { mayPass } from '../../transfer/retry.ts';
import type { Tally } from './tally.ts';

/** Minimum size in bytes of a single transfer that is recorded; smaller ones take too little time. */
const worthNoting = 8 * 1024 * 1024;

/** Records in the journal what a command does. */
export interface Recorder {
  /** The journal entry; undefined while nothing is recorded. */
  readonly entry: Entry | undefined;
  /** Starts recording: for several items or a tree, which an interruption may leave half done. */
  begin(): Promise<void>;
  /** A monitor that also records progress in the journal. */
  readonly monitor: Monitor;
  /** Counts another item as done. */
  count(): void;
  /** Closes the entry; it is kept when the rest may be done later. */
  close(isOver: boolean): Promise<void>;
  /** True if the work cannot be resumed: its bytes come from a pipe. */
  readonly isOnce: boolean;
  /** Adds the command that resumes the work to an error. */
  explain(error: unknown): unknown;
}

/** @param declare describes the work; absent: nothing is recorded. A single item is recorded if it is large, or after `begin` */
export function createRecorder({ journal }: Pick<Context, 'journal'>, declare: (() => Work) | undefined, monitor: Monitor): Recorder {
  let entry: Entry | undefined;
  let beginning: Promise<void> | undefined;
  async function begin(): Promise<void> {
    if (declare) await (beginning ??= journal().then((opened) => void (entry = opened.begin(declare()))));
  }
  /** Starts recording without delaying the transfer. */
  function beginSoon(): void {
    begin().catch(() => undefined);
  }

  function watch(ticket: Ticket): Ticket {
    let moved = 0;
    function count(bytes: number): void {
      moved += bytes;
      if (moved >= worthNoting) beginSoon();
      entry?.add(0, bytes);
    }
    return {
      ...ticket,
      expect: (bytes) => {
        if (bytes >= worthNoting) beginSoon();
        ticket.expect(bytes);
      },
      move: (bytes) => {
        count(bytes);
        ticket.move(bytes);
      },
      keep: (bytes) => {
        count(bytes);
        ticket.keep(bytes);
      },
    };
  }
  const isOnce = (): boolean => declare?.().obstacle !== undefined;
  return {
    get isOnce() {
      return isOnce();
    },
    get entry() {
      return entry;
    },
    begin,
    monitor: {
      ...monitor,
      expect: (files, bytes) => {
        entry?.expect(files, bytes);
        monitor.expect(files, bytes);
      },
      begin: (label, size) => {
        if (size !== undefined && size >= worthNoting) beginSoon();
        return watch(monitor.begin(label, size));
      },
    },
    count: () => entry?.add(1, 0),
    close: async (isOver) => {
      await beginning?.catch(() => undefined);
      entry?.close(isOver);
    },
    explain: (error) => {
      if (entry === undefined || entry.id === '' || isOnce()) return error;
      const line = `to resume: cloud resume ${entry.id}`;
      if (error instanceof InterruptedError)
        return new InterruptedError(error.message, { hint: entry.doneItems > 0 ? `${entry.doneItems} done; ${line}` : line, cause: error });
      const isOpen = error instanceof PartialError || error instanceof NetworkError;
      return isOpen && error.hint === undefined ? withHint(error, line) : error;
    },
  };
}

/** True if failed work stays in the journal: the user interrupted it, or a later run may succeed. What an earlier run did is kept. */
function isLeft(error: unknown, entry: Entry | undefined, isDenied = isOfAccess(error)): boolean {
  return error instanceof InterruptedError || mayPass(error) || (isDenied && entry?.isResumed === true);
}

/** Runs work for a single item, which is recorded in the journal if it is large. */
export async function recordOne<T>(recorder: Recorder, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let isOver = true;
  try {
    return await work().catch((error: unknown) => {
      checkInterrupted(signal, error);
      throw error;
    });
  } catch (error) {
    // After an interruption, nothing is left of an upload that cannot be resumed: its parts were deleted.
    isOver = (error instanceof InterruptedError && recorder.isOnce) || !isLeft(error, recorder.entry);
    throw isOver ? error : recorder.explain(error);
  } finally {
    await recorder.close(isOver);
  }
}

/**
 * Runs recorded work. It stays in the journal when it is interrupted or a later run may succeed.
 * @param begins record from the first step on
 * @throws {PartialError} if anything failed
 */
export async function* recordWork<T>(
  recorder: Recorder,
  begins: boolean,
  tally: Pick<Tally, 'isOpen' | 'isDenied' | 'finish'>,
  work: () => AsyncIterable<T>,
): AsyncGenerator<T> {
  // The consumer of the rows may stop early: then the rest is not done.
  let isOver = false;
  try {
    if (begins) await recorder.begin();
    yield* work();
    tally.finish();
    isOver = true;
  } catch (error) {
    isOver = !(tally.isOpen || isLeft(error, recorder.entry, tally.isDenied || isOfAccess(error)));
    throw isOver ? error : recorder.explain(error);
  } finally {
    await recorder.close(isOver);
  }
}
