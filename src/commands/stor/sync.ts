import { randomUUID } from 'node:crypto';
import { extname } from 'node:path';
import type { Headers } from '../../api/message.ts';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, number, one, text, withTopic } from '../../cli/parameters.ts';
import { createContradiction } from '../../base/errors.ts';
import { records, type Output, type Row } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Engine } from '../../transfer/engine.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import type { Comparison } from '../../transfer/sync/compare.ts';
import type { CopyOptions } from '../../transfer/sync/execute.ts';
import { locate } from '../../transfer/sync/decide.ts';
import { createManifestAppender, readManifest } from '../../transfer/manifest.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { writeHead } from '../../transfer/sync/plan.ts';
import { decodeStored } from '../../transfer/tree/headers.ts';
import { createBackup } from '../../transfer/sync/backup.ts';
import { syncSides, type SyncReport } from '../../transfer/sync/run.ts';
import { writeStep, type Step } from '../../transfer/sync/steps.ts';
import type { Side } from '../../transfer/sync/tree.ts';
import { backupDirOption, readBackupDir } from './backup-dir.ts';
import { createEngine, createTally, sparseOption, transferOptions, type Tally } from './engine.ts';
import { filterOptions, readFilter, type FilterValues } from './filters.ts';
import { assertSourceNotEmpty, confirmDeletion, guardOptions } from './guard.ts';
import { guessType, keepProperties } from './headers.ts';
import { nameMemory } from './remember.ts';
import { checkSides, printSide, readSides, type Sides } from './sides.ts';
import { runTransfers } from './show.ts';
import { createSkips, linksOption, readLinks } from './skips.ts';

/** Options that say which files are compared, and how. */
export const compareOptions = withTopic('compare', {
  checksum: flag('Compare contents by MD5 instead of times'),
  sizeOnly: flag('Compare sizes alone'),
  headers: flag('Compare stored headers too'),
  links: linksOption,
});

interface CompareValues extends FilterValues {
  readonly checksum: boolean;
  readonly sizeOnly: boolean;
  readonly headers: boolean;
  readonly links: 'follow' | 'skip' | undefined;
}

function chooseComparison({ checksum, sizeOnly }: CompareValues): Comparison {
  if (checksum && sizeOnly) throw createContradiction('--checksum', '--size-only');
  return checksum ? 'checksum' : sizeOnly ? 'size' : 'mtime';
}

export function reportTo(tally: Tally): SyncReport {
  return { attempt: (rel, work) => tally.attempt(rel, work), fail: (error, item) => tally.fail(error, item), skip: () => tally.skip() };
}

export const copyOptions = {
  copies: number('Number of copies of what is stored', { range: [1, 6] }),
  modes: flag('Keep permission bits'),
  sparse: sparseOption,
  resetHeaders: flag('Give objects that are replaced the type and headers of new ones; they keep theirs when absent'),
  copy: flag('Where links are refused, copy bytes between directories of the object storage through this machine'),
};

interface CopyValues {
  readonly copies: number | undefined;
  readonly modes: boolean;
  readonly sparse: boolean;
  readonly resetHeaders: boolean;
  readonly copy: boolean;
}

export function readCopyOptions(options: CopyValues, mayUseParts: boolean): CopyOptions {
  return {
    describe: async (source) => ({ 'content-type': await guessType(source.file), ...keepProperties(source, options.modes) }),
    copies: options.copies,
    modes: options.modes,
    sparse: options.sparse,
    resetsHeaders: options.resetHeaders,
    mayUseParts,
    copiesThrough: options.copy,
  };
}

export const stepShape = {
  columns: ['action', 'reason', { key: 'size', as: 'size' as const }, { key: 'rel', title: 'PATH' }],
  id: 'rel',
  fields: ['source', 'target'],
};

function describeStep({ action, reason, size, rel, source, target }: Step): Row {
  return { action, rel, size, reason, source, target };
}

interface Planning {
  readonly deletes: boolean;
  readonly modes: boolean;
  readonly remembers: boolean;
  readonly tally: Tally;
  readonly engine: Engine;
}

/** What would have to be done, one step after the other. */
export async function* planSync(
  context: Context & { readonly options: CompareValues },
  sides: Sides,
  { deletes, modes, remembers, tally, engine }: Planning,
): AsyncGenerator<Step> {
  const { options } = context;
  const { from, to } = sides;
  const isThere = await checkSides(sides);
  const skips = createSkips(context);
  if (!isThere) yield { action: 'mkdir', rel: '', to: locate(to, ''), reason: 'new' };
  yield* syncSides(engine, {
    task: { from, to, comparison: chooseComparison(options), comparesHeaders: options.headers || options.checksum, modes },
    filter: await readFilter(context, options),
    deletes,
    dryRun: true,
    isEmpty: !isThere,
    copy: readCopyOptions({ copies: undefined, modes: false, sparse: false, resetHeaders: false, copy: false }, false),
    memory: nameMemory(sides.context, from, to),
    remembers,
    id: randomUUID(),
    report: reportTo(tally),
    links: readLinks(options.links),
    onSkip: skips.add,
  });
  skips.finish();
  tally.finish();
}

async function* encodePlan(head: string, steps: AsyncIterable<Step>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(head);
  for await (const step of steps) yield Buffer.from(writeStep(step));
}

async function writePlan(context: Context, file: string, head: string, steps: AsyncIterable<Step>): Promise<Output | undefined> {
  if (file === '-') return { kind: 'bytes', body: encodePlan(head, steps) };
  const { writeWhole } = await import('../../transfer/local/whole-file.ts');
  await writeWhole(resolvePath(context.world, file), encodePlan(head, steps), context.world.interrupted);
  context.note(`Wrote ${file}: cloud stor run ${quoteShell(file)} does it`);
  return undefined;
}

/** Types and headers of objects that files cannot hold: kept in a manifest, or counted. */
async function createLostHeaders({ note }: Context, to: Side, { withHeaders, modes }: { withHeaders: boolean; modes: boolean }) {
  const writer = withHeaders && to.kind === 'local' ? await createManifestAppender(to.root) : undefined;
  const held = new Set(['content-type', 'm-mtime', ...(modes ? ['m-mode'] : [])]);
  /** Objects by the end of their name and their type. */
  const types = new Map<string, number>();
  let count = 0;
  return {
    add: (file: string, headers: Headers): void => {
      if (writer) writer.add(file, headers);
      else if (Object.keys(decodeStored(headers)).some((name) => !held.has(name))) count += 1;
      else {
        const key = `${extname(file)}\0${headers['content-type'] ?? ''}`;
        types.set(key, (types.get(key) ?? 0) + 1);
      }
    },
    lacks: (file: string, etag: string): boolean => writer?.lacks(file, etag) ?? false,
    finish: async (): Promise<void> => {
      writer?.finish();
      for (const [key, number] of types) {
        const [end = '', type = ''] = key.split('\0');
        if (type !== (await guessType(`x${end}`))) count += number;
      }
      if (count > 0)
        note(
          `${count} ${count === 1 ? 'object has a type or headers' : 'objects have types or headers'} that files cannot hold: --with-headers keeps them`,
        );
    },
  };
}

export const sync = command({
  summary: 'Bring a directory up to date with another one, either way',
  description:
    'One side begins with stor: and is a directory of the object storage; both may be. PROFILE/stor:PATH is one of the service of a profile: between two services objects go through this machine and never to its disk, with their types, headers and number of copies, and are compared by MD5; names that are links of each other stay so. Files are the same when size and modification time are; the time is kept in m-mtime, and what was found out is remembered, so that a run with nothing to do only reads the listings. A run that was interrupted is gone on with by the same command. Links to files inside a local tree are followed; others are left out and counted, see --links. --delete asks on a terminal and needs --yes elsewhere; it refuses an empty source, and removes nothing whose name the local file system cannot hold or that is there and takes no part, and nothing at all when a listing came with fewer entries than the service announced.',
  arguments: {
    source: one('Directory to bring; stor:PATH for the object storage, PROFILE/stor:PATH for that of a profile', {
      values: 'file-or-path',
    }),
    target: one('Directory to change; stor:PATH or PROFILE/stor:PATH as well', { values: 'file-or-path' }),
  },
  options: {
    ...guardOptions,
    dryRun: flag('Only show what would be done', { short: 'n' }),
    plan: text('Write the steps to a file instead of doing them, for cloud stor run; - for stdout', {
      placeholder: 'FILE',
      values: 'file',
    }),
    backupDir: backupDirOption,
    withHeaders: flag(`To files: keep types, headers and links in ${manifestName} at the root`),
    withoutHeaders: flag('From files: take no headers from that file'),
    ...compareOptions,
    ...filterOptions,
    ...copyOptions,
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const comparison = chooseComparison(options);
    const sides = readSides(invocation, { from: args.source, to: args.target });
    const { from, to, context } = sides;
    if (options.dryRun || options.plan !== undefined) {
      if (options.dryRun && options.plan !== undefined) throw createContradiction('--dry-run', '--plan');
      if (options.backupDir !== undefined && options.plan !== undefined) throw createContradiction('--backup-dir', '--plan');
      const tally = createTally(invocation);
      const steps = planSync(invocation, sides, {
        deletes: options.delete,
        modes: options.modes,
        // A dry run changes nothing at all.
        remembers: options.plan !== undefined,
        tally,
        engine: createEngine(context, options, { bulk: true }),
      });
      if (options.plan !== undefined) {
        await assertSourceNotEmpty(context, sides, options);
        const head = writeHead({ from, to, deletes: options.delete });
        return await writePlan(invocation, options.plan, head, steps);
      }
      return records(mapSteps(steps), stepShape);
    }
    const filter = await readFilter(invocation, options);
    const backupRoot = readBackupDir(sides, options.backupDir, filter);
    const isThere = await checkSides(sides);
    await assertSourceNotEmpty(context, sides, options);
    await confirmDeletion(invocation, sides, options, () =>
      planSync(invocation, sides, {
        deletes: true,
        modes: options.modes,
        remembers: false,
        tally: createTally({ world: invocation.world, fail: async () => 1 }),
        engine: createEngine(context, options, { bulk: true }),
      }),
    );
    const skips = createSkips(invocation);
    const declare = (): Work => ({
      command: 'stor sync',
      kind: 'sync',
      args: { ...args },
      // Whoever was asked before it began is not asked again.
      options: { ...options, yes: true },
      placed: [[printSide(from), printSide(to)]],
    });
    const transfers = { only: false, bulk: true, declare, command: invocation };
    return await runTransfers(context, options, transfers, stepShape, async function* ({ engine, tally }) {
      if (!isThere && to.kind === 'remote') await makeFolder(engine.storage, to.root, { parents: true });
      if (!isThere && to.kind === 'local') makeFolders(to.root);
      const manifest = from.kind === 'local' && !options.withoutHeaders ? await readManifest(from.root) : undefined;
      const lost = await createLostHeaders(invocation, to, options);
      const backup = backupRoot && createBackup(engine, to, backupRoot, options.copy);
      const steps = syncSides(engine, {
        task: { from, to, comparison, comparesHeaders: options.headers || options.checksum, modes: options.modes },
        filter,
        deletes: options.delete,
        dryRun: false,
        isEmpty: false,
        // What may remove or replace on a large scale is never done without a condition.
        copy: { ...readCopyOptions(options, !options.delete && !backup), manifest, keeper: lost, backup },
        memory: nameMemory(context, from, to),
        remembers: true,
        id: randomUUID(),
        report: reportTo(tally),
        links: readLinks(options.links),
        onSkip: skips.add,
      });
      try {
        yield* mapSteps(steps);
      } finally {
        await lost.finish();
      }
      skips.finish();
    });
  },
  examples: [
    { line: 'cloud stor sync photos stor:photos', help: 'What is new or changed here goes there' },
    { line: 'cloud stor sync stor:photos photos --delete -n', help: 'The other way: what would be done?' },
    { line: 'cloud stor sync site stor:site --delete --backup-dir stor:old/site', help: 'Keep what is replaced or deleted' },
    { line: 'cloud stor sync work/stor:photos home/stor:pictures', help: 'From the service of one profile to that of another' },
    { line: 'cloud stor sync site stor:/demo/public/site --exclude "*.tmp" --checksum', help: 'Publish, comparing contents' },
  ],
});

export async function* mapSteps(steps: AsyncIterable<Step>): AsyncGenerator<Row> {
  for await (const step of steps) yield describeStep(step);
}
