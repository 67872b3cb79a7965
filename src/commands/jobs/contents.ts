import type { Context } from '../../cli/command.ts';
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

/** Yields the contents of objects, given by absolute paths, one after the other; the next ones are read ahead. */
export async function* readContents(context: Context, paths: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  // One stream for each object: several objects are read concurrently.
  const engine = { ...createEngine(context, {}, { bulk: false }), streams: 1 };
  const begun = runOrdered(paths, (path) => begin(downloadObject(engine, readRemotePath(path, context.account))), bounds);
  for await (const { chunks, rest } of begun) {
    yield* chunks;
    yield* rest;
  }
}
