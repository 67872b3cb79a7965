import { createHash } from 'node:crypto';
import { ApiError, isMissing } from '../../base/errors.ts';
import { drainPool } from '../../base/parallel.ts';
import type { Engine } from '../engine.ts';
import { inspect } from '../inspect.ts';
import { joinPath, type RemotePath } from '../path.ts';
import { everything } from '../sync/tree.ts';
import { removeEntry, removeTree } from '../tree/remove.ts';
import { walkRemote } from '../tree/walk.ts';
import { listNames, type Snapshot } from './list.ts';
import { readManifest } from './manifest.ts';
import type { SnapshotHome } from './place.ts';

/**
 * Removes links that no snapshot needs any more. Creating a snapshot stores a marker first and the manifest last, and then checks that
 * marker and base still exist. Deleting one removes its manifest or marker first, then lists trees before markers and markers before
 * manifests. So in any interleaving of the two, a complete snapshot has all of its links.
 */

/** 48 bits of the MD5 of a path: a collision may keep a link that is not needed, but never removes one that is. */
function shorten(rel: string): number {
  return createHash('md5').update(rel).digest().readUIntBE(0, 6);
}

/** The paths in these trees that snapshots need. */
async function findNeeded(
  engine: Engine,
  home: SnapshotHome,
  names: readonly string[],
  trees: ReadonlySet<string>,
): Promise<Map<string, Set<number>>> {
  const needed = new Map([...trees].map((tree) => [tree, new Set<number>()]));
  for (const name of names) {
    try {
      for await (const line of readManifest(engine, joinPath(home.manifests, name))) {
        // The manifest itself names its own tree first; its headers may have been changed.
        if ('snapshot' in line) needed.delete(line.tree);
        else if (line.tree !== undefined) needed.get(line.tree)?.add(shorten(line.rel));
      }
    } catch (error) {
      // Another process has deleted the snapshot.
      if (!isMissing(error)) throw error;
    }
  }
  return needed;
}

/** Removes a directory unless it has entries. */
async function removeIfEmpty(engine: Engine, path: RemotePath): Promise<void> {
  try {
    await removeEntry(engine, path);
  } catch (error) {
    if (!(error instanceof ApiError) || !error.code.startsWith('DirectoryNotEmpty')) throw error;
  }
}

/** Removes the objects of a tree that are not needed, and directories that are then empty. @returns the number of objects removed */
async function removeUnneeded(engine: Engine, root: RemotePath, needed: ReadonlySet<number>): Promise<number> {
  const directories = [root];
  let count = 0;
  async function* list(): AsyncGenerator<RemotePath> {
    for await (const { kind, path, rel } of walkRemote(engine.storage, root)) {
      if (kind === 'enter') directories.push(path);
      if (kind === 'object' && !needed.has(shorten(rel))) yield path;
    }
  }
  const remove = async (path: RemotePath): Promise<void> => {
    await removeEntry(engine, path);
    count += 1;
  };
  await drainPool(list(), remove, { limit: engine.parallel, signal: engine.signal });
  for (const path of directories.toReversed()) await removeIfEmpty(engine, path);
  return count;
}

/** Removes all links that no snapshot of the directory needs. @returns their number */
export async function collectLinks(engine: Engine, home: SnapshotHome): Promise<number> {
  const trees = await listNames(engine, home.trees);
  const unfinished = new Set(await listNames(engine, home.unfinished));
  const names = await listNames(engine, home.manifests);
  const own = new Set<string | undefined>();
  for (const name of names) own.add((await inspect(engine.storage, joinPath(home.manifests, name)))?.headers['m-tree']);
  const candidates = new Set(trees.filter((tree) => !own.has(tree) && !unfinished.has(tree)));
  if (candidates.size === 0) return 0;
  const needed = await findNeeded(engine, home, names, candidates);
  let count = 0;
  for (const [tree, paths] of needed) count += await removeUnneeded(engine, joinPath(home.trees, tree), paths);
  return count;
}

/** Removes what an unfinished snapshot has stored. */
export async function discardSnapshot(engine: Engine, home: SnapshotHome, { name, tree }: Pick<Snapshot, 'name' | 'tree'>): Promise<void> {
  await forgetUnfinished(engine, home, { name, tree });
  await removeTree(engine, joinPath(home.trees, tree), everything, {
    removed: () => undefined,
    failed: async (error) => {
      throw error;
    },
  });
}

/** Deletes a snapshot but not its links, which `collectLinks` removes. */
export async function forgetSnapshot(engine: Engine, home: SnapshotHome, snapshot: Snapshot): Promise<void> {
  if (snapshot.state === 'unfinished') await forgetUnfinished(engine, home, snapshot);
  else await removeEntry(engine, joinPath(home.manifests, snapshot.name), snapshot.etag);
}

async function forgetUnfinished(engine: Engine, home: SnapshotHome, { name, tree }: Pick<Snapshot, 'name' | 'tree'>): Promise<void> {
  const manifest = joinPath(home.manifests, name);
  await removeEntry(engine, joinPath(home.unfinished, tree));
  // The snapshot may already have a manifest.
  const there = await inspect(engine.storage, manifest);
  if (there?.headers['m-tree'] === tree) await removeEntry(engine, manifest, there.headers['etag']);
}

/** Removes the directories of the snapshots if none are left. */
export async function removeHome(engine: Engine, home: SnapshotHome): Promise<void> {
  for (const path of [home.trees, home.unfinished, home.manifests, home.root]) await removeIfEmpty(engine, path);
}
