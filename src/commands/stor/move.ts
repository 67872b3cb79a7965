import { command, type Context, type Invocation } from '../../cli/command.ts';
import { some, type Arguments } from '../../cli/parameters.ts';
import { ApiError, isMissing } from '../../base/errors.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Output } from '../../output/kinds.ts';
import type { Engine } from '../../transfer/engine.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { everything } from '../../transfer/sync/tree.ts';
import { createTagKeeper } from '../../transfer/tree/keep-tags.ts';
import { removeEntry } from '../../transfer/tree/remove.ts';
import { assertWithin } from './copy-any.ts';
import { assertSeparate, type ObjectStep } from './copy-plan.ts';
import { changingNames, explainMissing, readNames } from './names.ts';
import { showRehearsal } from './rehearse.ts';
import { runTransfers } from './show.ts';
import { copyAll } from './copy-objects.ts';
import { commonOptions, declareCopy, prepareTargets, readTargets, rehearse, rowShape, splitWords } from './copy-words.ts';

/** @throws {ApiError} when the source of the move does not exist */
async function assertThere(context: Context, [source]: readonly RemotePath[], word: string): Promise<void> {
  if (source && !(await inspect(context.storage, source))) throw await explainMissing(context, source, word, 'mv');
}

/** Deletes a moved object, unless it has changed since. */
async function deleteMoved(engine: Engine, { from, etag }: ObjectStep): Promise<void> {
  try {
    await engine.storage.deleteObject({ ...from, ifMatch: etag });
  } catch (error) {
    if (isMissing(error)) return;
    if (!(error instanceof ApiError) || error.status !== 412) throw error;
    throw new ApiError(
      412,
      error.code,
      `${printRemotePath(from)} changed while it was moved: the source is kept, and the target has the earlier version`,
      {
        requestId: error.requestId,
      },
    );
  }
}

const moveOptions = { ...changingNames, ...commonOptions };

/** The sources that an earlier run has not moved. */
async function findRest({ storage }: Context, targets: ReadonlyMap<RemotePath, RemotePath>): Promise<Map<RemotePath, RemotePath>> {
  const rest = new Map<RemotePath, RemotePath>();
  for (const [from, to] of targets) if (await inspect(storage, from)) rest.set(from, to);
  return rest;
}

/** True for a single source that is not a directory. */
async function isSingleObject({ storage }: Context, targets: ReadonlyMap<RemotePath, RemotePath>): Promise<boolean> {
  const [first] = targets.keys();
  return targets.size === 1 && first !== undefined && (await inspect(storage, first))?.type !== 'directory';
}

/** How `mv` copies: directories with all their entries. */
const movingTrees = { recursive: true, filter: everything, verb: 'mv' } as const;

async function moveTargets(
  invocation: Invocation<Arguments, typeof moveOptions>,
  targets: ReadonlyMap<RemotePath, RemotePath>,
): Promise<Output | undefined> {
  const { options, note, warn } = invocation;
  const only = await isSingleObject(invocation, targets);
  const declare = (): Work => declareCopy('mv', options, targets);
  return await runTransfers(invocation, options, { only, bulk: !only, declare }, rowShape, async function* (transfers) {
    const { engine, tally } = transfers;
    const emptied: RemotePath[] = [];
    const moving = {
      after: (step: ObjectStep) => deleteMoved(engine, step),
      onFolder: (path: RemotePath) => emptied.push(path),
      moves: true,
    };
    const values = { ...options, note, ...movingTrees, tags: createTagKeeper(engine.storage, warn) };
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
    'Each object is linked to its new name, then the old name is deleted. After an interruption, each object has one or both names; to resume, repeat the command with -T. A tree moved to an existing directory is merged into it. An object that would replace a different one is not moved, and is reported. Role tags and headers are kept.',
  arguments: { path: some('Objects or directories, followed by TARGET: a new name, or a directory', { values: 'path' }) },
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
    const targets = await prepareTargets(invocation, sources, target, isMatch || hasList);
    if (options.dryRun) {
      const only = await isSingleObject(invocation, targets);
      return await showRehearsal(invocation, rehearse(invocation, targets, { ...options, ...movingTrees }, only));
    }
    return await moveTargets(invocation, targets);
  },
  examples: [
    { line: 'cloud stor mv draft.txt final.txt', help: 'Rename' },
    { line: 'cloud stor mv --glob "logs/2023-*" archive/', help: 'Move several objects into a directory' },
  ],
});
