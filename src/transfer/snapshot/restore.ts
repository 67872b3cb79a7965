import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { joinPath, printRemotePath, type RemotePath } from '../path.ts';
import type { CopyOptions } from '../sync/execute.ts';
import { isSameRecord } from '../sync/properties.ts';
import { syncSides, type SyncOptions } from '../sync/run.ts';
import type { Step } from '../sync/steps.ts';
import type { Side } from '../sync/tree.ts';
import { decodeStoredOfFolder, encodeHeaders } from '../tree/headers.ts';
import { withTags, type TagKeeper } from '../tree/keep-tags.ts';
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
  /** Gives what is missing in the target the role tags that it has in the snapshot. */
  readonly tags?: TagKeeper | undefined;
}

/** Makes one side equal to the other, contents and headers, and yields the steps. */
export function compareSnapshots(engine: Engine, comparison: SnapshotComparison): AsyncGenerator<Step> {
  const { from, to, copiesThrough, tags, ...options } = comparison;
  const copy: CopyOptions = {
    describe: async () => ({}),
    modes: false,
    sparse: false,
    resetsHeaders: false,
    mayUseParts: false,
    copiesThrough,
    tags,
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

/** How the directories of a target are changed. */
interface FolderRestoring extends Pick<SnapshotComparison, 'filter' | 'dryRun' | 'report'> {
  readonly target: RemotePath;
  /** Relative paths of the directories that were created: they also get their role tags. */
  readonly made: ReadonlySet<string>;
  readonly warn: (message: string) => void;
}

/** Sets the headers of a target's directories to those in a snapshot, after everything else. */
export async function* restoreFolderHeaders(
  engine: Engine,
  home: SnapshotHome,
  { name, etag }: Snapshot,
  { target, filter, dryRun, report, made, warn }: FolderRestoring,
): AsyncGenerator<Step> {
  if (filter.isChoosy) return;
  for await (const { rel, entry } of readItems(engine, home, name, etag)) {
    const { headers } = entry;
    const roleTag = made.has(rel) && !dryRun ? entry.roleTag : undefined;
    if ((headers === undefined && roleTag === undefined) || filter.prunes(rel)) continue;
    const path = joinPath(target, rel);
    const step: Step = { action: 'headers', rel, to: { kind: 'remote', path }, reason: 'headers' };
    const done = await report.attempt(rel, async () => {
      const found = await inspect(engine.storage, path);
      if (found?.type !== 'directory') return dryRun ? step : undefined;
      const present = decodeStoredOfFolder(found.headers);
      const isTagged = roleTag === undefined || roleTag === (found.headers['role-tag'] ?? '');
      if (isSameRecord(present, headers ?? present) && isTagged) return undefined;
      const onRefused = (): void => warn(`${printRemotePath(path)} does not have its role tags of the snapshot: you may not set them`);
      const tagging = roleTag === undefined ? undefined : { roleTag, onRefused };
      const write = (tags?: string) => engine.storage.putDirectory({ ...path, headers: encodeHeaders(headers ?? present), roleTag: tags });
      if (!dryRun) await withTags(tagging, write);
      return step;
    });
    if (done) yield done;
  }
}
