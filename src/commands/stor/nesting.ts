import { existsSync, readdirSync } from 'node:fs';
import type { Context } from '../../cli/command.ts';
import { flag } from '../../cli/parameters.ts';
import { quoteShell } from '../../base/quote.ts';
import { inspect } from '../../transfer/inspect.ts';
import { listPages } from '../../transfer/tree/list.ts';
import type { RemotePath } from '../../transfer/path.ts';

/**
 * A tree that is put, fetched or copied to an existing directory goes into it, also on a repeated run. This note warns of that, and `-T`
 * prevents it.
 */

export const noTargetDirectory = flag('Use TARGET as the new name, even if it is a directory', { short: 'T' });

/** A tree whose target on the command line is an existing directory. */
interface Nesting {
  /** The arguments as typed; for sources that a pattern expanded to, the pattern. */
  readonly words: readonly string[];
  readonly source: string;
  readonly target: string;
  /** The directory that `target` names, and the path in it to which the tree goes. */
  readonly directory: string;
  readonly nested: string;
}

/** The command line with -T and one source. Other options are kept. */
function describeWithT({ world }: Pick<Context, 'world'>, { words, source, target }: Nesting): string {
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
  return `cloud ${kept.map(quoteShell).join(' ')} -T ${quoteShell(source)} ${quoteShell(target)}`;
}

/** The names on the first page of a remote directory. */
export async function listFirstNames({ storage }: Pick<Context, 'storage'>, directory: RemotePath): Promise<string[]> {
  for await (const page of listPages(storage, directory)) return page.map(({ name }) => name);
  return [];
}

/** Notes that a tree goes into a directory that has the same names: it may have been meant to replace that directory. */
export function noteNesting(
  context: Pick<Context, 'note' | 'world'>,
  nesting: Nesting,
  names: readonly string[],
  others: readonly string[],
): void {
  const shared = names.filter((name) => others.includes(name));
  if (shared.length === 0) return;
  const shown = shared.slice(0, 3).join(', ') + (shared.length > 3 ? ', ...' : '');
  const { directory, nested } = nesting;
  const line = describeWithT(context, nesting);
  context.note(
    `${directory} exists and has the same names (${shown}): the tree is stored as ${nested}; to store it as ${directory}: ${line}`,
  );
}

/** Notes that a tree is written into a directory that has the same content, which it may have been meant to replace. */
export async function noteNested(
  context: Context & { readonly args: { readonly path: readonly string[] } },
  sources: readonly RemotePath[],
  local: string,
  files: ReadonlyMap<RemotePath, string>,
): Promise<void> {
  const [source] = sources;
  const { path: words } = context.args;
  const target = words.length > 1 ? (words.at(-1) ?? '') : '.';
  if (source === undefined || sources.length > 1 || target.endsWith('/') || target === '.') return;
  const nested = files.get(source) ?? '';
  if (existsSync(nested) || (await inspect(context.storage, source))?.type !== 'directory') return;
  const nesting = { words, source: words[0] ?? '', target, directory: local, nested };
  noteNesting(context, nesting, readdirSync(local), await listFirstNames(context, source));
}
