import { basename } from 'node:path';
import type { Context } from '../../../cli/command.ts';
import { resolvePath } from '../../../cli/input.ts';
import { UsageError } from '../../../base/errors.ts';
import { printRemotePath, readRemotePath } from '../../../transfer/path.ts';

/** What a line reads and changes; `everything` where that cannot be told from its words. */
export type Touches = 'everything' | { readonly reads: readonly string[]; readonly changes: readonly string[] };

/** Which of its arguments a command changes. Others than these wait for all lines before them, and are waited for. */
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

/** Options whose paths are not looked at. */
const withPaths = ['glob', 'pathsFrom', 'plan', 'exec', 'backupDir', 'excludeFrom'];

/** Whether an option has a value. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false && value !== 0 && !(Array.isArray(value) && value.length === 0);
}

/** A path with a slash behind it, so that it begins with whatever it is below. */
function close(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** On which side a word is; `either` where that is not asked. */
type Side = 'object' | 'file' | 'either';

/** The sides of sources and target, where a command has one for each. */
const sidesOf: Readonly<Record<string, { readonly sources: Side; readonly target: Side }>> = {
  put: { sources: 'file', target: 'object' },
  get: { sources: 'object', target: 'file' },
};

/** Where a path is, as an object, as a file or as both, with a slash at its end. */
function locate({ account, world }: Context, word: string, side: Side): string[] {
  // What comes after a wildcard may be anything.
  const first = word.search(/[*?[{]/);
  const path = first < 0 ? word : word.slice(0, word.lastIndexOf('/', first) + 1);
  const locateFile = (): string => close(`file ${resolvePath(world, path === '' ? '.' : path)}`);
  if (side === 'file') return [locateFile()];
  try {
    const object = close(`object ${printRemotePath(readRemotePath(path, account))}`);
    return side === 'object' ? [object] : [object, locateFile()];
  } catch (error) {
    // No path of the object storage, such as `../x`.
    if (!(error instanceof UsageError)) throw error;
    return [locateFile()];
  }
}

/** Tells what a line touches, so that lines that have nothing to do with each other run at the same time. */
export function findTouches(
  context: Context,
  path: readonly string[],
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
): Touches {
  const name = path.join(' ');
  const how = changed[name];
  const isOdd = withPaths.some((name) => isGiven(options[name]));
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
  // Into a directory that is named as one, each source goes under its own name.
  const targets = target.endsWith('/') ? sources.map((source) => `${target}${basename(source)}`) : [target];
  return { reads: sources.flatMap(at(sides?.sources ?? 'either')), changes: targets.flatMap(at(sides?.target ?? 'either')) };
}

/** Whether the longer of two paths begins with the shorter. Their last characters differ more often than their first ones. */
function isWithin(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  const last = short.length - 2;
  return short.charCodeAt(last) === long.charCodeAt(last) && long.startsWith(short);
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  for (const one of a) for (const other of b) if (isWithin(one, other)) return true;
  return false;
}

/** Whether one of two lines changes what the other one reads or changes. */
export function haveToWait(a: Touches, b: Touches): boolean {
  if (a === 'everything' || b === 'everything') return true;
  return overlap(a.changes, b.changes) || overlap(a.changes, b.reads) || overlap(a.reads, b.changes);
}
