import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { UsageError } from '../../errors.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';

/** For every command that may store, write or remove many things. */
export const dryRunOption = flag('Only show what would be done');

/** Says that a directory would be made, unless it is there. */
export async function rehearseFolder({ storage, note }: Pick<Context, 'storage' | 'note'>, path: RemotePath): Promise<void> {
  const found = await inspect(storage, path);
  if (found?.type === 'object') throw new UsageError(`${printRemotePath(path)} is an object, not a directory`);
  if (found === undefined) note(`Would make ${printRemotePath(path)}`);
}

/** Says what would become of something, or that what is there would be left alone. */
export async function rehearseObject(
  { storage, note }: Pick<Context, 'storage' | 'note'>,
  verb: 'store' | 'copy' | 'move',
  from: string,
  to: RemotePath,
  noClobber: boolean,
): Promise<void> {
  const target = printRemotePath(to);
  if (noClobber && (await inspect(storage, to))) note(`${target} exists: it would be left alone`);
  else note(`Would ${verb} ${from} -> ${target}`);
}
