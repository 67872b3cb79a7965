import { command } from '../../cli/command.ts';
import { some, text } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { bytes } from '../../output/kinds.ts';
import { downloadObject } from '../../transfer/download/download.ts';
import { openRange, type ByteRange } from '../../transfer/download/open-range.ts';
import type { Engine } from '../../transfer/engine.ts';
import type { RemotePath } from '../../transfer/path.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { transferOptions } from './transfer-options.ts';
import { listOption, readAllNames, readingNames } from './names.ts';

/** Streams objects one after the other. One that fails is reported, and the next ones follow. */
export async function* concatenate(engine: Engine, paths: readonly RemotePath[], tally: Tally): AsyncGenerator<Uint8Array> {
  for (const path of paths) {
    try {
      yield* downloadObject(engine, path);
      tally.pass();
    } catch (error) {
      await tally.fail(error, path);
    }
  }
  tally.finish();
}

/** Parses `--range`. @throws {UsageError} unless it is a range of bytes, which services would ignore and send the whole object */
function readRange(given: string): ByteRange {
  const [isRange, first = '', last = ''] = /^(\d*)-(\d*)$/.exec(given) ?? [];
  if (isRange === undefined || isRange === '-')
    throw new UsageError(`--range: "${given}" is not a range`, { hint: 'the first 100 bytes: --range 0-99' });
  const huge = [first, last].find((number) => Number(number) > Number.MAX_SAFE_INTEGER);
  if (huge !== undefined) throw new UsageError(`--range: no object has ${huge} bytes`, { hint: 'all bytes from 100: --range 100-' });
  if (first !== '' && last !== '' && Number(first) > Number(last))
    throw new UsageError(`--range: "${given}" ends before it begins`, { hint: `--range ${last}-${first}` });
  return { first: first === '' ? undefined : Number(first), last: last === '' ? undefined : Number(last) };
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
    const bounds = range === undefined ? undefined : readRange(range);
    const { paths } = await readAllNames(invocation, invocation.args.path, invocation.options);
    const [first] = paths;
    if (bounds) {
      if (first === undefined || paths.length > 1) throw new UsageError('--range takes a single object');
      return bytes(await openRange(invocation.storage, first, bounds));
    }
    const engine = createEngine(invocation, invocation.options, { bulk: false, inOrder: true });
    return bytes(concatenate(engine, paths, createTally(invocation, paths.length === 1)));
  },
  examples: [
    { line: 'cloud stor cat notes.txt', help: 'Show a text file' },
    { line: 'cloud stor cat "logs/2024-*.gz" | zcat', help: 'Several objects, in order' },
    { line: 'cloud stor cat app.log --range -1000', help: 'The last 1,000 bytes' },
  ],
});
