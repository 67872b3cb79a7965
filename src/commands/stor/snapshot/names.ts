import type { Context } from '../../../cli/command.ts';
import { UsageError } from '../../../base/errors.ts';
import type { Engine } from '../../../transfer/engine.ts';
import { printRemotePath, quoteRemotePath, readRemotePath } from '../../../transfer/path.ts';
import { findSnapshot, type Snapshot } from '../../../transfer/snapshot/list.ts';
import { locateHome, splitSnapshotName, type SnapshotHome } from '../../../transfer/snapshot/place.ts';

/** The snapshots of a directory. */
export function readHome({ account }: Context, word: string): SnapshotHome {
  return locateHome(readRemotePath(word, account));
}

/** A directory and the name of one of its snapshots. */
export interface Named {
  readonly home: SnapshotHome;
  readonly name: string;
}

/** Reads `DIR@NAME`. @throws {UsageError} when the name is missing */
export function readNamed({ account }: Context, word: string): Named {
  const path = readRemotePath(word, account);
  const split = splitSnapshotName(path);
  if (!split)
    throw new UsageError(`${printRemotePath(path)} is not a snapshot name: write DIR@NAME`, {
      hint: `cloud stor snapshot list ${quoteRemotePath(path)}`,
    });
  return { home: locateHome(split.directory), name: split.name };
}

/** Reads `DIR@NAME` and finds that complete snapshot. */
export async function findNamed(context: Context, engine: Engine, word: string): Promise<Named & { readonly snapshot: Snapshot }> {
  const named = readNamed(context, word);
  return { ...named, snapshot: await findSnapshot(engine, named.home, named.name) };
}
