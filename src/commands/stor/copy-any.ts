import { dirname } from 'node:path';
import type { Context, Invocation } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import type { Arguments, Options } from '../../cli/parameters.ts';
import { UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Output } from '../../output/kinds.ts';
import { makeFolders } from '../../transfer/local/folders.ts';
import { get } from './get.ts';
import { put } from './put.ts';

/** True if an argument is a path of the object storage by itself: `stor:` or `~~/`. */
export function isRemote(word: string): boolean {
  return /^stor:|^~~(?:\/|$)/.test(word);
}

/** The direction of a copy. Without any `stor:` all arguments are paths of the object storage. */
export function findDirection(words: readonly string[]): 'within' | 'up' | 'down' {
  const target = words.at(-1) ?? '';
  const sources = words.slice(0, -1);
  if (words.length < 2 || !words.some((word) => word.startsWith('stor:')) || words.every(isRemote)) return 'within';
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
    hint: `cloud stor ${verb} ${remote}\nbetween this machine and the object storage: cloud stor cp ${words.map(quoteShell).join(' ')}`,
  });
}

/** The same context with other arguments and options. Its members are lazy getters, so their descriptors are copied, not their values. */
function invokeWith<A extends Arguments, O extends Options>(
  context: Context,
  { args, options }: Pick<Invocation<A, O>, 'args' | 'options'>,
): Invocation<A, O> {
  const own = { args: { value: args }, options: { value: options } };
  return Object.defineProperties({}, { ...Object.getOwnPropertyDescriptors(context), ...own }) as Invocation<A, O>;
}

type PutInvocation = Parameters<typeof put.run>[0];
type GetInvocation = Parameters<typeof get.run>[0];

/** Options that `cp` shares with `put` and `get`. */
type CopyValues = Pick<
  PutInvocation['options'],
  'recursive' | 'parents' | 'noClobber' | 'dryRun' | 'noTargetDirectory' | 'modes' | 'type'
> &
  Pick<
    GetInvocation['options'],
    'glob' | 'literal' | 'pathsFrom' | 'include' | 'exclude' | 'excludeFrom' | 'parallel' | 'bwlimit' | 'partSize'
  > &
  Pick<GetInvocation['options'], 'progress' | 'progressInterval' | 'noProgress'>;

/** Copies local files into the object storage, as `put` does. */
export async function copyUp(context: Context, words: string[], options: CopyValues): Promise<Output | undefined> {
  if (options.pathsFrom !== undefined || options.glob)
    throw new UsageError('--paths-from and --glob apply to paths of the object storage', { hint: 'the shell expands local patterns' });
  const unused = {
    copies: undefined,
    ifMatch: undefined,
    ifModifiedSince: undefined,
    maxSize: undefined,
    growing: false,
    links: undefined,
    withoutHeaders: false,
    untar: false,
    backupDir: undefined,
    linkKnown: false,
  };
  const values = { ...options, ...unused, meta: [], header: [] };
  return await put.run(invokeWith<typeof put.arguments, typeof put.options>(context, { args: { file: words }, options: values }));
}

/** Copies from the object storage to local files or stdout, as `get` does. */
export async function copyDown(context: Context, words: string[], options: CopyValues): Promise<Output | undefined> {
  const target = words.at(-1) ?? '';
  if (options.type !== undefined) throw new UsageError('--type applies to objects, not to files');
  if (options.parents && target !== '-') makeFolders(resolvePath(context.world, target.endsWith('/') ? target : dirname(target)));
  const values = { ...options, continue: false, sparse: false, tar: false, withHeaders: false };
  return await get.run(invokeWith<typeof get.arguments, typeof get.options>(context, { args: { path: words }, options: values }));
}
