import type { Command, Context } from '../../cli/command.ts';
import type { Arguments, Options, Values } from '../../cli/parameters.ts';
import { collectValues, runCommand } from '../../cli/plain-line.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Output } from '../../output/kinds.ts';
import { readPlace } from '../../transfer/path.ts';
import type { CopyOptions } from './copy-words.ts';
import { get } from './get.ts';
import { put } from './put.ts';
import { openProfile } from './sides.ts';

/** True if an argument is a path of the object storage by itself: `stor:`, `PROFILE/stor:` or `~~/`. */
export function isRemote(word: string): boolean {
  return readPlace(word) !== undefined || /^~~(?:\/|$)/.test(word);
}

/** The direction of a copy. Without any `stor:` all arguments are paths of the object storage. */
export function findDirection(words: readonly string[]): 'within' | 'up' | 'down' {
  const target = words.at(-1) ?? '';
  const sources = words.slice(0, -1);
  if (words.length < 2 || !words.some((word) => readPlace(word)) || words.every(isRemote)) return 'within';
  if (isRemote(target) && !sources.some(isRemote)) return 'up';
  if (!isRemote(target) && sources.every(isRemote)) return 'down';
  throw new UsageError('the sources of a copy must be either all local or all in the object storage', {
    hint: `cloud stor cp ${sources.filter(isRemote).map(quoteShell).join(' ')} ${quoteShell(target)}, and the others with another command`,
  });
}

/** @throws {UsageError} for `mv` and `ln` with paths of both sides: they work only within the object storage */
export function assertWithin(verb: string, words: readonly string[]): void {
  if (!words.some((word) => word.startsWith('stor:')) || words.every(isRemote)) return;
  const remote = words.map((word) => quoteShell(isRemote(word) ? word : `stor:${word}`)).join(' ');
  throw new UsageError(`${verb} works within the object storage: some paths begin with stor: and others do not`, {
    hint: [`cloud stor ${verb} ${remote}`, `between this machine and the object storage: cloud stor cp ${words.map(quoteShell).join(' ')}`],
  });
}

/** Runs a command instead of `cp`; its options that `cp` does not have get their defaults. */
async function runInstead<A extends Arguments, O extends Options>(
  context: Context,
  declared: Command<A, O>,
  args: Values<A>,
  given: Partial<Values<O>>,
): Promise<Output | undefined> {
  return await runCommand(context, declared, { args, options: collectValues(declared.options, { ...given }) as Values<O> });
}

/**
 * The context of the profile that the arguments name, and the arguments without it.
 * @throws {UsageError} when they name several profiles
 */
function openNamed(context: Context, words: readonly string[]): { context: Context; words: string[] } {
  const [profile, ...others] = new Set(words.filter(isRemote).map((word) => readPlace(word)?.profile));
  if (others.length > 0) throw new UsageError('the sources of a copy must be at one service', { hint: 'use one command for each profile' });
  return { context: openProfile(context, profile), words: words.map((word) => readPlace(word)?.path ?? word) };
}

/** Copies local files into the object storage, as `put` does. */
export async function copyUp(command: Context, args: readonly string[], options: CopyOptions): Promise<Output | undefined> {
  if (options.pathsFrom !== undefined || options.glob)
    throw new UsageError('--paths-from and --glob apply to paths of the object storage', { hint: 'the shell expands local patterns' });
  const { context, words } = openNamed(command, args);
  return await runInstead(context, put, { file: words }, options);
}

/** Copies from the object storage to local files or stdout, as `get` does. */
export async function copyDown(command: Context, args: readonly string[], options: CopyOptions): Promise<Output | undefined> {
  if (options.type !== undefined) throw new UsageError('--type applies to objects, not to files');
  const { context, words } = openNamed(command, args);
  return await runInstead(context, get, { path: words }, options);
}
