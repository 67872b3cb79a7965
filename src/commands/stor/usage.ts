import { command, type Context } from '../../cli/command.ts';
import { number, some } from '../../cli/parameters.ts';
import { countOf } from '../../base/count.ts';
import { flatMapEach } from '../../base/iterate.ts';
import { escapeControl } from '../../output/escape.ts';
import { drawBar } from '../../output/bar.ts';
import { records, texts, type Output } from '../../output/kinds.ts';
import { createObjectError } from '../../transfer/inspect.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { walkRemote, type Visit } from '../../transfer/tree/walk.ts';
import type { Filter } from '../../transfer/sync/tree.ts';
import { humanOption } from './directory.ts';
import { createTally, type Tally } from './tally.ts';
import { filterOptions, readFilter, takesRoot } from './filters.ts';
import { readingNames, readNames } from './names.ts';
import { inspectRoot } from './paths.ts';

interface Usage {
  size: number;
  objects: number;
  directories: number;
}

function add(to: Usage | undefined, { size, objects, directories }: Usage): void {
  if (!to) return;
  to.size += size;
  to.objects += objects;
  to.directories += directories;
}

interface UsageRow extends Usage {
  path: string;
}

interface Measure {
  readonly depth: number;
  readonly filter: Filter;
  /** True if the root was an argument, so that the filter applies to its name. */
  readonly isNamed: boolean;
}

async function* measure(context: Context, root: RemotePath, { depth, filter, isNamed }: Measure, tally: Tally): AsyncGenerator<UsageRow> {
  const found = await tally.attempt(printRemotePath(root), () => inspectRoot(context.storage, root));
  if (!found || (isNamed && !takesRoot(filter, root, found.type))) return;
  if (found.type === 'object') {
    yield { size: Number(found.headers['content-length'] ?? 0), objects: 1, directories: 0, path: printRemotePath(root) };
    return;
  }
  const levels: Usage[] = [{ size: 0, objects: 0, directories: 0 }];
  for await (const visit of walkRemote(context.storage, root, { onError: tally.fail, prune: filter.prunes })) {
    if (visit.kind === 'object' ? !filter.hasFile(visit.rel) : filter.prunes(visit.rel)) continue;
    if (visit.kind === 'object') add(levels.at(-1), { size: visit.entry.size ?? 0, objects: 1, directories: 0 });
    else if (visit.kind === 'enter') levels.push({ size: 0, objects: 0, directories: 1 });
    else {
      const own = levels.pop() ?? { size: 0, objects: 0, directories: 0 };
      if (filter.isChoosy && own.objects === 0) continue;
      add(levels.at(-1), own);
      if (visit.depth <= depth) yield { ...own, path: printRemotePath(visit.path) };
    }
  }
  const whole = levels[0] ?? { size: 0, objects: 0, directories: 0 };
  yield { ...whole, path: printRemotePath(root) };
}

/** Width of a bar on a terminal, characters. */
const barWidth = 16;

/** A share of a directory's bytes, as a bar and in percent. */
function showShare(value: unknown): string {
  const share = Number(value);
  return `${drawBar(share, barWidth)} ${String(Math.round(share * 100)).padStart(3)}%`;
}

/** Adds to each row its share of all bytes. The last row has the total, so the rows of one directory are held in memory. */
async function* addShares(rows: AsyncIterable<UsageRow>): AsyncGenerator<UsageRow & { share: number }> {
  const held: UsageRow[] = [];
  for await (const row of rows) held.push(row);
  const whole = held.at(-1)?.size ?? 0;
  for (const row of held) yield { ...row, share: whole === 0 ? 0 : row.size / whole };
}

/** True if the output is a table on a terminal. */
function isLookedAt({ world, global }: Context): boolean {
  return (
    world.stdout.isTerminal && global.output === undefined && !global.json && global.columns === undefined && world.env['TERM'] !== 'dumb'
  );
}

export const usage = command({
  summary: 'Show the size of directories',
  description:
    'Sizes do not include the copies of objects. Links to the same object are counted separately. On a terminal, a bar shows the share of each directory.',
  arguments: { path: some('Directory or object; default your stor directory', { values: 'path' }) },
  options: {
    depth: number('Depth of the listed directories; default 1, 0 for the sum only', { short: 'd' }),
    human: humanOption,
    ...filterOptions,
    ...readingNames,
  },
  run: async (invocation) => {
    const { args, options } = invocation;
    const { paths: roots } = await readNames(invocation, args.path.length === 0 ? [''] : args.path, options);
    const tally = createTally(invocation, roots.length === 1);
    const how = { depth: options.depth ?? 1, filter: await readFilter(invocation, options), isNamed: args.path.length > 0 };
    const draws = isLookedAt(invocation);
    async function* rows(): AsyncGenerator<UsageRow> {
      for (const root of roots) {
        const measured = measure(invocation, root, how, tally);
        yield* draws ? addShares(measured) : measured;
      }
      tally.finish();
    }
    const share = draws ? [{ key: 'share', as: showShare }] : [];
    return records(rows(), {
      columns: [{ key: 'size', as: 'size' }, ...share, 'objects', { key: 'directories', long: true }, 'path'],
      id: 'path',
      humanSizes: options.human,
    });
  },
  examples: [
    { line: 'cloud stor du logs', help: 'A directory and its subdirectories' },
    { line: 'cloud stor du -d 0 -j', help: 'The total in bytes' },
    { line: 'cloud stor du logs --exclude "*.gz"', help: 'Exclude matching names' },
  ],
});

/** The tree lines before an entry; `open` has true for each directory above with further entries. */
function drawBranch(open: readonly boolean[], isLast: boolean): string {
  return `${open.map((more) => (more ? '│   ' : '    ')).join('')}${isLast ? '└── ' : '├── '}`;
}

async function* drawTree(visits: AsyncIterable<Visit>, root: string, show: (text: string) => string): AsyncGenerator<string> {
  yield `${show(root)}\n`;
  const open: boolean[] = [];
  let [directories, objects] = [0, 0];
  for await (const { kind, entry, isLast } of visits) {
    if (kind === 'leave') {
      open.pop();
      continue;
    }
    const mark = kind === 'enter' ? '/' : '';
    yield `${drawBranch(open, isLast)}${show(entry.name)}${mark}\n`;
    if (kind === 'enter') open.push(!isLast);
    if (kind === 'enter') directories += 1;
    else objects += 1;
  }
  yield `${countOf(directories, 'directory', 'directories')}, ${countOf(objects, 'object')}\n`;
}

function listTree(visits: AsyncIterable<Visit>): AsyncGenerator<object> {
  return flatMapEach(visits, ({ kind, entry, path, depth }) =>
    kind === 'leave' ? [] : [{ path: printRemotePath(path), depth, ...entry }],
  );
}

export const tree = command({
  summary: 'Show directories as a tree',
  arguments: { path: some('Directory; default your stor directory', { values: 'path' }) },
  options: { maxdepth: number('Maximum depth', { short: 'L', range: [1, 1000] }), ...readingNames },
  run: async (invocation): Promise<Output> => {
    const { args, options, global, storage } = invocation;
    const { paths: roots } = await readNames(invocation, args.path.length === 0 ? [''] : args.path, options);
    const tally = createTally(invocation, roots.length === 1);
    const walk = (root: RemotePath): AsyncIterable<Visit> =>
      walkRemote(storage, root, {
        ...(options.maxdepth !== undefined && { maxDepth: options.maxdepth }),
        onError: tally.fail,
      });
    async function* showRoots<T>(show: (root: RemotePath) => AsyncIterable<T>): AsyncGenerator<T> {
      for (const root of roots) {
        const isDirectory = await tally.attempt(printRemotePath(root), async () => {
          if ((await inspectRoot(storage, root)).type === 'object') throw createObjectError(root);
          return true;
        });
        if (isDirectory) yield* show(root);
      }
      tally.finish();
    }
    // A name with a newline would break the drawing.
    const draw = (root: RemotePath): AsyncIterable<string> => drawTree(walk(root), printRemotePath(root), escapeControl);
    if (global.output === undefined && !global.json) return texts(showRoots(draw));
    return records(
      showRoots((root) => listTree(walk(root))),
      { columns: ['type', { key: 'size', as: 'size' }, 'path'], id: 'path' },
    );
  },
  examples: [
    { line: 'cloud stor tree photos', help: 'Everything below a directory' },
    { line: 'cloud stor tree -L 2', help: 'Two levels' },
  ],
});
