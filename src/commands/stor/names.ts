import type { Context } from '../../cli/command.ts';
import { readInput } from '../../cli/input.ts';
import { filePath, flag, withTopic } from '../../cli/parameters.ts';
import { ApiError, createContradiction, NotFoundError, UsageError, withHint } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { expandEntries, isPattern, type NameForm } from '../../transfer/tree/glob.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { missing } from './paths.ts';

const pathsFrom = filePath('Take names, as they are, from a file; - for stdin. One a line, or each ended by NUL');

const glob = flag('Take paths as patterns with *, ?, **, [a-z] and {a,b}');

/** Options of commands that read: they know `*`, `?` and `**` without being asked. */
export const readingNames = withTopic('names', { glob, literal: flag('Take paths as names: * and ? are characters') });

/** Options of commands that change or remove: they take names as they are unless told otherwise. */
export const changingNames = withTopic('names', { glob });

export const listOption = withTopic('names', { pathsFrom });

/** Values of these options; a command has some of them. */
export interface NameValues {
  readonly glob: boolean;
  readonly literal?: boolean;
  readonly pathsFrom?: string | undefined;
}

/** How a command takes its paths. `literal` is only declared where wildcards are known without it. */
export function chooseForm({ glob: isGlob, literal }: NameValues): NameForm {
  if (isGlob && literal === true) throw createContradiction('--glob', '--literal');
  if (isGlob) return 'glob';
  return literal === false ? 'wildcards' : 'name';
}

/** The paths that a command is to act on. */
export interface Named {
  readonly paths: RemotePath[];
  /** A word was a pattern. */
  readonly isMatch: boolean;
}

/** Bytes that a list may have. */
const largestList = 256 * 1024 * 1024;

/** The names in a file: with a NUL anywhere, each is ended by one; else lines. Empty ones are left out. @throws {UsageError} for what is not UTF-8 */
async function readList({ world }: Context, file: string): Promise<string[]> {
  const bytes = await readInput(world, file, largestList);
  let list: string;
  try {
    list = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`--paths-from: a name in ${file === '-' ? 'stdin' : file} is not UTF-8`, { cause: error });
  }
  return list.split(list.includes('\0') ? '\0' : '\n').filter((name) => name !== '');
}

/** Adds the line with --paths-from to the error for a missing `-`. */
function explainDash(path: RemotePath, word: string): ApiError {
  return word === '-' ? withHint(missing(path), 'to take paths from stdin: --paths-from -') : missing(path);
}

/** One word of a command line as the paths that it stands for. */
export async function expandWord({ storage, account }: Context, word: string, form: NameForm): Promise<Named> {
  const paths = [];
  let isMatch = false;
  for await (const expanded of expandEntries(storage, account, word, form)) {
    paths.push(expanded.path);
    isMatch ||= expanded.isMatch;
  }
  return { paths, isMatch };
}

/** The words of a command line, and the names of `--paths-from`. @throws {UsageError} when there are none and no list was given */
export async function listWords(
  context: Context,
  words: readonly string[],
  values: NameValues,
): Promise<{ word: string; form: NameForm }[]> {
  const form = chooseForm(values);
  const named = words.map((word) => ({ word, form }));
  if (values.pathsFrom === undefined) {
    if (words.length === 0)
      throw new UsageError('missing argument PATH', { hint: 'or take paths from a file or stdin: --paths-from FILE' });
    return named;
  }
  const list = await readList(context, values.pathsFrom);
  return [...named, ...list.map((word) => ({ word, form: 'name' as const }))];
}

/** The paths that the words of a command line and `--paths-from` mean, each once. */
export async function readNames(context: Context, words: readonly string[], values: NameValues): Promise<Named> {
  const found = new Map<string, RemotePath>();
  let isMatch = false;
  for (const { word, form } of await listWords(context, words, values)) {
    if (form === 'name') {
      const path = readRemotePath(word, context.account);
      found.set(printRemotePath(path), path);
      continue;
    }
    const named = await expandWord(context, word, form);
    const [first] = named.paths;
    if (word === '-' && first && !(await inspect(context.storage, first))) throw explainDash(first, word);
    isMatch ||= named.isMatch;
    for (const path of named.paths) found.set(printRemotePath(path), path);
  }
  return { paths: [...found.values()], isMatch };
}

/** Matches that are counted for a hint. */
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
 * The error for a name that a command was to change or remove. Where it looks like a pattern, the hint has the line with `--glob`, on a
 * terminal with the number of matches.
 */
export async function explainMissing(context: Context, path: RemotePath, word: string, verb: string): Promise<ApiError> {
  const error = explainDash(path, word);
  const { account, world } = context;
  if (!isPattern(readRemotePath(word, account).path)) return error;
  const count = world.stderr.isTerminal ? await countMatches(context, word) : undefined;
  if (count === 0) return error;
  const many =
    count === undefined ? 'to take it as a pattern' : `it matches ${count}${count === mostCounted ? ' or more' : ''} as a pattern`;
  return withHint(error, `${many}: cloud stor ${verb} --glob ${quoteRemotePath(path)}`);
}

/** What several sources of a pattern or a list go to. @throws {UsageError} unless it is a directory */
export function assertDirectory(isDirectory: boolean, target: string, line: string): void {
  if (!isDirectory)
    throw new UsageError(`${target}: no such directory: what a pattern or a list names goes into one`, {
      hint: `${line} ${quoteShell(target)}`,
    });
}
