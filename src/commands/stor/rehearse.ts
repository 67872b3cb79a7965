import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { type Output } from '../../output/kinds.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { showRows } from '../../cli/rows.ts';

/** An option of every command that may store, write or remove many things. */
export const dryRunOption = flag('Only show what would be done', { short: 'n' });

/** One line of a dry run; `skip` means that the target exists and would stay unchanged. */
export interface Rehearsed {
  readonly action: 'store' | 'copy' | 'move' | 'write' | 'make' | 'delete' | 'skip';
  readonly from?: string;
  readonly to: string;
}

function describe({ action, from, to }: Rehearsed): string {
  if (action === 'skip') return `${to} exists: it would be left alone`;
  return from === undefined ? `Would ${action} ${to}` : `Would ${action} ${from} -> ${to}`;
}

/** The result of a dry run: records if an output format was requested, else one line each on stderr. */
export function showRehearsal(context: Pick<Context, 'global' | 'note'>, steps: AsyncIterable<Rehearsed>): Promise<Output | undefined> {
  return showRows(context, steps, { columns: ['action', 'from', 'to'], id: 'to' }, describe);
}

/** A directory that would be created, if it does not exist. */
export async function* rehearseFolder({ storage }: Pick<Context, 'storage'>, path: RemotePath): AsyncGenerator<Rehearsed> {
  const found = await inspect(storage, path);
  if (found?.type === 'object') throw new UsageError(`${printRemotePath(path)} is an object, not a directory`);
  if (found === undefined) yield { action: 'make', to: printRemotePath(path) };
}

/** What would be done with an object, or that its target would stay unchanged. */
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
