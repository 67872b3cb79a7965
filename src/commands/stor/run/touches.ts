import { basename } from 'node:path';
import type { Context } from '../../../cli/command.ts';
import { resolvePath } from '../../../cli/input.ts';
import { UsageError } from '../../../base/errors.ts';
import { printRemotePath, readRemotePath } from '../../../transfer/path.ts';

/** The paths that a line reads and changes; `everything` where its arguments do not tell. */
export type Touches = 'everything' | { readonly reads: readonly string[]; readonly changes: readonly string[] };

/** Which arguments a command changes. Other commands wait for all lines before them, and all later lines wait for them. */
const changed: Readonly<Record<string, 'none' | 'last' | 'all'>> = {
  ls: 'none',
  stat: 'none',
  find: 'none',
  tree: 'none',
  du: 'none',
  diff: 'none',
  sign: 'none',
  'meta get': 'none',
  'roles get': 'none',
  get: 'last',
  put: 'last',
  cp: 'last',
  ln: 'last',
  sync: 'last',
  mkdir: 'all',
  rm: 'all',
  mv: 'all',
};

/** Options with paths that are not analysed. */
const withPaths = ['glob', 'pathsFrom', 'plan', 'exec', 'backupDir', 'excludeFrom'];

/** True if an option has a value other than its default. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false && value !== 0 && !(Array.isArray(value) && value.length === 0);
}

/** A path with a trailing slash, so that `startsWith` finds the paths below it. */
function close(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** The side that an argument is on; `either` where the command accepts both. */
type Side = 'object' | 'file' | 'either';

/** The sides of sources and target, for commands where they are fixed. */
const sidesOf: Readonly<Record<string, { readonly sources: Side; readonly target: Side }>> = {
  put: { sources: 'file', target: 'object' },
  get: { sources: 'object', target: 'file' },
};

/** The path of an argument as an object, as a file or as both, with a trailing slash. */
function locate({ account, world }: Context, word: string, side: Side): string[] {
  // A wildcard can match anything, so the path ends before it.
  const first = word.search(/[*?[{]/);
  const path = first < 0 ? word : word.slice(0, word.lastIndexOf('/', first) + 1);
  const locateFile = (): string => close(`file ${resolvePath(world, path === '' ? '.' : path)}`);
  if (side === 'file') return [locateFile()];
  try {
    const object = close(`object ${printRemotePath(readRemotePath(path, account))}`);
    return side === 'object' ? [object] : [object, locateFile()];
  } catch (error) {
    // Not a path of the object storage, such as `../x`.
    if (!(error instanceof UsageError)) throw error;
    return [locateFile()];
  }
}

/** Finds what a line touches, so that independent lines can run concurrently. */
export function findTouches(
  context: Context,
  path: readonly string[],
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
): Touches {
  const name = path.join(' ');
  const how = changed[name];
  const isOdd = withPaths.some((option) => isGiven(options[option]));
  const words = Object.values(args)
    .flat()
    .filter((word) => typeof word === 'string');
  if (how === undefined || isOdd || words.some((word) => word.includes('/stor:'))) return 'everything';
  const at =
    (side: Side) =>
    (word: string): string[] =>
      locate(context, word, side);
  if (how === 'none') return { reads: words.flatMap(at('either')), changes: [] };
  if (how === 'all') return { reads: [], changes: words.flatMap(at('either')) };
  const sides = words.length > 1 ? sidesOf[name] : undefined;
  const [sources, target = ''] = [words.slice(0, -1), words.at(-1)];
  // In a target that ends with a slash, each source gets its own name.
  const targets = target.endsWith('/') ? sources.map((source) => `${target}${basename(source)}`) : [target];
  return { reads: sources.flatMap(at(sides?.sources ?? 'either')), changes: targets.flatMap(at(sides?.target ?? 'either')) };
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  for (const one of a) for (const other of b) if (one.startsWith(other) || other.startsWith(one)) return true;
  return false;
}

/** True if one of two lines changes what the other one reads or changes. */
export function haveToWait(a: Touches, b: Touches): boolean {
  if (a === 'everything' || b === 'everything') return true;
  return overlap(a.changes, b.changes) || overlap(a.changes, b.reads) || overlap(a.reads, b.changes);
}
