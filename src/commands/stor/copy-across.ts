import { randomUUID } from 'node:crypto';
import type { Context } from '../../cli/command.ts';
import { UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Engine } from '../../transfer/engine.ts';
import { records, type Output, type Row } from '../../output/kinds.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { inspect, type Inspected } from '../../transfer/inspect.ts';
import { assertStorable, baseName, joinPath, parentOf, printRemotePath, quoteRemotePath, type RemotePath } from '../../transfer/path.ts';
import { createBetween } from '../../transfer/sync/between.ts';
import { syncSides } from '../../transfer/sync/run.ts';
import type { Expected, Step } from '../../transfer/sync/steps.ts';
import { engineAt, type Side } from '../../transfer/sync/tree.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import { readFilter } from './filters.ts';
import type { CopyOptions } from './copy-words.ts';
import { rehearseObject, showRehearsal, type Rehearsed } from './rehearse.ts';
import { runTransfers } from './show.ts';
import { checkSides, readSides, type Sides } from './sides.ts';
import { mapSteps, readCopyOptions, reportTo, stepShape } from './sync-steps.ts';
import { makeWithParents, requireThere } from './paths.ts';
import { findReplaceable } from './unnoted-target.ts';

/** `cp` between the services of two profiles. */

type RemoteSide = Extract<Side, { kind: 'remote' }>;

/** The target of a source: inside the given path if that is a directory. */
async function choosePlace(
  { storage }: Context,
  source: RemotePath,
  target: RemotePath,
  word: string,
  asItself: boolean,
): Promise<RemotePath> {
  const there = await inspect(storage, target);
  if (word.endsWith('/') && there?.type !== 'directory')
    throw new UsageError(`${printRemotePath(target)}: no such directory`, { hint: `cloud stor mkdir -p ${quoteRemotePath(target)}` });
  return there?.type === 'directory' && !asItself ? joinPath(target, baseName(source)) : target;
}

/** @throws {ApiError} when a resumed copy would replace an object that was written after the work began */
async function assertReplaceable(engine: Engine, entry: Entry, { action, to, target }: Step): Promise<void> {
  if (action === 'copy' && to.kind === 'remote' && target?.etag !== '') await findReplaceable(engine, entry, to.path);
}

/**
 * The version of the target that a resumed copy may replace; `done` if an earlier run stored the object.
 * @throws {ApiError} when others have written the target since the work began
 */
async function findExpected(engine: Engine, entry: Entry, to: RemotePath, source: Inspected): Promise<Expected | 'done'> {
  const md5 = source.headers['content-md5'];
  if (md5 !== undefined && (await inspect(engine.storage, to))?.headers['content-md5'] === md5) return 'done';
  return { etag: (await findReplaceable(engine, entry, to)).ifMatch ?? '' };
}

async function copyTree(context: Context, sides: Sides, options: CopyOptions, declare: () => Work): Promise<Output | undefined> {
  const { from, to } = sides;
  const isThere = await checkSides(sides);
  const copy = readCopyOptions({ copies: undefined, modes: false, sparse: false, resetHeaders: false, copy: false }, true);
  const task = { from, to, comparison: 'checksum', comparesHeaders: true, modes: false } as const;
  const common = {
    task,
    filter: await readFilter(context, options),
    deletes: false,
    copy,
    memory: undefined,
    remembers: false,
    id: randomUUID(),
  };
  const rest = { ...common, links: 'inside', onSkip: () => undefined } as const;
  if (options.dryRun) {
    if (!isThere && to.kind === 'remote') await makeFolder(sides.context.storage, to.root, { parents: options.parents, dryRun: true });
    const tally = createTally(context);
    const engine = createEngine(sides.context, options, { bulk: true });
    const steps = syncSides(engine, { ...rest, dryRun: true, isEmpty: !isThere, report: reportTo(tally) });
    return records(mapSteps(steps), stepShape);
  }
  const transfers = { only: false, bulk: true, declare, command: context };
  return await runTransfers(sides.context, options, transfers, stepShape, async function* ({ engine, tally, entry }) {
    if (!isThere && to.kind === 'remote') await makeFolder(engine.storage, to.root, { parents: options.parents });
    const guard = entry?.isResumed === true ? (step: Step) => assertReplaceable(engine, entry, step) : undefined;
    const run = { ...rest, copy: { ...copy, guard }, dryRun: false, isEmpty: !isThere, report: reportTo(tally) };
    yield* mapSteps(syncSides(engine, run));
  });
}

interface OneCopy {
  readonly from: RemoteSide;
  readonly to: RemotePath;
  readonly found: Inspected;
  readonly options: CopyOptions;
  readonly declare: () => Work;
}

async function* rehearseOne(
  context: Context,
  from: string,
  to: RemotePath,
  { noClobber, parents }: CopyOptions,
): AsyncGenerator<Rehearsed> {
  if (parents) await makeWithParents(context.storage, parentOf(to), true);
  yield await rehearseObject(context, { action: 'copy', from, to }, { noClobber, hasParent: parents, line: 'cloud stor cp -p' });
}

async function copyOne(command: Context, context: Context, { from, to, found, options, declare }: OneCopy): Promise<Output | undefined> {
  const shown = { from: printRemotePath(from.root), to: printRemotePath(to) };
  if (options.dryRun) return await showRehearsal(context, rehearseOne(context, shown.from, to, options));
  return await runTransfers(
    context,
    options,
    { only: true, bulk: true, declare, command },
    { columns: ['from', 'to'], id: 'to' },
    async function* ({ engine, tally, entry }): AsyncGenerator<Row> {
      if (options.parents) await makeWithParents(engine.storage, parentOf(to));
      const usual = options.noClobber ? { etag: '' } : undefined;
      const target = entry?.isResumed === true ? await findExpected(engine, entry, to, found) : usual;
      if (target === 'done') return;
      const locations = { from: { kind: 'remote', path: from.root }, to: { kind: 'remote', path: to } } as const;
      const version = { source: { etag: found.headers['etag'] }, size: Number(found.headers['content-length'] ?? 0) };
      const step = { action: 'copy', rel: shown.from, ...locations, target, ...version, reason: 'new' } as const;
      await tally.attempt(shown.from, () => createBetween(engineAt(engine, from), engine, true).copy(step, from.root, to));
      context.note(`${shown.from} -> ${shown.to}`);
      yield shown;
    },
  );
}

/** The journal entry of a copy between services: the same command with the resolved target. */
function declareAcross(source: string, { profile }: RemoteSide, root: RemotePath, options: CopyOptions): Work {
  const target = `${profile === undefined ? '' : `${profile}/`}stor:${printRemotePath(root)}`;
  return {
    command: 'stor cp',
    kind: 'copy',
    args: { path: [source, target] },
    options: { ...options, noTargetDirectory: true },
    placed: [[source, target]],
  };
}

/** Copies an object or a tree from the service of one profile to that of another; identical objects stay unchanged. */
export async function copyAcross(invocation: Context, words: readonly string[], options: CopyOptions): Promise<Output | undefined> {
  const [source = '', target = ''] = words;
  if (words.length !== 2)
    throw new UsageError('between two services, cp takes one source and one target', { hint: 'to copy a tree: cloud stor cp -r' });
  const sides = readSides(invocation, { from: source, to: target }, true);
  const { from, to, context } = sides;
  if (from.kind !== 'remote' || to.kind !== 'remote') throw new UsageError('cp copies between services', { hint: 'cloud stor sync' });
  const found = await requireThere(from.origin?.storage ?? context.storage, from.root);
  const root = await choosePlace(context, from.root, to.root, target, options.noTargetDirectory);
  assertStorable(root);
  const declare = (): Work => declareAcross(source, to, root, options);
  if (found.type === 'object') return await copyOne(invocation, context, { from, to: root, found, options, declare });
  if (!options.recursive)
    throw new UsageError(`${printRemotePath(from.root)} is a directory`, { hint: 'to copy it recursively: cloud stor cp -r' });
  if (options.noClobber)
    throw new UsageError('between two services, --no-clobber takes a single object', {
      hint: 'to copy only what differs: cloud stor sync',
    });
  return await copyTree(invocation, { from, to: { kind: 'remote', root }, context }, options, declare);
}
