import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import type { Entry } from '../../config/journal.ts';
import type { Work } from '../../config/journal-file.ts';
import { inspect } from '../../transfer/inspect.ts';
import { parentOf, printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { planSource } from './copy-plan.ts';
import { transferOptions } from './engine.ts';
import { noTargetDirectory } from './nesting.ts';
import { assertDirectory, listOption } from './names.ts';
import { dryRunOption, rehearseFolder, rehearseObject, type Rehearsed } from './rehearse.ts';
import type { CopyValues } from './copy-objects.ts';
import { makeWithParents } from './paths.ts';

/** How what was copied or moved is shown. */
export const rowShape = { columns: ['from', 'to', 'how'], id: 'to', fields: ['etag'] };

/** Options of `cp` and `mv`; some of them of `ln`. */
export const commonOptions = {
  noClobber: flag('Leave objects alone that exist'),
  parents: flag('Make missing directories', { short: 'p' }),
  copy: flag('Where the service refuses links, copy the bytes through this machine'),
  dryRun: dryRunOption,
  noTargetDirectory,
  ...listOption,
  ...transferOptions,
};

/** The last word is the target. @throws {UsageError} for too few words */
export function splitWords(words: readonly string[], hasList: boolean): { sources: readonly string[]; target: string } {
  if (words.length < (hasList ? 1 : 2))
    throw new UsageError('missing argument TARGET', { hint: 'the last word is the new name, or a directory' });
  return { sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

/** What an earlier run was to copy or move, and where. */
export function readTargets({ placed }: Entry, account: string): Map<RemotePath, RemotePath> {
  return new Map(placed.map(([from, to]) => [readRemotePath(from, account), readRemotePath(to, account)]));
}

/** What `cp` and `mv` leave in the journal. */
export function declareCopy(verb: 'cp' | 'mv', options: object, targets: ReadonlyMap<RemotePath, RemotePath>): Work {
  return {
    command: `stor ${verb}`,
    kind: verb === 'cp' ? 'copy' : 'move',
    args: { path: [] },
    options: { ...options, noTargetDirectory: true },
    placed: [...targets].map(([from, to]) => [printRemotePath(from), printRemotePath(to)]),
  };
}

/** What would be copied or moved; directories that --parents would make are not looked for. */
export async function* rehearse(
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
export async function assertTargetDirectory({ storage, account }: Context, target: string): Promise<void> {
  const path = readRemotePath(target, account);
  assertDirectory((await inspect(storage, path))?.type === 'directory', printRemotePath(path), 'cloud stor mkdir -p');
}

/** Makes the directories above a target where they are wanted. */
export async function makeParents({ storage, account }: Context, target: string, isWanted: boolean): Promise<void> {
  const path = readRemotePath(target, account);
  if (isWanted) await makeWithParents(storage, target.endsWith('/') ? path : parentOf(path));
}
