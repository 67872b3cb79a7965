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

/** Where a path is, as an object and as a file, each with a slash at its end: which of them is meant is not asked. */
function locate({ account, world }: Context, word: string): string[] {
  // What comes after a wildcard may be anything.
  const [plain = ''] = word.split(/[*?[{]/, 1);
  const path = plain === word ? word : plain.slice(0, plain.lastIndexOf('/') + 1);
  const local = close(`file ${resolvePath(world, path === '' ? '.' : path)}`);
  try {
    return [close(`object ${printRemotePath(readRemotePath(path, account))}`), local];
  } catch (error) {
    // No path of the object storage, such as `../x`.
    if (!(error instanceof UsageError)) throw error;
    return [local];
  }
}

/** Tells what a line touches, so that lines that have nothing to do with each other run at the same time. */
export function findTouches(
  context: Context,
  path: readonly string[],
  args: Readonly<Record<string, unknown>>,
  options: Readonly<Record<string, unknown>>,
): Touches {
  const how = changed[path.join(' ')];
  const isOdd = withPaths.some((name) => isGiven(options[name]));
  const words = Object.values(args)
    .flat()
    .filter((word): word is string => typeof word === 'string');
  if (how === undefined || isOdd || words.some((word) => word.includes('/stor:'))) return 'everything';
  const at = (word: string): string[] => locate(context, word);
  if (how === 'none') return { reads: words.flatMap(at), changes: [] };
  if (how === 'all') return { reads: [], changes: words.flatMap(at) };
  const [sources, target = ''] = [words.slice(0, -1), words.at(-1)];
  // Into a directory that is named as one, each source goes under its own name.
  const targets = target.endsWith('/') ? sources.map((source) => `${target}${basename(source)}`) : [target];
  return { reads: sources.flatMap(at), changes: targets.flatMap(at) };
}

function overlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some((one) => b.some((other) => one.startsWith(other) || other.startsWith(one)));
}

/** Whether one of two lines changes what the other one reads or changes. */
export function haveToWait(a: Touches, b: Touches): boolean {
  if (a === 'everything' || b === 'everything') return true;
  return overlap(a.changes, b.changes) || overlap(a.changes, b.reads) || overlap(a.reads, b.changes);
}
