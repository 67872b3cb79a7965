import { assertCopied, findSameObject, linkObject, linkUnlessOther, linkWhereNothingIs } from '../../transfer/tree/link.ts';
import { isConditionFailed } from '../../transfer/precondition.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { Entry } from '../../config/journal-entry.ts';
import { runPool } from '../../base/parallel.ts';
import { planSources, type ObjectStep, type Planning, type Step } from './copy-plan.ts';
import { explainParent, leaveExisting } from './paths.ts';
import type { Transfers } from './show.ts';
import { createChangedMeanwhileError, findReplaceable } from './unnoted-target.ts';

interface Copied {
  readonly from: string;
  readonly to: string;
  readonly how: 'link' | 'copy';
  readonly etag: string;
}

/** Options of a copy, and where its notes go. */
export interface CopyValues extends Planning {
  readonly noClobber: boolean;
  readonly copy: boolean;
  /** Name of the command, for hints; `cp` when absent. */
  readonly verb?: 'mv' | 'ln';
  /** Called for objects that are left unchanged. */
  readonly note?: (message: string) => void;
}

/** @param merges for an object of a tree that is moved to an existing directory: existing objects are kept, as by mv(1) */
export async function copyObject(
  { engine, entry }: Copying,
  step: ObjectStep,
  options: CopyValues,
  merges = false,
): Promise<Copied | undefined> {
  const { from, to } = step;
  // Of a move nothing is noted: its source is deleted afterwards.
  const notes = options.verb === 'mv' ? undefined : entry;
  const earlier = readCopied(notes, to);
  if (earlier && earlier.source === step.etag)
    return { from: printRemotePath(from), to: printRemotePath(to), how: 'link', etag: earlier.target };
  // The source has changed since an earlier run copied it: only the earlier copy is replaced.
  if (earlier) {
    const { how, etag } = await linkObject(engine, step, { copiesThrough: options.copy, ifMatch: earlier.target });
    noteCopied(notes, step, etag);
    return { from: printRemotePath(from), to: printRemotePath(to), how, etag };
  }
  const link = chooseLink(options.noClobber, merges, entry);
  const tagging = await options.tags?.choose(from, to, step.folder === undefined);
  const linked = await leaveExisting(options.noClobber, () =>
    explainParent(() => link(engine, step, { copiesThrough: options.copy, tagging }), `cloud stor ${options.verb ?? 'cp'} -p`),
  );
  if (linked === undefined) {
    options.note?.(`${printRemotePath(to)} exists: left alone`);
    return undefined;
  }
  const { how, etag, isSame } = linked;
  if (options.verb === 'mv' && !isSame) await assertCopied(engine, step);
  noteCopied(notes, step, etag);
  return { from: printRemotePath(from), to: printRemotePath(to), how, etag };
}

function chooseLink(noClobber: boolean, merges: boolean, entry: Entry | undefined): typeof linkUnlessOther {
  if (noClobber) return linkWhereNothingIs;
  if (merges) return linkUnlessOther;
  return entry?.isResumed === true ? linkAgain(entry) : linkObject;
}

/** For a resumed run: creates a link unless somebody else has written the target after the work began. */
function linkAgain(entry: Entry): typeof linkUnlessOther {
  return async (engine, step, options) => {
    try {
      return await linkObject(engine, step, { ...options, ...(await findReplaceable(engine, entry, step.to)) });
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      // The interrupted run may have created the link.
      const etag = await findSameObject(engine, step, options.copiesThrough);
      if (etag === undefined) throw createChangedMeanwhileError(step.to);
      return { how: 'link', etag, isSame: true };
    }
  };
}

type Copying = Pick<Transfers, 'engine'> & Partial<Pick<Transfers, 'entry'>>;

/** The etags of the source and the target of an earlier run's copy. */
function readCopied(entry: Copying['entry'], to: RemotePath): { source: string; target: string } | undefined {
  const noted = entry?.find(printRemotePath(to));
  if (noted === undefined) return undefined;
  const [source = '', target = ''] = JSON.parse(noted) as string[];
  return { source, target };
}

function noteCopied(entry: Copying['entry'], { to, etag }: ObjectStep, copied: string): void {
  if (etag !== undefined) entry?.note(printRemotePath(to), JSON.stringify([etag, copied]));
}

/** Called after an object has got its new name. */
type After = (step: ObjectStep) => Promise<void>;

/**
 * Copies each source recursively; failures are reported and counted, and the other copies continue.
 * @param moves the sources are removed afterwards: objects by `after`, directories by the caller, who gets them from `onFolder`
 */
export async function* copyAll(
  { engine, tally, entry }: Transfers,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  options: CopyValues,
  { after, onFolder, moves }: { after: After; onFolder: (path: RemotePath) => void; moves: boolean },
): AsyncGenerator<Copied> {
  async function work(step: Step): Promise<Copied | undefined> {
    if (step.kind === 'folder') {
      onFolder(step.from);
      const line = `cloud stor ${options.verb ?? 'cp'} -p`;
      await tally.attempt(printRemotePath(step.folder.path), () => explainParent(() => step.folder.ready(), line));
      return undefined;
    }
    const isNew = await (step.folder?.ready() ?? Promise.resolve(true)).catch(() => undefined);
    if (isNew === undefined) {
      tally.skip();
      return undefined;
    }
    return await tally.attempt(printRemotePath(step.from), async () => {
      const copied = await copyObject({ engine, entry }, step, options, moves && !isNew);
      if (copied) await after(step);
      return copied;
    });
  }
  for await (const copied of runPool(planSources({ engine, tally }, targets, options), work, {
    limit: engine.parallel,
    signal: engine.signal,
  }))
    if (copied) yield copied;
}
