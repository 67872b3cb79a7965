import { createHash, randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { command, type Context } from '../../cli/command.ts';
import { openStdin, resolvePath } from '../../cli/input.ts';
import { flag, number, one, text, texts } from '../../cli/parameters.ts';
import { UsageError } from '../../errors.ts';
import { records, type Output, type Row } from '../../output/kinds.ts';
import { quoteShell } from '../../quote.ts';
import type { Engine } from '../../transfer/engine.ts';
import { makeFolder } from '../../transfer/folders.ts';
import { inspect } from '../../transfer/inspect.ts';
import { makeFolders } from '../../transfer/local-folders.ts';
import { isNamedPipe, openToRead } from '../../transfer/named-pipe.ts';
import { printRemotePath, readRemotePath } from '../../transfer/path.ts';
import type { Comparison } from '../../transfer/sync/compare.ts';
import type { CopyOptions } from '../../transfer/sync/execute.ts';
import { locate } from '../../transfer/sync/decide.ts';
import { runSteps, syncSides, type SyncReport } from '../../transfer/sync/run.ts';
import { readStep, writeStep, type Step } from '../../transfer/sync/steps.ts';
import { createFilter, type Side } from '../../transfer/sync/tree.ts';
import { createEngine, createTally, transferOptions, type Tally } from './engine.ts';
import { isFolder } from './get.ts';
import { guessType, keepProperties } from './headers.ts';
import { missing } from './paths.ts';
import { runTransfers } from './show.ts';

/** Options that say which files are compared, and how. */
export const compareOptions = {
  checksum: flag('Compare contents by MD5 instead of times'),
  sizeOnly: flag('Compare sizes alone'),
  include: texts('Only files whose name, or path when it has a slash, matches', { placeholder: 'PATTERN' }),
  exclude: texts('Leave out what matches', { placeholder: 'PATTERN' }),
};

interface CompareValues {
  readonly checksum: boolean;
  readonly sizeOnly: boolean;
  readonly include: string[];
  readonly exclude: string[];
}

/** A side of the command line: `stor:` is the object storage, anything else is local. */
function readSide({ world, account }: Context, word: string): Side {
  if (word.startsWith('stor:')) return { kind: 'remote', root: readRemotePath(word, account) };
  return { kind: 'local', root: resolvePath(world, word) };
}

function printSide(side: Side): string {
  return side.kind === 'remote' ? `stor:${printRemotePath(side.root)}` : side.root;
}

/** @throws {UsageError} for what cannot be brought up to date */
async function checkSides({ storage }: Context, from: Side, to: Side): Promise<boolean> {
  if (from.kind === 'local' && to.kind === 'local') {
    throw new UsageError('both directories are local', { hint: 'write stor:PATH for a directory of the object storage' });
  }
  const [a, b] = [`${printSide(from)}/`, `${printSide(to)}/`];
  if (a.startsWith(b) || b.startsWith(a)) throw new UsageError(`${printSide(from)} and ${printSide(to)} overlap`);
  if (from.kind === 'local' && !isFolder(from.root)) throw new UsageError(`${from.root}: no such directory`);
  if (from.kind === 'remote') {
    const found = await inspect(storage, from.root);
    if (!found) throw missing(from.root);
    if (found.type === 'object')
      throw new UsageError(`${printSide(from)} is an object, not a directory`, { hint: 'use cloud stor get or cp' });
  }
  if (to.kind === 'local') return isFolder(to.root);
  const found = await inspect(storage, to.root);
  if (found?.type === 'object') throw new UsageError(`${printSide(to)} is an object, not a directory`);
  return found !== undefined;
}

function chooseComparison({ checksum, sizeOnly }: CompareValues): Comparison {
  if (checksum && sizeOnly) throw new UsageError('--checksum and --size-only contradict each other');
  return checksum ? 'checksum' : sizeOnly ? 'size' : 'mtime';
}

/** The file that remembers what runs between these two directories found out. */
function nameMemory({ paths, settings }: Context, from: Side, to: Side): string {
  const words = [settings().storUrl?.value, ...[printSide(from), printSide(to)].toSorted()];
  const id = createHash('sha256').update(JSON.stringify(words)).digest('hex').slice(0, 32);
  return join(paths.state, 'sync', `${id}.jsonl`);
}

function reportTo(tally: Tally): SyncReport {
  return { attempt: (rel, work) => tally.attempt(rel, work), fail: (error) => tally.fail(error), skip: () => tally.skip() };
}

const copyOptions = {
  copies: number('Number of copies of what is stored', { range: [1, 6] }),
  modes: flag('Keep permission bits'),
  copy: flag('Where links are refused, copy bytes between directories of the object storage through this machine'),
};

function readCopyOptions(options: { copies: number | undefined; modes: boolean; copy: boolean }): CopyOptions {
  return {
    describe: async (source) => ({ 'content-type': await guessType(source.file), ...keepProperties(source, options.modes) }),
    copies: options.copies,
    modes: options.modes,
    copiesThrough: options.copy,
  };
}

const stepShape = {
  columns: ['action', 'reason', { key: 'size', as: 'size' as const }, { key: 'rel', title: 'PATH' }],
  id: 'rel',
  fields: ['source', 'target'],
};

function describeStep({ action, reason, size, rel, source, target }: Step): Row {
  return { action, rel, size, reason, source, target };
}

/** What would have to be done, one step after the other. */
export async function* planSync(
  context: Context & { readonly options: CompareValues },
  words: { from: string; to: string },
  { deletes, tally, engine }: { deletes: boolean; tally: Tally; engine: Engine },
): AsyncGenerator<Step> {
  const { options } = context;
  const [from, to] = [readSide(context, words.from), readSide(context, words.to)];
  const isThere = await checkSides(context, from, to);
  if (!isThere) yield { action: 'mkdir', rel: '', to: locate(to, ''), reason: 'new' };
  yield* syncSides(engine, {
    task: { from, to, comparison: chooseComparison(options) },
    filter: createFilter(options.include, options.exclude),
    deletes,
    dryRun: true,
    isEmpty: !isThere,
    copy: readCopyOptions({ copies: undefined, modes: false, copy: false }),
    memory: nameMemory(context, from, to),
    id: randomUUID(),
    report: reportTo(tally),
  });
  tally.finish();
}

async function* encodePlan(steps: AsyncIterable<Step>): AsyncGenerator<Uint8Array> {
  for await (const step of steps) yield Buffer.from(writeStep(step));
}

async function writePlan(context: Context, file: string, steps: AsyncIterable<Step>): Promise<Output | undefined> {
  if (file === '-') return { kind: 'bytes', body: encodePlan(steps) };
  const { writeWhole } = await import('../../transfer/whole-file.ts');
  await writeWhole(resolvePath(context.world, file), encodePlan(steps));
  context.note(`Wrote ${file}: cloud stor run ${quoteShell(file)} does it`);
  return undefined;
}

export const sync = command({
  summary: 'Bring a directory up to date with another one, either way',
  description:
    'One side begins with stor: and is a directory of the object storage; both may be. Files are the same when size and modification time are; the time is kept in m-mtime, and what was found out is remembered, so that a run with nothing to do only reads the listings. A run that was interrupted is gone on with by the same command.',
  arguments: {
    source: one('Directory to bring; stor:PATH for the object storage', { values: 'file-or-path' }),
    target: one('Directory to change; stor:PATH for the object storage', { values: 'file-or-path' }),
  },
  options: {
    delete: flag('Remove what is only in the target'),
    dryRun: flag('Only show what would be done', { short: 'n' }),
    plan: text('Write the steps to a file instead of doing them, for cloud stor run; - for stdout', {
      placeholder: 'FILE',
      values: 'file',
    }),
    ...compareOptions,
    ...copyOptions,
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const comparison = chooseComparison(options);
    const words = { from: args.source, to: args.target };
    if (options.dryRun || options.plan !== undefined) {
      if (options.dryRun && options.plan !== undefined) throw new UsageError('--dry-run and --plan contradict each other');
      const tally = createTally(invocation);
      const steps = planSync(invocation, words, {
        deletes: options.delete,
        tally,
        engine: createEngine(invocation, options, { bulk: true }),
      });
      if (options.plan !== undefined) return await writePlan(invocation, options.plan, steps);
      return records(mapSteps(steps), stepShape);
    }
    const [from, to] = [readSide(invocation, words.from), readSide(invocation, words.to)];
    const isThere = await checkSides(invocation, from, to);
    return await runTransfers(invocation, options, { only: false, bulk: true }, stepShape, async function* ({ engine, tally }) {
      if (!isThere && to.kind === 'remote') await makeFolder(engine.storage, to.root, { parents: true });
      if (!isThere && to.kind === 'local') makeFolders(to.root);
      const steps = syncSides(engine, {
        task: { from, to, comparison },
        filter: createFilter(options.include, options.exclude),
        deletes: options.delete,
        dryRun: false,
        isEmpty: false,
        copy: readCopyOptions(options),
        memory: nameMemory(invocation, from, to),
        id: randomUUID(),
        report: reportTo(tally),
      });
      yield* mapSteps(steps);
    });
  },
  examples: [
    { line: 'cloud stor sync photos stor:photos', help: 'What is new or changed here goes there' },
    { line: 'cloud stor sync stor:photos photos --delete -n', help: 'The other way: what would be done?' },
    { line: 'cloud stor sync site stor:/demo/public/site --exclude "*.tmp" --checksum', help: 'Publish, comparing contents' },
  ],
});

async function* mapSteps(steps: AsyncIterable<Step>): AsyncGenerator<Row> {
  for await (const step of steps) yield describeStep(step);
}

async function* readPlan(input: Readable): AsyncGenerator<Step> {
  let line = 0;
  for await (const content of createInterface({ input, crlfDelay: Infinity })) {
    line += 1;
    if (content.trim() !== '') yield readStep(content, line);
  }
}

/** @throws {UsageError} when there is no such file */
function checkPlan(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`${file}: no such file or directory`);
  if (stats.isDirectory())
    throw new UsageError(`${file} is a directory, not a plan`, { hint: 'plans are written by: cloud stor sync --plan FILE' });
}

export const runPlan = command({
  summary: 'Do the steps of a plan that sync --plan wrote',
  description:
    'Each step is done only when both sides are as they were when the plan was written, and does nothing when it was done already: the same plan can be run again.',
  arguments: { file: one('Plan; - for stdin', { values: 'file' }) },
  options: { ...copyOptions, ...transferOptions },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const file = resolvePath(world, args.file);
    if (args.file !== '-') checkPlan(file);
    const comesOnce = args.file === '-' || isNamedPipe(file);
    const open = (): Readable => (args.file === '-' ? openStdin(world) : openToRead(file, world.interrupted));
    // The whole plan is read before the first step, where that can be: a mistake in it changes nothing.
    if (!comesOnce) for await (const step of readPlan(open())) void step;
    return await runTransfers(invocation, options, { only: false, bulk: true }, stepShape, ({ engine, tally }) =>
      mapSteps(runSteps(engine, readPlan(open()), readCopyOptions(options), reportTo(tally))),
    );
  },
  examples: [
    {
      line: 'cloud stor sync photos stor:photos --plan plan.jsonl && cloud stor run plan.jsonl',
      help: 'Look at the steps before they are done',
    },
    { line: 'cloud stor sync photos stor:photos --plan - | grep -v secret | cloud stor run -', help: 'Leave some out' },
  ],
});
