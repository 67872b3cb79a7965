import { existsSync } from 'node:fs';
import { command, type Context, type Invocation } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, one, some, text, type Arguments } from '../../cli/parameters.ts';
import { ApiError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Output } from '../../output/kinds.ts';
import type { Engine } from '../../transfer/engine.ts';
import { makeFolder } from '../../transfer/tree/folders.ts';
import { inspect } from '../../transfer/inspect.ts';
import { linkObject, linkUnlessOther, linkWhereNothingIs } from '../../transfer/tree/link.ts';
import { parentOf, printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { everything, type Filter } from '../../transfer/sync/tree.ts';
import { runPool } from '../../base/parallel.ts';
import { removeEntry } from '../../transfer/tree/remove.ts';
import { assertWithin, copyDown, copyUp, findDirection, isRemote } from './copy-any.ts';
import { assertSeparate, chooseTargets, planSource, type ObjectStep, type Step } from './copy-plan.ts';
import { transferOptions } from './engine.ts';
import { filterOptions, readFilter } from './filters.ts';
import { isFolder } from './get.ts';
import { leaveExisting } from './put.ts';
import { describeWithT, listFirstNames, noTargetDirectory, noteNesting } from './nesting.ts';
import { assertDirectory, changingNames, explainMissing, listOption, readingNames, readNames } from './names.ts';
import { explainParent, missing } from './paths.ts';
import { namesProfile } from './sides.ts';
import { dryRunOption, rehearseFolder, rehearseObject, showRehearsal, type Rehearsed } from './rehearse.ts';
import { runTransfers, type Transfers } from './show.ts';

interface Copied {
  readonly from: string;
  readonly to: string;
  readonly how: 'link' | 'copy';
  readonly etag: string;
}

interface CopyValues {
  readonly recursive: boolean;
  readonly noClobber: boolean;
  readonly copy: boolean;
  readonly filter: Filter;
  /** For hints; `cp` when absent. */
  readonly verb?: 'mv' | 'ln';
  /** Told of what is left alone. */
  readonly note?: (message: string) => void;
}

/** @param merges for an object of a tree that moves to a directory that was there before: what is there stays, as mv of the system does it */
async function copyObject({ engine, entry }: Copying, step: ObjectStep, options: CopyValues, merges = false): Promise<Copied | undefined> {
  const { from, to } = step;
  const earlier = readCopied(entry, to);
  if (earlier && earlier.source === step.etag)
    return { from: printRemotePath(from), to: printRemotePath(to), how: 'link', etag: earlier.target };
  // Of an object that was changed since, an earlier run has copied the old version: only that is replaced.
  if (earlier) {
    const { how, etag } = await linkObject(engine, step, { copiesThrough: options.copy, ifMatch: earlier.target });
    noteCopied(entry, step, etag);
    return { from: printRemotePath(from), to: printRemotePath(to), how, etag };
  }
  const link = options.noClobber ? linkWhereNothingIs : merges ? linkUnlessOther : linkObject;
  const linked = await leaveExisting(options.noClobber, () =>
    explainParent(() => link(engine, step, { copiesThrough: options.copy }), `cloud stor ${options.verb ?? 'cp'} -p`),
  );
  if (linked === undefined) {
    options.note?.(`${printRemotePath(to)} exists: left alone`);
    return undefined;
  }
  const { how, etag } = linked;
  noteCopied(entry, step, etag);
  return { from: printRemotePath(from), to: printRemotePath(to), how, etag };
}

/** What copies work with. */
type Copying = Pick<Transfers, 'engine'> & Partial<Pick<Transfers, 'entry'>>;

/** The version of which an earlier run made a copy, and that of the copy. */
function readCopied(entry: Copying['entry'], to: RemotePath): { source: string; target: string } | undefined {
  const noted = entry?.find(printRemotePath(to));
  if (noted === undefined) return undefined;
  const [source = '', target = ''] = JSON.parse(noted) as string[];
  return { source, target };
}

function noteCopied(entry: Copying['entry'], { to, etag }: ObjectStep, copied: string): void {
  if (etag !== undefined) entry?.note(printRemotePath(to), JSON.stringify([etag, copied]));
}

/** What comes after an object has its new name. */
type After = (step: ObjectStep) => Promise<void>;

async function* copyAll(
  { engine, tally, entry }: Transfers,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  options: CopyValues,
  { after, onFolder, moves }: { after: After; onFolder: (path: RemotePath) => void; moves: boolean },
): AsyncGenerator<Copied> {
  async function* plan(): AsyncGenerator<Step> {
    for (const [from, to] of targets) {
      const steps = planSource(engine, from, to, options.recursive, options.filter);
      const first = await tally.prepare(printRemotePath(from), async () => (await steps.next()).value as Step | undefined);
      if (!first) continue;
      yield first;
      yield* steps;
    }
  }
  async function work(step: Step): Promise<Copied | undefined> {
    if (step.kind === 'folder') {
      onFolder(step.from);
      await tally.attempt(printRemotePath(step.folder.path), () => explainParent(() => step.folder.ready(), 'cloud stor cp -p'));
      return undefined;
    }
    const isNew = await (step.folder?.ready() ?? Promise.resolve(true)).catch(() => undefined);
    if (isNew === undefined) {
      tally.skip();
      return undefined;
    }
    return await tally.attempt(printRemotePath(step.from), async () => {
      const copied = await copyObject({ engine, ...(!moves && { entry }) }, step, options, moves && !isNew);
      if (copied) await after(step);
      return copied;
    });
  }
  for await (const copied of runPool(plan(), work, { limit: engine.parallel, signal: engine.signal })) if (copied) yield copied;
}

const rowShape = { columns: ['from', 'to', 'how'], id: 'to', fields: ['etag'] };

/** Options of copies that begin or end in local files. */
const fileOptions = {
  type: text('Content type of objects made of files; guessed from the name when absent', { placeholder: 'TYPE' }),
  modes: flag('Keep permission bits of files in m-mode'),
};

const commonOptions = {
  noClobber: flag('Leave objects alone that exist'),
  parents: flag('Make missing directories', { short: 'p' }),
  copy: flag('Where the service refuses links, copy the bytes through this machine'),
  dryRun: dryRunOption,
  noTargetDirectory,
  ...listOption,
  ...transferOptions,
};

function splitWords(words: readonly string[], hasList: boolean): { sources: readonly string[]; target: string } {
  if (words.length < (hasList ? 1 : 2))
    throw new UsageError('missing argument TARGET', { hint: 'the last word is the new name, or a directory' });
  return { sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

/** What an earlier run was to copy or move, and where. */
function readTargets({ placed }: Entry, account: string): Map<RemotePath, RemotePath> {
  return new Map(placed.map(([from, to]) => [readRemotePath(from, account), readRemotePath(to, account)]));
}

/** What `cp` and `mv` leave in the journal. */
function declareCopy(verb: 'cp' | 'mv', options: object, targets: ReadonlyMap<RemotePath, RemotePath>): Work {
  return {
    command: `stor ${verb}`,
    kind: verb === 'cp' ? 'copy' : 'move',
    args: { path: [] },
    options: { ...options, noTargetDirectory: true },
    placed: [...targets].map(([from, to]) => [printRemotePath(from), printRemotePath(to)]),
  };
}

/** What would be copied or moved; directories that --parents would make are not looked for. */
async function* rehearse(
  invocation: Context,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  verb: 'copy' | 'move',
  { recursive, noClobber, filter }: CopyValues,
): AsyncGenerator<Rehearsed> {
  for (const [from, to] of targets) {
    for await (const step of planSource(invocation, from, to, recursive, filter)) {
      if (step.kind === 'folder') yield* rehearseFolder(invocation, step.folder.path);
      else yield await rehearseObject(invocation, verb, printRemotePath(step.from), step.to, noClobber);
    }
  }
}

/** @throws {UsageError} when a pattern or a list has no directory to go to */
async function assertTargetDirectory({ storage, account }: Context, target: string): Promise<void> {
  const path = readRemotePath(target, account);
  assertDirectory((await inspect(storage, path))?.type === 'directory', printRemotePath(path), 'cloud stor mkdir -p');
}

/** @throws {ApiError} when nothing has the name that is to be moved */
async function assertThere(context: Context, [source]: readonly RemotePath[], word: string): Promise<void> {
  if (source && !(await inspect(context.storage, source))) throw await explainMissing(context, source, word, 'mv');
}

/** @throws {UsageError} for `./x`, which can only be a local path, with the line that copies it */
function assertNotDotted({ world }: Context, words: readonly string[]): void {
  const dotted = words.find((word) => /^\.{1,2}(?:\/|$)/.test(word));
  if (dotted === undefined) return;
  const verb = words.slice(0, -1).some((word) => isFolder(resolvePath(world, word))) ? 'cp -r' : 'cp';
  const line = words.map((word) => quoteShell(/^\.{1,2}(?:\/|$)|^stor:/.test(word) ? word : `stor:${word}`)).join(' ');
  throw new UsageError(`${dotted} is a local path, and without stor: all paths are in the object storage`, {
    hint: `cloud stor ${verb} ${line}`,
  });
}

/** @throws {ApiError} for a source that is missing in the object storage and exists here, with the line that copies it */
async function assertNotLocal(
  { storage, world }: Context,
  words: readonly string[],
  sources: readonly RemotePath[],
  target: string,
): Promise<void> {
  const [source] = sources;
  const [word = ''] = words;
  if (source === undefined || words.length > 1 || !existsSync(resolvePath(world, word)) || (await inspect(storage, source))) return;
  const { status, code, message } = missing(source);
  const verb = isFolder(resolvePath(world, word)) ? 'cp -r' : 'cp';
  const to = isRemote(target) ? target : `stor:${target}`;
  throw new ApiError(status, code, message, { hint: `to copy the local file: cloud stor ${verb} ${quoteShell(word)} ${quoteShell(to)}` });
}

async function makeParents({ storage, account }: Context, target: string, isWanted: boolean): Promise<void> {
  const path = readRemotePath(target, account);
  const above = target.endsWith('/') ? path : parentOf(path);
  if (isWanted && above?.path.includes('/') === true) await makeFolder(storage, above, { parents: true });
}

/** Says when a tree goes below a directory of the same content, which it may have been meant for. */
async function noteNested(
  context: Context,
  words: readonly string[],
  target: string,
  targets: ReadonlyMap<RemotePath, RemotePath>,
): Promise<void> {
  const [first] = targets;
  if (first === undefined || targets.size > 1 || target.endsWith('/')) return;
  const [from, nested] = first;
  const path = readRemotePath(target, context.account);
  if (printRemotePath(nested) === printRemotePath(path) || (await inspect(context.storage, nested))) return;
  if ((await inspect(context.storage, from))?.type !== 'directory') return;
  const [line = ''] = describeWithT(context, [...words, target], [{ source: words[0] ?? '', target }]);
  const about = { target: printRemotePath(path), nested: printRemotePath(nested), line };
  noteNesting(context, about, await listFirstNames(context, from), await listFirstNames(context, path));
}

const copyOptions = {
  recursive: flag('Directories with everything in them', { short: 'r' }),
  ...readingNames,
  ...commonOptions,
  ...filterOptions,
  ...fileOptions,
};

/** Copies objects and trees to their targets. */
async function copyTargets(
  invocation: Invocation<Arguments, typeof copyOptions>,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  isOne: boolean,
): Promise<Output | undefined> {
  const { options, note } = invocation;
  const filter = await readFilter(invocation, options, options.recursive);
  const only = isOne && !options.recursive;
  const declare = (): Work => declareCopy('cp', options, targets);
  return await runTransfers(invocation, options, { only, bulk: !only, declare }, rowShape, async function* (transfers) {
    const nothing = { after: () => Promise.resolve(), onFolder: () => undefined, moves: false };
    for await (const copied of copyAll(transfers, targets, { ...options, note, filter }, nothing)) {
      if (!options.recursive) note(`${copied.from} -> ${copied.to}`);
      yield copied;
    }
  });
}

export const copy = command({
  summary: 'Copy files, objects and trees, to, from and within the object storage',
  description:
    'Paths that begin with stor: are in the object storage, others are local files; - is stdin or stdout. Without any stor: all paths are in the object storage. Within it, copies are snap-links: no bytes move, and later changes of the one do not change the other. With PROFILE/stor:PATH for the source or the target, from the service of one profile to that of another, through this machine.',
  arguments: { path: some('File, object or, with -r, directory, and last the target', { values: 'file-or-path' }) },
  usage: 'SOURCE... TARGET',
  options: copyOptions,
  run: async (invocation) => {
    const { args, options, resumed } = invocation;
    if (args.path.some(namesProfile)) {
      const { copyAcross } = await import('./copy-across.ts');
      return await copyAcross(invocation, args.path, options);
    }
    const direction = findDirection(args.path);
    if (direction === 'up') return await copyUp(invocation, args.path, options);
    if (direction === 'down') return await copyDown(invocation, args.path, options);
    if (resumed) return await copyTargets(invocation, readTargets(resumed, invocation.account), resumed.placed.length === 1);
    const hasList = options.pathsFrom !== undefined;
    const { sources: words, target } = splitWords(args.path, hasList);
    assertNotDotted(invocation, args.path);
    const { paths: sources, isMatch } = await readNames(invocation, words, options);
    await assertNotLocal(invocation, words, sources, target);
    await makeParents(invocation, target, options.parents && !options.dryRun);
    if (isMatch || hasList) await assertTargetDirectory(invocation, target);
    const targets = await chooseTargets(invocation, sources, target, options.noTargetDirectory);
    const filter = await readFilter(invocation, options, options.recursive);
    if (options.recursive) await noteNested(invocation, words, target, targets);
    if (options.dryRun) return await showRehearsal(invocation, rehearse(invocation, targets, 'copy', { ...options, filter }));
    return await copyTargets(invocation, targets, sources.length === 1);
  },
  examples: [
    { line: 'cloud stor cp report.pdf stor:docs/', help: 'A file into the object storage' },
    { line: 'cloud stor cp -r stor:photos ./photos', help: 'A tree from the object storage' },
    { line: 'cloud stor cp stor:notes.txt stor:notes-2024.txt', help: 'Within the object storage' },
    { line: 'cloud stor cp -r work/stor:photos home/stor:pictures', help: 'From the service of one profile to that of another' },
  ],
});

/** Deletes what was moved, unless it was changed since. */
async function deleteMoved(engine: Engine, { from, etag }: ObjectStep): Promise<void> {
  try {
    await engine.storage.deleteObject({ ...from, ifMatch: etag });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return;
    if (!(error instanceof ApiError) || error.status !== 412) throw error;
    throw new ApiError(
      412,
      error.code,
      `${printRemotePath(from)} was changed while it was moved: it stays, and the target has what it was before`,
      {
        requestId: error.requestId,
      },
    );
  }
}

const moveOptions = { ...changingNames, ...commonOptions };

/** What an earlier run has not moved: the sources that are still there. */
async function findRest({ storage }: Context, targets: ReadonlyMap<RemotePath, RemotePath>): Promise<Map<RemotePath, RemotePath>> {
  const rest = new Map<RemotePath, RemotePath>();
  for (const [from, to] of targets) if (await inspect(storage, from)) rest.set(from, to);
  return rest;
}

/** Moves objects and trees to their targets. */
async function moveTargets(
  invocation: Invocation<Arguments, typeof moveOptions>,
  targets: ReadonlyMap<RemotePath, RemotePath>,
): Promise<Output | undefined> {
  const { options, note, storage } = invocation;
  const [first] = targets.keys();
  const only = targets.size === 1 && first !== undefined && (await inspect(storage, first))?.type !== 'directory';
  const declare = (): Work => declareCopy('mv', options, targets);
  return await runTransfers(invocation, options, { only, bulk: !only, declare }, rowShape, async function* (transfers) {
    const { engine, tally } = transfers;
    const emptied: RemotePath[] = [];
    const moving = {
      after: (step: ObjectStep) => deleteMoved(engine, step),
      onFolder: (path: RemotePath) => emptied.push(path),
      moves: true,
    };
    const values = { ...options, recursive: true, note, filter: everything, verb: 'mv' } as const;
    for await (const copied of copyAll(transfers, targets, values, moving)) {
      if (only) note(`${copied.from} -> ${copied.to}`);
      yield copied;
    }
    if (tally.failed > 0) return;
    for (const path of emptied.toReversed()) await tally.attempt(printRemotePath(path), () => removeEntry(engine, path));
  });
}

export const move = command({
  summary: 'Move or rename objects and trees',
  description:
    'An object gets its new name by a snap-link and loses the old one; of a tree, each in turn. When that is interrupted, every object is in one place or both, and the same command with -T goes on. A tree that is moved to a directory that is there joins what is in it; an object that would replace another one stays where it is and is named.',
  arguments: { path: some('Object or directory, and last the target', { values: 'path' }) },
  usage: 'SOURCE... TARGET',
  options: moveOptions,
  run: async (invocation) => {
    const { args, options, resumed } = invocation;
    if (resumed) return await moveTargets(invocation, await findRest(invocation, readTargets(resumed, invocation.account)));
    assertWithin('mv', args.path);
    const hasList = options.pathsFrom !== undefined;
    const { sources: words, target } = splitWords(args.path, hasList);
    const { paths: sources, isMatch } = await readNames(invocation, words, options);
    assertSeparate(sources);
    if (words.length === 1 && !isMatch) await assertThere(invocation, sources, words[0] ?? '');
    await makeParents(invocation, target, options.parents && !options.dryRun);
    if (isMatch || hasList) await assertTargetDirectory(invocation, target);
    const targets = await chooseTargets(invocation, sources, target, options.noTargetDirectory);
    if (options.dryRun)
      return await showRehearsal(invocation, rehearse(invocation, targets, 'move', { ...options, recursive: true, filter: everything }));
    return await moveTargets(invocation, targets);
  },
  examples: [
    { line: 'cloud stor mv draft.txt final.txt', help: 'Rename' },
    { line: 'cloud stor mv --glob "logs/2023-*" archive/', help: 'Several into a directory' },
  ],
});

export const link = command({
  summary: 'Give an object another name by a snap-link',
  description: 'Both names are equal: overwriting or deleting one leaves the other as it is.',
  arguments: { source: one('Object', { values: 'path' }), target: one('New name, or a directory', { values: 'path' }) },
  options: { parents: commonOptions.parents, noClobber: commonOptions.noClobber },
  run: async (invocation) => {
    const { args, options, storage, account, note } = invocation;
    assertWithin('ln', [args.source, args.target]);
    const source = readRemotePath(args.source, account);
    await makeParents(invocation, args.target, options.parents);
    const targets = await chooseTargets(invocation, [source], args.target, false);
    const to = targets.get(source) ?? source;
    return await runTransfers(invocation, {}, { only: true, bulk: false }, rowShape, async function* ({ engine, tally }) {
      const copied = await tally.attempt(args.source, async () => {
        const found = await inspect(storage, source);
        if (!found) throw missing(source);
        if (found.type === 'directory') throw new UsageError(`${printRemotePath(source)} is a directory: only objects can be linked`);
        return await copyObject(
          { engine },
          { kind: 'object', from: source, to, etag: found.headers['etag'], folder: undefined },
          { recursive: false, noClobber: options.noClobber, copy: false, note, filter: everything, verb: 'ln' },
        );
      });
      if (!copied) return;
      note(`${copied.from} -> ${copied.to}`);
      yield copied;
    });
  },
  examples: [
    { line: 'cloud stor ln builds/42.tgz builds/latest.tgz', help: 'A second name' },
    { line: 'cloud stor ln report.pdf ~~/public/report.pdf', help: 'A name that anybody can read' },
  ],
});
