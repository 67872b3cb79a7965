import { basename } from 'node:path';
import type { Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { UsageError } from '../../base/errors.ts';
import { createObjectError, inspect } from '../../transfer/inspect.ts';
import { joinPath, type RemotePath } from '../../transfer/path.ts';

/** The target of each file or tree: inside the given directory, or the given path itself for a single source. */
export async function chooseTarget(
  { storage, world }: Context,
  files: readonly string[],
  target: string,
  path: RemotePath,
  asItself: boolean,
): Promise<(file: string) => RemotePath> {
  if (asItself && files.length > 1) throw new UsageError('-T takes a single source');
  const found = asItself ? undefined : await inspect(storage, path);
  const intoFolder = !asItself && (found?.type === 'directory' || files.length > 1 || target.endsWith('/'));
  if (!intoFolder) return () => path;
  if (files.includes('-')) throw new UsageError('the object from stdin needs a name: give its full path');
  if (found?.type === 'object') throw createObjectError(path);
  return (file) => joinPath(path, basename(resolvePath(world, file)));
}
