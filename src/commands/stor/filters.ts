import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, texts, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { baseName, type RemotePath } from '../../transfer/path.ts';
import { createFilter, type Filter } from '../../transfer/sync/tree.ts';

/** Which files of a tree take part, the same for every command that works on trees. What is excluded stays out, whatever is included. */
export const filterOptions = withTopic('filters', {
  include: texts('Only files whose name, or path when it has a slash, matches', { placeholder: 'PATTERN' }),
  exclude: texts('Leave out what matches, also what --include takes; with / at its end directories only', { placeholder: 'PATTERN' }),
  excludeFrom: filePath('Leave out what matches a line of the file; - for stdin. Empty lines and those that begin with # say nothing'),
});

/** Values of these options, and of a list that the command takes as well. */
export type FilterValues = Values<typeof filterOptions> & { readonly pathsFrom?: string | undefined };

/** The lines of a list of patterns. A pattern that is read as another one would not leave out what it names. @throws {UsageError} for what is not UTF-8 */
async function readPatterns({ world }: Pick<Context, 'world'>, file: string): Promise<string[]> {
  const bytes = await readInput(world, file);
  try {
    const list = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return list.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#'));
  } catch (error) {
    throw new UsageError(`--exclude-from: a pattern in ${file === '-' ? 'stdin' : file} is not UTF-8`, { cause: error });
  }
}

/** Makes the filter that the options say. @throws {UsageError} for a list that cannot be read, and where there is no tree */
export async function readFilter(context: Pick<Context, 'world'>, values: FilterValues, isTree = true): Promise<Filter> {
  const { include, exclude, excludeFrom, pathsFrom } = values;
  const isAsked = include.length + exclude.length > 0 || excludeFrom !== undefined;
  if (isAsked && !isTree) throw new UsageError('--include and --exclude choose files of trees', { hint: 'add -r' });
  for (const [name, patterns] of Object.entries({ include, exclude }))
    // As an unset variable is: it would choose nothing, or leave nothing out.
    if (patterns.some((pattern) => /^(\.?\/)*\.?$/.test(pattern))) throw new UsageError(`--${name} has a pattern that is empty`);
  if (excludeFrom === '-' && pathsFrom === '-')
    throw new UsageError('--exclude-from and --paths-from cannot both read stdin', { hint: 'write one of the lists to a file' });
  return createFilter(include, [...exclude, ...(excludeFrom === undefined ? [] : await readPatterns(context, excludeFrom))]);
}

/** Whether a path that was named itself takes part: its name is looked at like those below it. */
export function takesRoot(filter: Filter, path: RemotePath, type: 'directory' | 'object'): boolean {
  const name = baseName(path);
  return type === 'directory' ? !filter.prunes(name) : filter.hasFile(name);
}
