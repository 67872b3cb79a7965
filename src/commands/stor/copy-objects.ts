import { linkObject, linkUnlessOther, linkWhereNothingIs } from '../../transfer/tree/link.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import type { Filter } from '../../transfer/sync/tree.ts';
import { runPool } from '../../base/parallel.ts';
import { planSources, type ObjectStep, type Step } from './copy-plan.ts';
import { explainParent, leaveExisting } from './paths.ts';
import type { Transfers } from './show.ts';

interface Copied {
  readonly from: string;
  readonly to: string;
  readonly how: 'link' | 'copy';
  readonly etag: string;
}

/** Options of a copy, and where its notes go. */
export interface CopyValues {
  readonly recursive: boolean;
  readonly noClobber: boolean;
  readonly copy: boolean;
  readonly filter: Filter;
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
  const earlier = readCopied(entry, to);
  if (earlier && earlier.source === step.etag)
    return { from: printRemotePath(from), to: printRemotePath(to), how: 'link', etag: earlier.target };
  // The source has changed since an earlier run copied it: only the earlier copy is replaced.
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
      const copied = await copyObject({ engine, ...(!moves && { entry }) }, step, options, moves && !isNew);
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
