import { command, type Context } from '../../cli/command.ts';
import { some, text } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { bytes } from '../../output/kinds.ts';
import { downloadObject } from '../../transfer/download/download.ts';
import type { Engine } from '../../transfer/engine.ts';
import type { RemotePath } from '../../transfer/path.ts';
import { createEngine, transferOptions } from './engine.ts';
import { listOption, readingNames, readNames } from './names.ts';

/** Streams objects one after the other. */
export async function* concatenate(engine: Engine, paths: readonly RemotePath[], close: () => void): AsyncGenerator<Uint8Array> {
  try {
    for (const path of paths) yield* downloadObject(engine, path);
  } finally {
    close();
  }
}

/** Streams a range of one object. @throws {UsageError} for an invalid range, and for several objects */
async function openRange({ storage }: Context, paths: readonly RemotePath[], range: string): Promise<AsyncIterable<Uint8Array>> {
  const [first] = paths;
  if (first === undefined || paths.length > 1) throw new UsageError('--range takes a single object');
  if (!/^(?:\d+-\d*|-\d+)$/.test(range))
    throw new UsageError(`--range: "${range}" is not a range`, { hint: 'the first 100 bytes: --range 0-99' });
  return (await storage.getObject(first, { headers: { range: `bytes=${range}` } })).body;
}

export const cat = command({
  summary: 'Write objects to stdout in sequence',
  arguments: { path: some('Object, or a pattern such as "logs/*.gz"', { values: 'path' }) },
  options: {
    ...readingNames,
    ...listOption,
    range: text('Byte range of one object: 0-99, 100- or -100 for the last 100', { placeholder: 'FIRST-LAST' }),
    bwlimit: transferOptions.bwlimit,
  },
  run: async (invocation) => {
    const { range } = invocation.options;
    const { paths } = await readNames(invocation, invocation.args.path, invocation.options);
    if (range !== undefined) return bytes(await openRange(invocation, paths, range));
    return bytes(concatenate(createEngine(invocation, invocation.options, { bulk: false, inOrder: true }), paths, () => undefined));
  },
  examples: [
    { line: 'cloud stor cat notes.txt', help: 'Show a text file' },
    { line: 'cloud stor cat "logs/2024-*.gz" | zcat', help: 'Several objects, in order' },
    { line: 'cloud stor cat app.log --range -1000', help: 'The last 1,000 bytes' },
  ],
});
