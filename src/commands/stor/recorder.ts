import type { Context } from '../../cli/command.ts';
import { checkInterrupted, InterruptedError, NetworkError, PartialError, type CloudError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Monitor, Ticket } from '../../transfer/engine.ts';
import { mayPass } from '../../transfer/retry.ts';

/** One transfer of fewer bytes is over in an instant: nothing is noted of it. */
const worthNoting = 8 * 1024 * 1024;

/** Notes in the journal what a command does. */
export interface Recorder {
  /** What is noted; undefined while it is not worth it. */
  readonly entry: Entry | undefined;
  /** For several items or a tree, of which an interruption leaves some done. */
  begin(): Promise<void>;
  /** Tells the journal what it tells another. */
  readonly monitor: Monitor;
  /** One more item is done. */
  count(): void;
  /** Ends the entry, unless the rest may be done later. */
  close(isOver: boolean): Promise<void>;
  /** The error with the line that goes on. */
  explain(error: unknown): unknown;
}

function addHint(error: CloudError, hint: string): CloudError {
  return Object.create(error, { hint: { value: hint, enumerable: true } }) as CloudError;
}

/** @param declare the work; absent: nothing is noted. Of a single item its size decides, unless `begin` is called */
export function createRecorder({ journal }: Pick<Context, 'journal'>, declare: (() => Work) | undefined, monitor: Monitor): Recorder {
  let entry: Entry | undefined;
  let beginning: Promise<void> | undefined;
  async function begin(): Promise<void> {
    if (declare) await (beginning ??= journal().then((opened) => void (entry = opened.begin(declare()))));
  }
  /** Beside the transfer, which does not wait for it. */
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
  return {
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
      if (entry === undefined || entry.id === '' || declare?.().obstacle !== undefined) return error;
      const line = `to go on: cloud resume ${entry.id}`;
      if (error instanceof InterruptedError)
        return new InterruptedError(error.message, { hint: entry.doneItems > 0 ? `${entry.doneItems} done; ${line}` : line, cause: error });
      const isOpen = error instanceof PartialError || error instanceof NetworkError;
      return isOpen && error.hint === undefined ? addHint(error, line) : error;
    },
  };
}

/** Whether what failed stays in the journal: interrupted by the user, or by what may pass. */
function isLeft(error: unknown): boolean {
  return error instanceof InterruptedError || mayPass(error);
}

/** Does work for a single item that the journal knows once it takes long. */
export async function recordOne<T>(recorder: Recorder, work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let isOver = true;
  try {
    return await work().catch((error: unknown) => {
      checkInterrupted(signal, error);
      throw error;
    });
  } catch (error) {
    isOver = !isLeft(error);
    throw isOver ? error : recorder.explain(error);
  } finally {
    await recorder.close(isOver);
  }
}

/** Does work that the journal knows: what is interrupted, by the user or by what may pass, stays there. @param begins before the first step */
export async function* recordWork<T>(
  recorder: Recorder,
  begins: boolean,
  tally: { readonly isOpen: boolean },
  work: () => AsyncIterable<T>,
): AsyncGenerator<T> {
  // Whoever reads the rows may stop: then the rest is not done.
  let isOver = false;
  try {
    if (begins) await recorder.begin();
    yield* work();
    isOver = true;
  } catch (error) {
    isOver = !(isLeft(error) || tally.isOpen);
    throw isOver ? error : recorder.explain(error);
  } finally {
    await recorder.close(isOver);
  }
}
