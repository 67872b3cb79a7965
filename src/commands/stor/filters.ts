import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { text, texts, withTopic } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { createFilter, type Filter } from '../../transfer/sync/tree.ts';

/** Which files of a tree take part, the same for every command that copies or compares trees. What is excluded stays out, whatever is included. */
export const filterOptions = withTopic('filters', {
  include: texts('Only files whose name, or path when it has a slash, matches', { placeholder: 'PATTERN' }),
  exclude: texts('Leave out what matches, also what --include takes; with / at its end directories only', { placeholder: 'PATTERN' }),
  excludeFrom: text('Leave out what matches a line of the file; - for stdin. Empty lines and those that begin with # say nothing', {
    placeholder: 'FILE',
    values: 'file',
  }),
});

/** Values of these options. */
export interface FilterValues {
  readonly include: string[];
  readonly exclude: string[];
  readonly excludeFrom: string | undefined;
}

/** Makes the filter that the options say. @throws {UsageError} for a list that cannot be read, and where there is no tree */
export async function readFilter({ world }: Pick<Context, 'world'>, values: FilterValues, isTree = true): Promise<Filter> {
  const { include, exclude, excludeFrom } = values;
  const isAsked = include.length + exclude.length > 0 || excludeFrom !== undefined;
  if (isAsked && !isTree) throw new UsageError('--include and --exclude choose files of trees', { hint: 'add -r' });
  const lines = excludeFrom === undefined ? [] : (await readInput(world, excludeFrom)).toString().split(/\r?\n/);
  return createFilter(include, [...exclude, ...lines.filter((line) => line !== '' && !line.startsWith('#'))]);
}
