import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { ApiError } from '../../base/errors.ts';
import { runOrdered } from '../../base/parallel.ts';
import { type Output } from '../../output/kinds.ts';
import type { Engine } from '../../transfer/engine.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { assertParent, inspectIfAllowed, type Folder } from '../../transfer/tree/folders.ts';
import { showRows } from '../../cli/rows.ts';
import type { Tally } from './tally.ts';
import { explainParent } from './paths.ts';

/** An option of every command that may store, write or remove many things. */
export const dryRunOption = flag('Only show what would be done', { short: 'n' });

/** One line of a dry run; `skip` means that the target exists and would stay unchanged. */
export interface Rehearsed {
  readonly action: 'store' | 'copy' | 'move' | 'write' | 'make' | 'delete' | 'skip';
  readonly from?: string;
  readonly to: string;
}

function describe({ action, from, to }: Rehearsed): string {
  if (action === 'skip') return `${to} exists: it would be left alone`;
  return from === undefined ? `Would ${action} ${to}` : `Would ${action} ${from} -> ${to}`;
}

/** The result of a dry run: records if an output format was requested, else one line each on stderr. */
export function showRehearsal(context: Pick<Context, 'global' | 'note'>, steps: AsyncIterable<Rehearsed>): Promise<Output | undefined> {
  return showRows(context, steps, { columns: ['action', 'from', 'to'], id: 'to' }, describe);
}

/** A directory that would be created; undefined if it exists. @throws {UsageError} {ApiError} as creating it would */
export async function rehearseFolder(folder: Folder): Promise<Rehearsed | undefined> {
  return (await folder.ready()) ? { action: 'make', to: printRemotePath(folder.path) } : undefined;
}

interface ObjectChecks {
  readonly noClobber: boolean;
  /** True if the directory of the object exists, or would be created. */
  readonly hasParent: boolean;
  /** Command that creates missing parents, for hints. */
  readonly line: string;
  /** Called when the target exists and may be replaced: throws where a run would refuse that. */
  readonly checkExisting?: () => Promise<unknown>;
}

/** What would be done with an object, or that its target would stay unchanged. @throws {ApiError} where the service would refuse the object */
export async function rehearseObject(
  { storage }: Pick<Context, 'storage'>,
  { action, from, to }: { readonly action: 'store' | 'copy' | 'move'; readonly from: string; readonly to: RemotePath },
  { noClobber, hasParent, line, checkExisting }: ObjectChecks,
): Promise<Rehearsed> {
  const target = printRemotePath(to);
  const type = await inspectIfAllowed(storage, to);
  // An object that is stored is refused where a directory is, whatever its conditions.
  const isLeft = noClobber && type !== undefined && !(type === 'directory' && action === 'store');
  if (isLeft) return { action: 'skip', from, to: target };
  if (type !== undefined) await checkExisting?.();
  if (type === 'directory')
    throw new ApiError(400, 'OperationNotAllowedOnDirectory', `${target} is a directory: an object cannot replace it`);
  if (type === undefined && !hasParent) await explainParent(() => assertParent(storage, to), line);
  return { action, from, to: target };
}

/**
 * What would be done with an object of a tree. In a directory that would be new, nothing is checked.
 * @returns undefined when its directory could not be created, which was reported, or when the object was refused
 */
export async function rehearseInFolder(
  context: Pick<Context, 'storage'>,
  tally: Tally,
  folder: Folder,
  object: Parameters<typeof rehearseObject>[1],
  checks: Omit<ObjectChecks, 'hasParent'>,
): Promise<Rehearsed | undefined> {
  const isNew = await folder.ready().catch(() => undefined);
  if (isNew === undefined) {
    tally.skip();
    return undefined;
  }
  const { action, from, to } = object;
  if (isNew) return { action, from, to: printRemotePath(to) };
  return await tally.attempt(from, () => rehearseObject(context, object, { ...checks, hasParent: true }));
}

/** Rehearses steps concurrently; the results have the order of the steps. */
export async function* rehearseSteps<S>(
  { parallel, signal }: Engine,
  steps: AsyncIterable<S>,
  work: (step: S) => Promise<Rehearsed | undefined>,
): AsyncGenerator<Rehearsed> {
  for await (const step of runOrdered(steps, work, { limit: parallel, signal })) if (step) yield step;
}
