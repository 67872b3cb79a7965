import { command, type Context } from '../../cli/command.ts';
import { flag, many, one } from '../../cli/parameters.ts';
import { ApiError, InterruptedError, UsageError } from '../../errors.ts';
import type { Engine } from '../../transfer/engine.ts';
import { makeFolder } from '../../transfer/folders.ts';
import { inspect } from '../../transfer/inspect.ts';
import { linkObject, linkWhereNothingIs } from '../../transfer/link.ts';
import { parentOf, printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { runPool } from '../../transfer/pool.ts';
import { removeEntry } from '../../transfer/remove.ts';
import { chooseTargets, planSource, type ObjectStep, type Step } from './copy-plan.ts';
import { transferOptions, type Tally } from './engine.ts';
import { explainParent, missing, readPaths } from './paths.ts';
import { dryRunOption, rehearseFolder, rehearseObject } from './rehearse.ts';
import { runTransfers } from './show.ts';

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
}

async function copyObject(engine: Engine, step: ObjectStep, options: CopyValues): Promise<Copied> {
  const { from, to } = step;
  const link = options.noClobber ? linkWhereNothingIs : linkObject;
  const { how, etag } = await explainParent(() => link(engine, step, { copiesThrough: options.copy }), 'cloud stor cp -p');
  return { from: printRemotePath(from), to: printRemotePath(to), how, etag };
}

/** What comes after an object has its new name. */
type After = (step: ObjectStep) => Promise<void>;

async function* copyAll(
  engine: Engine,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  options: CopyValues,
  { tally, after, onFolder }: { tally: Tally; after: After; onFolder: (path: RemotePath) => void },
): AsyncGenerator<Copied> {
  async function* plan(): AsyncGenerator<Step> {
    for (const [from, to] of targets) {
      const steps = planSource(engine, from, to, options.recursive);
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
    const isReady = await (step.folder?.ready() ?? Promise.resolve(true)).then(
      () => true,
      () => false,
    );
    if (!isReady) {
      tally.skip();
      return undefined;
    }
    return await tally.attempt(printRemotePath(step.from), async () => {
      const copied = await copyObject(engine, step, options);
      await after(step);
      return copied;
    });
  }
  for await (const copied of runPool(plan(), work, { limit: engine.parallel, signal: engine.signal })) if (copied) yield copied;
}

const rowShape = { columns: ['from', 'to', 'how'], id: 'to', fields: ['etag'] };

const commonOptions = {
  noClobber: flag('Leave objects alone that exist', { short: 'n' }),
  parents: flag('Make missing directories', { short: 'p' }),
  copy: flag('Where the service refuses links, copy the bytes through this machine'),
  dryRun: dryRunOption,
  noTargetDirectory: flag('The target is the new name itself, also when it is a directory', { short: 'T' }),
  ...transferOptions,
};

function splitWords(words: readonly string[]): { sources: readonly string[]; target: string } {
  if (words.length < 2) throw new UsageError('missing argument TARGET', { hint: 'the last word is the new name, or a directory' });
  return { sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

/** Shows what would be copied or moved; directories that --parents would make are not looked for. */
async function rehearse(
  invocation: Context,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  verb: 'copy' | 'move',
  { recursive, noClobber }: CopyValues,
): Promise<undefined> {
  for (const [from, to] of targets) {
    for await (const step of planSource(invocation, from, to, recursive)) {
      if (step.kind === 'folder') await rehearseFolder(invocation, step.folder.path);
      else await rehearseObject(invocation, verb, printRemotePath(step.from), step.to, noClobber);
    }
  }
}

async function makeParents({ storage, account }: Context, target: string, isWanted: boolean): Promise<void> {
  const path = readRemotePath(target, account);
  const above = target.endsWith('/') ? path : parentOf(path);
  if (isWanted && above?.path.includes('/') === true) await makeFolder(storage, above, { parents: true });
}

export const copy = command({
  summary: 'Copy objects and trees within the object storage',
  description: 'By snap-links: no bytes move, and later changes of the one do not change the other.',
  arguments: { path: many('Object or, with -r, directory, and last the target', { values: 'path' }) },
  usage: 'SOURCE... TARGET',
  options: { recursive: flag('Directories with everything in them', { short: 'r' }), ...commonOptions },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const { sources: words, target } = splitWords(args.path);
    const sources = await readPaths(invocation, words);
    await makeParents(invocation, target, options.parents && !options.dryRun);
    const targets = await chooseTargets(invocation, sources, target, options.noTargetDirectory);
    if (options.dryRun) return await rehearse(invocation, targets, 'copy', options);
    const only = sources.length === 1 && !options.recursive;
    return await runTransfers(invocation, options, { only, bulk: !only }, rowShape, async function* ({ engine, tally }) {
      const nothing = { after: () => Promise.resolve(), onFolder: () => undefined };
      for await (const copied of copyAll(engine, targets, options, { tally, ...nothing })) {
        if (!options.recursive) note(`${copied.from} -> ${copied.to}`);
        yield copied;
      }
    });
  },
  examples: [
    { line: 'cloud stor cp notes.txt notes-2024.txt', help: 'An object' },
    { line: 'cloud stor cp -r photos backup/', help: 'A tree into a directory' },
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

export const move = command({
  summary: 'Move or rename objects and trees',
  description:
    'An object gets its new name by a snap-link and loses the old one; of a tree, each in turn. When that is interrupted, every object is in one place or both, and the same command with -T goes on.',
  arguments: { path: many('Object or directory, and last the target', { values: 'path' }) },
  usage: 'SOURCE... TARGET',
  options: commonOptions,
  run: async (invocation) => {
    const { args, options, note, warn } = invocation;
    const { sources: words, target } = splitWords(args.path);
    const sources = await readPaths(invocation, words);
    await makeParents(invocation, target, options.parents && !options.dryRun);
    const targets = await chooseTargets(invocation, sources, target, options.noTargetDirectory);
    if (options.dryRun) return await rehearse(invocation, targets, 'move', { ...options, recursive: true });
    const [first] = sources;
    const only = sources.length === 1 && first !== undefined && (await inspect(invocation.storage, first))?.type !== 'directory';
    return await runTransfers(invocation, options, { only, bulk: !only }, rowShape, async function* ({ engine, tally }) {
      const emptied: RemotePath[] = [];
      let moved = 0;
      const after: After = async (step) => {
        await deleteMoved(engine, step);
        moved += 1;
      };
      try {
        for await (const copied of copyAll(
          engine,
          targets,
          { ...options, recursive: true },
          { tally, after, onFolder: (path) => emptied.push(path) },
        )) {
          if (only) note(`${copied.from} -> ${copied.to}`);
          yield copied;
        }
        if (tally.failed > 0) return;
        for (const path of emptied.toReversed()) await tally.attempt(printRemotePath(path), () => removeEntry(engine, path));
      } catch (error) {
        if (error instanceof InterruptedError) warn(describeMoved(targets, moved));
        throw error;
      }
    });
  },
  examples: [
    { line: 'cloud stor mv draft.txt final.txt', help: 'Rename' },
    { line: 'cloud stor mv "logs/2023-*" archive/', help: 'Several into a directory' },
  ],
});

/** What an interrupted move has done, and how to go on. */
function describeMoved(targets: ReadonlyMap<RemotePath, RemotePath>, moved: number): string {
  const lines = [...targets].map(([from, to]) => `cloud stor mv -T ${quoteRemotePath(from)} ${quoteRemotePath(to)}`);
  return `${moved} objects were moved, the others are where they were; to go on: ${lines.join('; ')}`;
}

export const link = command({
  summary: 'Give an object another name by a snap-link',
  description: 'Both names are equal: overwriting or deleting one leaves the other as it is.',
  arguments: { source: one('Object', { values: 'path' }), target: one('New name, or a directory', { values: 'path' }) },
  options: { parents: commonOptions.parents, noClobber: commonOptions.noClobber },
  run: async (invocation) => {
    const { args, options, storage, account, note } = invocation;
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
          engine,
          { kind: 'object', from: source, to, etag: found.headers['etag'], folder: undefined },
          { recursive: false, noClobber: options.noClobber, copy: false },
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
