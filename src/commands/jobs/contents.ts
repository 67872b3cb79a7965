import type { Context } from '../../cli/command.ts';
import { downloadObject } from '../../transfer/download/download.ts';
import { readRemotePath } from '../../transfer/path.ts';
import { createEngine } from '../stor/engine.ts';
import { runOrdered } from '../../base/parallel.ts';

/** Objects that are read at once, and bytes of each that are kept until it is its turn. */
const bounds = { limit: 8, window: 8 };
const keep = 256 * 1024;

/** A stream whose beginning was read already. */
interface Begun {
  pieces: Uint8Array[];
  rest: AsyncGenerator<Uint8Array>;
}

async function begin(rest: AsyncGenerator<Uint8Array>): Promise<Begun> {
  const pieces = [];
  for (let size = 0; size < keep;) {
    const next = await rest.next();
    if (next.done === true) break;
    pieces.push(next.value);
    size += next.value.length;
  }
  return { pieces, rest };
}

/** The content of objects, given by whole paths, one after the other; the next ones are read ahead. */
export async function* readContents(context: Context, paths: AsyncIterable<string> | Iterable<string>): AsyncGenerator<Uint8Array> {
  // One stream for each: the ones to come are read at the same time.
  const engine = { ...createEngine(context, {}, { bulk: false }), streams: 1 };
  const begun = runOrdered(paths, (path) => begin(downloadObject(engine, readRemotePath(path, context.account))), bounds);
  for await (const { pieces, rest } of begun) {
    yield* pieces;
    yield* rest;
  }
}
