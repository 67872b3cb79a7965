import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { joinPath, type RemotePath } from '../path.ts';
import type { CopyOptions } from '../sync/execute.ts';
import { isSameRecord } from '../sync/properties.ts';
import { syncSides, type SyncOptions } from '../sync/run.ts';
import type { Step } from '../sync/steps.ts';
import type { Side } from '../sync/tree.ts';
import { decodeStored, encodeHeaders } from '../tree/headers.ts';
import type { Snapshot } from './list.ts';
import { readItems } from './manifest.ts';
import type { SnapshotHome } from './place.ts';

/** A snapshot as a side of a comparison. */
export function snapshotSide(engine: Engine, home: SnapshotHome, { name, etag }: Snapshot): Side {
  return { kind: 'remote', root: home.trees, items: () => readItems(engine, home, name, etag) };
}

/** How two sides are compared and synced. */
export interface SnapshotComparison extends Pick<SyncOptions, 'filter' | 'deletes' | 'dryRun' | 'isEmpty' | 'report'> {
  readonly from: Side;
  readonly to: Side;
  readonly copiesThrough: boolean;
}

/** Makes one side equal to the other, contents and headers, and yields the steps. */
export function compareSnapshots(engine: Engine, comparison: SnapshotComparison): AsyncGenerator<Step> {
  const { from, to, copiesThrough, ...options } = comparison;
  const copy: CopyOptions = {
    describe: async () => ({}),
    modes: false,
    sparse: false,
    resetsHeaders: false,
    mayUseParts: false,
    copiesThrough,
  };
  return syncSides(engine, {
    ...options,
    task: { from, to, comparison: 'mtime', comparesHeaders: true, modes: false },
    copy,
    memory: undefined,
    remembers: false,
    id: '',
    links: 'skip',
    onSkip: () => undefined,
  });
}

/** Sets the headers of a target's directories to those in a snapshot, after everything else. */
export async function* restoreFolderHeaders(
  engine: Engine,
  home: SnapshotHome,
  { name, etag }: Snapshot,
  { target, filter, dryRun, report }: { readonly target: RemotePath } & Pick<SnapshotComparison, 'filter' | 'dryRun' | 'report'>,
): AsyncGenerator<Step> {
  if (filter.isChoosy) return;
  for await (const { rel, entry } of readItems(engine, home, name, etag)) {
    const { headers } = entry;
    if (headers === undefined || filter.prunes(rel)) continue;
    const path = joinPath(target, rel);
    const step: Step = { action: 'headers', rel, to: { kind: 'remote', path }, reason: 'headers' };
    const done = await report.attempt(rel, async () => {
      const found = await inspect(engine.storage, path);
      if (found?.type !== 'directory') return dryRun ? step : undefined;
      const { 'content-type': _, ...present } = decodeStored(found.headers);
      if (isSameRecord(present, headers)) return undefined;
      if (!dryRun) await engine.storage.putDirectory({ ...path, headers: encodeHeaders(headers) });
      return step;
    });
    if (done) yield done;
  }
}
