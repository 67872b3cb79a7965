import { choice, duration, flag, number, size, type Values, withTopic } from '../../cli/parameters.ts';

/** Maximum number of concurrent transfers. */
export const mostParallel = 256;

/** Options of every command that transfers files. */
export const transferOptions = withTopic('transfer', {
  parallel: number('Number of concurrent transfers; default 16, fewer with a low --bwlimit', { short: 'P', range: [1, mostParallel] }),
  bwlimit: size('Maximum bytes per second, over all files together', { placeholder: 'RATE' }),
  partSize: size('Size of the parts or ranges of a large file, at least 5 MiB'),
  progress: choice(
    'Progress on stderr; by default a bar on a terminal, and elsewhere a plain line at intervals',
    ['bar', 'plain', 'none'],
    {
      placeholder: 'FORM',
    },
  ),
  progressInterval: duration('Interval of plain lines; default 10s'),
  noProgress: flag('Same as --progress none'),
});

/** An option of commands that write files. */
export const sparseOption = flag('Write files sparse: zeros become holes');

export type TransferValues = Values<typeof transferOptions>;

const usualParallel = 16;

/** Minimum bytes per second for each concurrent transfer: with slower ones, an interruption would leave no file complete. */
const leastRate = 1024 * 1024;

/** The number of concurrent transfers: fewer with a low rate limit, so that some files are completed before others start. */
export function chooseParallel({ parallel, bwlimit }: Partial<Pick<TransferValues, 'parallel' | 'bwlimit'>>): number {
  if (parallel !== undefined || bwlimit === undefined) return parallel ?? usualParallel;
  return Math.min(usualParallel, Math.max(1, Math.floor(bwlimit / leastRate)));
}
