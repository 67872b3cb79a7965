import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { quoteShell } from '../../base/quote.ts';
import { listPages } from '../../transfer/tree/list.ts';
import type { RemotePath } from '../../transfer/path.ts';

/** A tree that is put, fetched or copied to a directory that is there goes into it, the second time too: what says so, and what prevents it. */

export const noTargetDirectory = flag('The target is the new name itself, also when it is a directory', { short: 'T' });

/** A source of the command line and where it goes. */
export interface Placed {
  readonly source: string;
  readonly target: string;
}

/**
 * The command line with -T and one source, for each source. What the user typed beside sources and target stays.
 * @param words the positional arguments as they were typed; sources that a pattern stands for have the pattern
 */
export function describeWithT({ world }: Pick<Context, 'world'>, words: readonly string[], placed: readonly Placed[]): string[] {
  const argv: (string | undefined)[] = [...world.argv];
  let at = argv.length;
  // From the end: a value of an option may be the same word.
  for (const word of words.toReversed()) {
    const found = argv.lastIndexOf(word, at - 1);
    if (found < 0) continue;
    argv[found] = undefined;
    at = found;
  }
  const kept = argv.filter((word) => word !== undefined && word !== '-T' && word !== '--no-target-directory').map((word) => word ?? '');
  const line = kept.map(quoteShell).join(' ');
  return placed.map(({ source, target }) => `cloud ${line} -T ${quoteShell(source)} ${quoteShell(target)}`);
}

/** Names on the first page of a directory of the object storage. */
export async function listFirstNames({ storage }: Pick<Context, 'storage'>, directory: RemotePath): Promise<string[]> {
  for await (const page of listPages(storage, directory)) return page.map(({ name }) => name);
  return [];
}

/** Says that a tree goes below a directory that holds the same names: it may have been meant to go into that itself. */
export function noteNesting(
  { note }: Pick<Context, 'note'>,
  { target, nested, line }: { target: string; nested: string; line: string },
  names: readonly string[],
  others: readonly string[],
): void {
  const shared = names.filter((name) => others.includes(name));
  if (shared.length === 0) return;
  const shown = shared.slice(0, 3).join(', ') + (shared.length > 3 ? ', ...' : '');
  note(`${target} exists and holds the same names (${shown}): the tree goes to ${nested}; to put it into ${target} itself: ${line}`);
}
