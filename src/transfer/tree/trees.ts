import { join } from 'node:path';
import type { StorageClient } from '../../client/client.ts';
import type { Engine } from '../engine.ts';
import { createFolder, type Folder, type Making } from './folders.ts';
import { assertNothingElse, checkLocalFolder, listWay, makeFolders, makeLocalFolder, makeWay } from '../local/folders.ts';
import { walkLocal, type LocalWalkOptions } from '../local/walk.ts';
import { claimFolder, claimWay } from '../local/one-file.ts';
import { joinPath, type RemotePath } from '../path.ts';
import type { FileSource } from '../local/source.ts';
import { everything, type Filter } from '../sync/tree.ts';
import { walkRemote, type WalkOptions } from './walk.ts';

/** One step of storing a tree: a directory to create, or a file to put once its directory exists. */
export type PutStep =
  | { readonly kind: 'folder'; readonly folder: Folder }
  | { readonly kind: 'file'; readonly source: FileSource; readonly target: RemotePath; readonly folder: Folder };

/** The steps that store a local tree, each directory before its entries. */
export async function* planPut(
  { storage }: Pick<Engine, 'storage'>,
  root: string,
  target: RemotePath,
  { filter = everything, making, ...options }: LocalWalkOptions & { filter?: Filter; making?: Making | undefined },
): AsyncGenerator<PutStep> {
  const first = createFolder(storage, target, undefined, making);
  const folders = [first];
  // Where files are selected one by one, only directories of selected files are created.
  const selected = new WeakSet<Folder>();
  if (!filter.isChoosy) yield { kind: 'folder', folder: first };
  for await (const { kind, file, rel, mode, ...state } of walkLocal(root, { ...options, prune: filter.prunes })) {
    const parent = folders.at(-1) ?? first;
    if (kind === 'leave') folders.pop();
    else if (kind === 'enter') {
      const folder = createFolder(storage, joinPath(target, rel), parent, making);
      folders.push(folder);
      if (!filter.isChoosy && !filter.prunes(rel)) yield { kind: 'folder', folder };
    } else if (filter.hasFile(rel)) {
      if (filter.isChoosy && !selected.has(parent)) yield { kind: 'folder', folder: parent };
      selected.add(parent);
      const source: FileSource = { ...state, kind: 'file', label: file, file, mode: mode & 0o777 };
      yield { kind: 'file', source, target: joinPath(target, rel), folder: parent };
    }
  }
}

/** An object of a tree and the file to which it is written. */
export interface GetStep {
  /** The two roots. */
  readonly tree: { readonly from: RemotePath; readonly root: string };
  readonly source: RemotePath;
  /** Path below both roots. */
  readonly rel: string;
  readonly file: string;
  readonly size: number | undefined;
  /** Etag from the listing. */
  readonly etag?: string | undefined;
}

interface GetOptions {
  /** Called for each directory that cannot be listed, with its path, or created. */
  readonly onError: (error: unknown, directory?: RemotePath) => Promise<void> | void;
  /** True for a dry run, which only checks where directories would be created. */
  readonly makesNothing?: boolean;
  readonly filter?: Filter;
}

/** Creates the directories of a selected file, or checks for a dry run whether that is possible. @throws {LocalError} if it is not */
function prepareWay(storage: StorageClient, file: string, rel: string, makesNothing: boolean): void {
  if (makesNothing) for (const folder of listWay(file, rel)) checkLocalFolder(folder);
  else {
    makeWay(file, rel);
    claimWay(storage, file, rel);
  }
}

/** The steps that fetch a tree; creates local directories on the way, unless `makesNothing` is set. */
export async function* planGet(
  { storage }: Pick<Engine, 'storage'>,
  source: RemotePath,
  root: string,
  { filter = everything, makesNothing = false, ...options }: WalkOptions & GetOptions,
): AsyncGenerator<GetStep> {
  (makesNothing ? assertNothingElse : makeFolders)(root);
  const tree = { from: source, root };
  /** A directory that cannot be written to. */
  let closed: string | undefined;
  for await (const { kind, entry, path, rel } of walkRemote(storage, source, { ...options, prune: filter.prunes })) {
    const file = join(root, rel);
    if (closed !== undefined) {
      if (kind === 'leave' && rel === closed) closed = undefined;
    } else if (kind === 'object') {
      if (!filter.hasFile(rel)) continue;
      try {
        if (filter.isChoosy) prepareWay(storage, file, rel, makesNothing);
      } catch (error) {
        await options.onError(error);
        continue;
      }
      yield { tree, source: path, rel, file, size: entry.size, etag: entry.etag };
    } else if (kind === 'enter' && !filter.isChoosy && !filter.prunes(rel)) {
      try {
        if (makesNothing) checkLocalFolder(file);
        else {
          makeLocalFolder(file);
          claimFolder(storage, file);
        }
      } catch (error) {
        closed = rel;
        await options.onError(error);
      }
    }
  }
}
