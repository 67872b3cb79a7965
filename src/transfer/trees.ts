import { join } from 'node:path';
import type { Engine } from './engine.ts';
import { createFolder, type Folder } from './folders.ts';
import { makeFolders, makeLocalFolder } from './local-folders.ts';
import { walkLocal, type LocalWalkOptions } from './local-walk.ts';
import { joinPath, type RemotePath } from './path.ts';
import type { FileSource } from './source.ts';
import { walkRemote, type WalkOptions } from './walk.ts';

/** One step of storing a tree: a directory to make, or a file to put when its directory is there. */
export type PutStep =
  | { readonly kind: 'folder'; readonly folder: Folder }
  | { readonly kind: 'file'; readonly source: FileSource; readonly target: RemotePath; readonly folder: Folder };

/** The steps that store a local tree, each directory before what goes into it. */
export async function* planPut(
  { storage }: Pick<Engine, 'storage'>,
  root: string,
  target: RemotePath,
  options: LocalWalkOptions,
): AsyncGenerator<PutStep> {
  const first = createFolder(storage, target);
  const folders = [first];
  yield { kind: 'folder', folder: first };
  for await (const { kind, file, rel, size, mtime, mode } of walkLocal(root, options)) {
    const parent = folders.at(-1) ?? first;
    if (kind === 'leave') folders.pop();
    else if (kind === 'enter') {
      const folder = createFolder(storage, joinPath(target, rel), parent);
      folders.push(folder);
      yield { kind: 'folder', folder };
    } else {
      const source: FileSource = { kind: 'file', label: file, file, size, mtime, mode: mode & 0o777 };
      yield { kind: 'file', source, target: joinPath(target, rel), folder: parent };
    }
  }
}

/** An object of a tree and the file that it is written to. */
export interface GetStep {
  readonly source: RemotePath;
  readonly file: string;
  readonly size: number | undefined;
}

/** The steps that fetch a tree; local directories are made on the way, unless that is not wanted. */
export async function* planGet(
  { storage }: Pick<Engine, 'storage'>,
  source: RemotePath,
  root: string,
  options: WalkOptions & { onError: (error: unknown) => Promise<void> | void; makesNothing?: boolean },
): AsyncGenerator<GetStep> {
  if (options.makesNothing !== true) makeFolders(root);
  /** A directory that cannot be written to. */
  let closed: string | undefined;
  for await (const { kind, entry, path, rel } of walkRemote(storage, source, options)) {
    const file = join(root, rel);
    if (closed !== undefined) {
      if (kind === 'leave' && rel === closed) closed = undefined;
    } else if (kind === 'object') yield { source: path, file, size: entry.size };
    else if (kind === 'enter' && options.makesNothing !== true) {
      try {
        makeLocalFolder(file);
      } catch (error) {
        closed = rel;
        await options.onError(error);
      }
    }
  }
}
