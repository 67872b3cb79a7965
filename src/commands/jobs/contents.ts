import type { Context } from '../../cli/command.ts';
import { countFailures } from '../../cli/attempts.ts';
import { isForbidden } from '../../cli/shapes.ts';
import { countOf } from '../../base/count.ts';
import { isMissing } from '../../base/errors.ts';
import { downloadObject } from '../../transfer/download/download.ts';
import { readRemotePath } from '../../transfer/path.ts';
import { createEngine } from '../stor/engine.ts';
import { runOrdered } from '../../base/parallel.ts';

/** Number of objects that are read concurrently, and bytes of each that are buffered until its turn. */
const bounds = { limit: 8, window: 8 };
const keep = 256 * 1024;

/** A stream of which the beginning has been read. */
interface Begun {
  chunks: Uint8Array[];
  rest: AsyncGenerator<Uint8Array>;
}

async function begin(rest: AsyncGenerator<Uint8Array>): Promise<Begun> {
  const chunks = [];
  for (let size = 0; size < keep;) {
    const next = await rest.next();
    if (next.done === true) break;
    chunks.push(next.value);
    size += next.value.length;
  }
  return { chunks, rest };
}

/** Reads the outputs of a job, which tasks may have named without creating them. */
interface OutputReader {
  /** Returns the result of `read`; undefined, after reporting it, for an output that is missing or that the caller may not read. */
  attempt<T>(read: () => Promise<T>): Promise<T | undefined>;
  /** @throws {PartialError} when an output could not be read */
  finish(): void;
}

export function createOutputReader(context: Pick<Context, 'fail'>): OutputReader {
  const failures = countFailures(context);
  let total = 0;
  return {
    attempt: async (read) => {
      total += 1;
      try {
        return await read();
      } catch (error) {
        if (!isMissing(error) && !isForbidden(error)) throw error;
        await failures.report(error);
        return undefined;
      }
    },
    finish: () => failures.finish(total, countOf(total, 'output'), 'cannot be read'),
  };
}

/**
 * Yields the contents of outputs, given by absolute paths, one after the other, then calls `end`; the next ones are read ahead.
 * @throws {PartialError} at the end when an output could not be read
 */
export async function* readContents(
  context: Context,
  paths: AsyncIterable<string> | Iterable<string>,
  end: () => Promise<void> = async () => undefined,
): AsyncGenerator<Uint8Array> {
  // One stream for each object: several objects are read concurrently.
  const engine = { ...createEngine(context, {}, { bulk: false }), streams: 1 };
  const reader = createOutputReader(context);
  const open = (path: string): Promise<Begun | undefined> =>
    reader.attempt(() => begin(downloadObject(engine, readRemotePath(path, context.account))));
  for await (const begun of runOrdered(paths, open, bounds)) {
    if (begun === undefined) continue;
    yield* begun.chunks;
    yield* begun.rest;
  }
  await end();
  reader.finish();
}
