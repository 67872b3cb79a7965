import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, flag, withTopic } from '../../cli/parameters.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, createContradiction, NotFoundError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { expandEntries, isPattern, type NameForm } from '../../transfer/tree/glob.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { missing } from './paths.ts';

const pathsFrom = filePath('Read literal paths from a file; - for stdin. Each terminated by NUL, as find -0 prints them, or one per line');

const glob = flag('Expand patterns in paths: *, ?, **, [a-z] and {a,b}');

/** Options of commands that read: these expand `*`, `?` and `**` by default. */
export const readingNames = withTopic('names', { glob, literal: flag('Take paths literally: * and ? are no wildcards') });

/** Options of commands that change or remove: these take paths literally by default. */
export const changingNames = withTopic('names', { glob });

export const listOption = withTopic('names', { pathsFrom });

/** Values of these options; no command has all of them. */
export interface NameValues {
  readonly glob: boolean;
  readonly literal?: boolean;
  readonly pathsFrom?: string | undefined;
}

/** How a command reads its paths. `literal` is only declared for commands that expand wildcards by default. */
export function chooseForm({ glob: isGlob, literal }: NameValues): NameForm {
  if (isGlob && literal === true) throw createContradiction('--glob', '--literal');
  if (isGlob) return 'glob';
  return literal === false ? 'wildcards' : 'name';
}

/** The paths that a command acts on. */
export interface Named {
  readonly paths: RemotePath[];
  /** True if an argument was a pattern. */
  readonly isMatch: boolean;
}

/** Maximum size of a list, bytes. */
const largestList = 256 * 1024 * 1024;

/** The names in a file. @throws {UsageError} for a list that cannot be read */
async function readList({ world }: Context, file: string): Promise<string[]> {
  const { splitNames } = await import('../../cli/lines.ts');
  return splitNames(await readInput(world, file, largestList), `--paths-from ${file === '-' ? 'stdin' : file}`);
}

/** The error for a missing `-`, with a hint about --paths-from. */
function explainDash(path: RemotePath, word: string): ApiError {
  return word === '-' ? withHint(missing(path), 'to read paths from stdin: --paths-from -') : missing(path);
}

/** Expands one argument to paths. */
export async function expandWord({ storage, account }: Context, word: string, form: NameForm): Promise<Named> {
  const paths = [];
  let isMatch = false;
  for await (const expanded of expandEntries(storage, account, word, form)) {
    paths.push(expanded.path);
    isMatch ||= expanded.isMatch;
  }
  return { paths, isMatch };
}

export function createMissingPath(): UsageError {
  return new UsageError('missing argument PATH', { hint: 'name a path, or read paths from a file or stdin: --paths-from FILE' });
}

/** The arguments, and the names in `--paths-from`. @throws {UsageError} when there are neither arguments nor a list */
export async function listWords(
  context: Context,
  words: readonly string[],
  values: NameValues,
): Promise<{ word: string; form: NameForm }[]> {
  const form = chooseForm(values);
  const named = words.map((word) => ({ word, form }));
  if (values.pathsFrom === undefined) {
    if (words.length === 0) throw createMissingPath();
    return named;
  }
  const list = await readList(context, values.pathsFrom);
  return [...named, ...list.map((word) => ({ word, form: 'name' as const }))];
}

/** The paths that the arguments and `--paths-from` stand for, each as often as it is named. */
export async function readAllNames(context: Context, words: readonly string[], values: NameValues): Promise<Named> {
  const found: RemotePath[] = [];
  let isMatch = false;
  for (const { word, form } of await listWords(context, words, values)) {
    if (form === 'name') {
      found.push(readRemotePath(word, context.account));
      continue;
    }
    const named = await expandWord(context, word, form);
    const [first] = named.paths;
    if (word === '-' && first && !(await inspect(context.storage, first))) throw explainDash(first, word);
    isMatch ||= named.isMatch;
    for (const path of named.paths) found.push(path);
  }
  return { paths: found, isMatch };
}

/** The distinct paths that the arguments and `--paths-from` stand for. */
export async function readNames(context: Context, words: readonly string[], values: NameValues): Promise<Named> {
  const { paths, isMatch } = await readAllNames(context, words, values);
  return { paths: [...new Map(paths.map((path) => [printRemotePath(path), path])).values()], isMatch };
}

/** Maximum number of matches counted for a hint. */
const mostCounted = 1000;

async function countMatches({ storage, account }: Context, word: string): Promise<number> {
  let count = 0;
  try {
    for await (const _ of expandEntries(storage, account, word, 'glob')) {
      count += 1;
      if (count === mostCounted) break;
    }
  } catch (error) {
    if (!(error instanceof NotFoundError || error instanceof UsageError || error instanceof ApiError)) throw error;
  }
  return count;
}

/**
 * The error for a name that is to be changed or removed and does not exist. If it looks like a pattern, the hint has the command with
 * `--glob`; on a terminal, also the number of matches.
 */
export async function explainMissing(context: Context, path: RemotePath, word: string, verb: string): Promise<ApiError> {
  const error = explainDash(path, word);
  const { account, world } = context;
  if (!isPattern(readRemotePath(word, account).path)) return error;
  const count = world.stderr.isTerminal ? await countMatches(context, word) : undefined;
  if (count === 0) return error;
  const many =
    count === undefined ? 'to use it as a pattern' : `it matches ${count}${count === mostCounted ? ' or more' : ''} as a pattern`;
  return withHint(error, `${many}: cloud stor ${verb} --glob ${quoteRemotePath(path)}`);
}

/** Checks the target of several sources from a pattern or a list. @throws {UsageError} unless it is a directory */
export function assertDirectory(isDirectory: boolean, target: string, line: string): void {
  if (!isDirectory)
    throw new UsageError(`${target}: no such directory; a pattern or list of paths needs a target directory`, {
      hint: `${line} ${quoteShell(target)}`,
    });
}
