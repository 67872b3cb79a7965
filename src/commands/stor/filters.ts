import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, texts, type Values, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { baseName, type RemotePath } from '../../transfer/path.ts';
import { createFilter, type Filter } from '../../transfer/sync/tree.ts';

/** Selects files of a tree, in every command for trees. Excluded files stay excluded even if they are included too. */
export const filterOptions = withTopic('filters', {
  include: texts('Only files whose name matches; a pattern with a slash is compared with the path', { placeholder: 'PATTERN' }),
  exclude: texts('Exclude names that match, also those that --include selects; with a trailing / only directories', {
    placeholder: 'PATTERN',
  }),
  excludeFrom: filePath('Exclude names that match a line of the file; - for stdin. Empty lines and lines that begin with # are ignored'),
});

/** Values of these options, and of `--paths-from` where the command has it. */
export type FilterValues = Values<typeof filterOptions> & { readonly pathsFrom?: string | undefined };

/** Reads a list of patterns. @throws {UsageError} unless it is UTF-8: a misread pattern would not exclude what it names */
async function readPatterns({ world }: Pick<Context, 'world'>, file: string): Promise<string[]> {
  const { splitLines } = await import('../../cli/lines.ts');
  const lines = splitLines(await readInput(world, file), `--exclude-from ${file === '-' ? 'stdin' : file}`);
  return lines.filter((line) => line !== '' && !line.startsWith('#'));
}

/** True if any option of a filter is given. */
export function hasFilter({ include, exclude, excludeFrom }: FilterValues): boolean {
  return include.length + exclude.length > 0 || excludeFrom !== undefined;
}

/** Creates the filter from the options. @throws {UsageError} for a list that cannot be read, and for filters without a tree */
export async function readFilter(context: Pick<Context, 'world'>, values: FilterValues, isTree = true): Promise<Filter> {
  const { include, exclude, excludeFrom, pathsFrom } = values;
  if (hasFilter(values) && !isTree) throw new UsageError('--include and --exclude filter the files of trees', { hint: 'add -r' });
  for (const [name, patterns] of Object.entries({ include, exclude }))
    // Probably an unset variable: an empty pattern would select or exclude nothing.
    if (patterns.some((pattern) => /^(\.?\/)*\.?$/.test(pattern))) throw new UsageError(`--${name} has an empty pattern`);
  if (excludeFrom === '-' && pathsFrom === '-')
    throw new UsageError('--exclude-from and --paths-from cannot both read stdin', { hint: 'write one of the lists to a file' });
  return createFilter(include, [...exclude, ...(excludeFrom === undefined ? [] : await readPatterns(context, excludeFrom))]);
}

/** True if a path given as an argument is selected: its name is compared like those below it. */
export function takesRoot(filter: Filter, path: RemotePath, type: 'directory' | 'object'): boolean {
  const name = baseName(path);
  return type === 'directory' ? !filter.prunes(name) : filter.hasFile(name);
}
