import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { quoteShell } from '../../base/quote.ts';
import { listPages } from '../../transfer/tree/list.ts';
import type { RemotePath } from '../../transfer/path.ts';

/**
 * A tree that is put, fetched or copied to an existing directory goes into it, also on a repeated run. This note warns of that, and `-T`
 * prevents it.
 */

export const noTargetDirectory = flag('The target is the new name itself, also when it is a directory', { short: 'T' });

/** A source on the command line and its target. */
export interface Placed {
  readonly source: string;
  readonly target: string;
}

/**
 * The command line with -T and one source, for each source. Other options are kept.
 * @param words the positional arguments as typed; for sources that a pattern expanded to, the pattern
 */
export function describeWithT({ world }: Pick<Context, 'world'>, words: readonly string[], placed: readonly Placed[]): string[] {
  const argv: (string | undefined)[] = [...world.argv];
  let at = argv.length;
  // Searched from the end: an option's value may equal an argument.
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

/** The names on the first page of a remote directory. */
export async function listFirstNames({ storage }: Pick<Context, 'storage'>, directory: RemotePath): Promise<string[]> {
  for await (const page of listPages(storage, directory)) return page.map(({ name }) => name);
  return [];
}

/** Notes that a tree goes into a directory that has the same names: it may have been meant to replace that directory. */
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
