import { basename } from 'node:path';
import type { Context } from '../../../cli/command.ts';
import { resolvePath } from '../../../cli/input.ts';
import { UsageError } from '../../../base/errors.ts';
import { printRemotePath, readRemotePath } from '../../../transfer/path.ts';

/** The paths that a line reads and changes; `everything` where its arguments do not tell. */
export type Touches = 'everything' | Paths;

interface Paths {
  readonly reads: readonly string[];
  readonly changes: readonly string[];
  /** True if the line also creates missing directories above the paths that it changes. */
  readonly makesParents?: boolean;
}

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
const withPaths = ['glob', 'pathsFrom', 'plan', 'backupDir', 'excludeFrom'];

/** Commands that use the stor directory when no path is given. */
const withDefault = new Set(['ls', 'find', 'tree', 'du']);

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
  // A wildcard can match anything, and a backslash may escape the next character, so the path ends before them.
  const first = word.search(/[*?[{\\]/);
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

/** The name that a source gets in a target directory; undefined where the source does not tell, such as `.`. */
function nameInside(source: string): string | undefined {
  const name = basename(source.replace(/^stor:/, ''));
  return /^(?:\.{0,2}|~{1,2})$/.test(name) ? undefined : name;
}

/** The paths below a target that a command changes: one for each source, or the target itself. */
function listTargets(name: string, sources: readonly string[], target: string, options: Readonly<Record<string, unknown>>): string[] {
  // A tree that is downloaded into a directory that does not exist becomes that directory.
  const becomesTarget = name === 'sync' || (name !== 'put' && isGiven(options['recursive']));
  const names = sources.map(nameInside);
  if (!target.endsWith('/') || becomesTarget || isGiven(options['untar']) || isGiven(options['noTargetDirectory'])) return [target];
  return names.some((each) => each === undefined) ? [target] : names.map((each) => `${target}${each}`);
}

/** Finds what a line touches, so that independent lines can run concurrently. */
export function findTouches(
  context: Context,
  path: readonly string[],
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
): Touches {
  const name = path.join(' ');
  const how = name === 'find' && isGiven(options['delete']) ? 'all' : changed[name];
  const isOdd = withPaths.some((option) => isGiven(options[option]));
  const given = Object.values(args)
    .flat()
    .filter((word) => typeof word === 'string');
  const words = given.length === 0 && withDefault.has(name) ? [''] : given;
  if (how === undefined || isOdd || words.some((word) => word.includes('/stor:'))) return 'everything';
  const at =
    (side: Side) =>
    (word: string): string[] =>
      locate(context, word, side);
  const makesParents = isGiven(options['parents']);
  if (how === 'none') return { reads: words.flatMap(at('either')), changes: [] };
  if (how === 'all') return { reads: [], changes: words.flatMap(at('either')), makesParents };
  // A tree without a target is downloaded into the current directory.
  if (name === 'get' && words.length === 1)
    return { reads: words.flatMap(at('object')), changes: isGiven(options['recursive']) ? at('file')('.') : [] };
  const sides = words.length > 1 ? sidesOf[name] : undefined;
  const [sources, target = ''] = [words.slice(0, -1), words.at(-1)];
  const targets = listTargets(name, sources, target, options);
  return {
    reads: sources.flatMap(at(sides?.sources ?? 'either')),
    changes: targets.flatMap(at(sides?.target ?? 'either')),
    makesParents,
  };
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  for (const one of a) for (const other of b) if (one.startsWith(other) || other.startsWith(one)) return true;
  return false;
}

/** The directory of an object, with a trailing slash; undefined for a root of an account, which always exists. */
function findParent(path: string): string | undefined {
  return /^(object \/[^/]+\/[^/]+\/.+\/)[^/]+\/$/.exec(path)?.[1];
}

/** True if a line may create the directory of a path that a later line changes. */
function makesParentOf(earlier: Paths, later: Paths): boolean {
  if (earlier.makesParents !== true || later.makesParents === true) return false;
  return later.changes.some((path) => {
    const parent = findParent(path);
    return parent !== undefined && earlier.changes.some((made) => made.startsWith(parent));
  });
}

/** True if a line has to wait for an earlier one: one of them changes what the other one reads, changes or needs. */
export function haveToWait(earlier: Touches, later: Touches): boolean {
  if (earlier === 'everything' || later === 'everything') return true;
  if (makesParentOf(earlier, later)) return true;
  return overlap(earlier.changes, later.changes) || overlap(earlier.changes, later.reads) || overlap(earlier.reads, later.changes);
}
