import type { Context } from '../../cli/command.ts';
import { flag, text, type Values } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, readRemotePath, readTargetPath, type RemotePath } from '../../transfer/path.ts';
import { requireSameObject } from '../../transfer/tree/link.ts';
import { chooseTargets, planSources } from './copy-plan.ts';
import { createEngine } from './engine.ts';
import { createTally } from './tally.ts';
import { transferOptions, type TransferValues } from './transfer-options.ts';
import { filterOptions } from './filters.ts';
import { noTargetDirectory } from './nesting.ts';
import { assertDirectory, listOption, readingNames } from './names.ts';
import { dryRunOption, rehearseFolder, rehearseInFolder, rehearseObject, rehearseSteps, type Rehearsed } from './rehearse.ts';
import type { CopyValues } from './copy-objects.ts';
import { explainParent, makeWithParents } from './paths.ts';

/** Columns of copied and moved objects. */
export const rowShape = { columns: ['from', 'to', 'how'], id: 'to', fields: ['etag'] };

/** Options of `cp` and `mv`; `ln` has some of them. */
export const commonOptions = {
  noClobber: flag('Do not replace existing objects'),
  parents: flag('Create missing parent directories', { short: 'p' }),
  copy: flag('If the service refuses links, copy the bytes through this machine'),
  dryRun: dryRunOption,
  noTargetDirectory,
  ...listOption,
  ...transferOptions,
};

/** Options of `cp`; the last two apply to copies from or to local files. */
export const copyOptions = {
  recursive: flag('Copy directories recursively', { short: 'r' }),
  ...readingNames,
  ...commonOptions,
  ...filterOptions,
  type: text('Content type of uploaded files; by default guessed from the name', { placeholder: 'TYPE' }),
  modes: flag('Store the permission bits of files in m-mode'),
};
export type CopyOptions = Values<typeof copyOptions>;

/** Splits off the target, which is the last argument. @throws {UsageError} for too few arguments */
export function splitWords(words: readonly string[], hasList: boolean): { sources: readonly string[]; target: string } {
  if (words.length < (hasList ? 1 : 2))
    throw new UsageError('missing argument TARGET', { hint: 'the last argument is the new name, or a directory' });
  return { sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

/** The sources and targets of an earlier run. */
export function readTargets({ placed }: Entry, account: string): Map<RemotePath, RemotePath> {
  return new Map(placed.map(([from, to]) => [readRemotePath(from, account), readTargetPath(to, account)]));
}

/** The journal entry of a `cp` or `mv`. */
export function declareCopy(verb: 'cp' | 'mv', options: object, targets: ReadonlyMap<RemotePath, RemotePath>): Work {
  return {
    command: `stor ${verb}`,
    kind: verb === 'cp' ? 'copy' : 'move',
    args: { path: [] },
    options: { ...options, noTargetDirectory: true },
    placed: [...targets].map(([from, to]) => [printRemotePath(from), printRemotePath(to)]),
  };
}

/**
 * Lists what would be copied or moved, but not directories that --parents would create. Failures are reported and counted as in the run.
 * @param only true for a single object, whose error is thrown directly
 */
export async function* rehearse(
  invocation: Context,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  options: CopyValues & TransferValues & { readonly parents: boolean },
  only: boolean,
): AsyncGenerator<Rehearsed> {
  const { noClobber, parents, copy, verb = 'cp' } = options;
  const tally = createTally(invocation, only);
  const engine = createEngine(invocation, options, { bulk: !only });
  const line = `cloud stor ${verb} -p`;
  const steps = planSources({ engine, tally }, targets, options, { dryRun: true, parents });
  yield* rehearseSteps(engine, steps, async (step) => {
    if (step.kind === 'folder')
      return await tally.attempt(printRemotePath(step.folder.path), () => explainParent(() => rehearseFolder(step.folder), line));
    const from = printRemotePath(step.from);
    const object = { action: verb === 'mv' ? 'move' : 'copy', from, to: step.to } as const;
    if (!step.folder) return await tally.attempt(from, () => rehearseObject(engine, object, { noClobber, hasParent: parents, line }));
    // A tree that is moved is merged with an existing one.
    const merging = verb === 'mv' ? { checkExisting: () => requireSameObject(engine, step, { copiesThrough: copy }) } : {};
    return await rehearseInFolder(engine, tally, step.folder, object, { noClobber, line, ...merging });
  });
  tally.finish();
}

/** @throws {UsageError} when the target of a pattern or a list is not a directory */
async function assertTargetDirectory({ storage, account }: Context, target: string): Promise<void> {
  const path = readRemotePath(target, account);
  assertDirectory((await inspect(storage, path))?.type === 'directory', printRemotePath(path), 'cloud stor mkdir -p');
}

/** The target of each source, whose parents are created if requested. @param isGroup true for the sources of a pattern or a list */
export async function prepareTargets(
  context: Context & { readonly options: Pick<Values<typeof commonOptions>, 'parents' | 'dryRun' | 'noTargetDirectory'> },
  sources: readonly RemotePath[],
  target: string,
  isGroup: boolean,
): Promise<Map<RemotePath, RemotePath>> {
  const { parents, dryRun, noTargetDirectory: isName } = context.options;
  await makeParents(context, target, parents, dryRun);
  // The run has created such a directory by now.
  const willBeDirectory = parents && dryRun && target.endsWith('/');
  if (isGroup && !willBeDirectory) await assertTargetDirectory(context, target);
  return await chooseTargets(context, sources, target, isName, willBeDirectory);
}

/** Creates the parents of a target if requested; a dry run only checks. */
export async function makeParents({ storage, account }: Context, target: string, isWanted: boolean, dryRun = false): Promise<void> {
  const path = readTargetPath(target, account);
  if (isWanted) await makeWithParents(storage, target.endsWith('/') ? path : parentOf(path), dryRun);
}
