import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { type Output } from '../../output/kinds.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { showRows } from '../../cli/rows.ts';

/** For every command that may store, write or remove many things. */
export const dryRunOption = flag('Only show what would be done', { short: 'n' });

/** What a dry run says of one thing: `skip` is left alone because it exists. */
export interface Rehearsed {
  readonly action: 'store' | 'copy' | 'move' | 'write' | 'make' | 'delete' | 'skip';
  readonly from?: string;
  readonly to: string;
}

function describe({ action, from, to }: Rehearsed): string {
  if (action === 'skip') return `${to} exists: it would be left alone`;
  return from === undefined ? `Would ${action} ${to}` : `Would ${action} ${from} -> ${to}`;
}

/** The result of a dry run: records when a form of output is asked for, else a line each on stderr. */
export function showRehearsal(context: Pick<Context, 'global' | 'note'>, steps: AsyncIterable<Rehearsed>): Promise<Output | undefined> {
  return showRows(context, steps, { columns: ['action', 'from', 'to'], id: 'to' }, describe);
}

/** A directory that would be made, unless it is there. */
export async function* rehearseFolder({ storage }: Pick<Context, 'storage'>, path: RemotePath): AsyncGenerator<Rehearsed> {
  const found = await inspect(storage, path);
  if (found?.type === 'object') throw new UsageError(`${printRemotePath(path)} is an object, not a directory`);
  if (found === undefined) yield { action: 'make', to: printRemotePath(path) };
}

/** What would become of something, or that what is there would be left alone. */
export async function rehearseObject(
  { storage }: Pick<Context, 'storage'>,
  action: 'store' | 'copy' | 'move',
  from: string,
  to: RemotePath,
  noClobber: boolean,
): Promise<Rehearsed> {
  const target = printRemotePath(to);
  return noClobber && (await inspect(storage, to)) ? { action: 'skip', from, to: target } : { action, from, to: target };
}
