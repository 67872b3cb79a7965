import { existsSync } from 'node:fs';
import { command, type Context, type Invocation } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { some, type Arguments } from '../../cli/parameters.ts';
import { withHint } from '../../base/error-copies.ts';
import { quietly, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Work } from '../../config/journal-file.ts';
import type { Output } from '../../output/kinds.ts';
import { isFolder } from '../../transfer/local/folders.ts';
import { inspect } from '../../transfer/inspect.ts';
import { printRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { copyDown, copyUp, findDirection, isRemote } from './copy-any.ts';
import { readFilter } from './filters.ts';
import { listFirstNames, noteNesting } from './nesting.ts';
import { readNames } from './names.ts';
import { missing } from './paths.ts';
import { namesProfile } from './sides.ts';
import { showRehearsal } from './rehearse.ts';
import { runTransfers } from './show.ts';
import { copyAll } from './copy-objects.ts';
import { copyOptions, declareCopy, prepareTargets, readTargets, rehearse, rowShape, splitWords } from './copy-words.ts';

/** @throws {UsageError} for `./x`, which can only be a local path; the hint has the command that copies it */
function assertNotDotted({ world }: Context, words: readonly string[]): void {
  const dotted = words.find((word) => /^\.{1,2}(?:\/|$)/.test(word));
  if (dotted === undefined) return;
  const verb = words.slice(0, -1).some((word) => isFolder(resolvePath(world, word))) ? 'cp -r' : 'cp';
  const line = words.map((word) => quoteShell(/^\.{1,2}(?:\/|$)|^stor:/.test(word) ? word : `stor:${word}`)).join(' ');
  throw new UsageError(`${dotted} is a local path, but without stor: all paths are in the object storage`, {
    hint: `cloud stor ${verb} ${line}`,
  });
}

/** @throws {ApiError} for a source that exists only locally; the hint has the command that copies it */
async function assertNotLocal(
  { storage, world }: Context,
  words: readonly string[],
  sources: readonly RemotePath[],
  target: string,
): Promise<void> {
  const [source] = sources;
  const [word = ''] = words;
  // Where the current directory was deleted, there is no local file of this name.
  const isLocal = quietly(() => existsSync(resolvePath(world, word)), false);
  if (source === undefined || words.length > 1 || !isLocal || (await inspect(storage, source))) return;
  const verb = isFolder(resolvePath(world, word)) ? 'cp -r' : 'cp';
  const to = isRemote(target) ? target : `stor:${target}`;
  throw withHint(missing(source), `to copy the local file: cloud stor ${verb} ${quoteShell(word)} ${quoteShell(to)}`);
}

/** Notes that a tree is copied into a directory that has the same content, which it may have been meant to replace. */
async function noteNested(
  context: Context,
  words: readonly string[],
  target: string,
  targets: ReadonlyMap<RemotePath, RemotePath>,
): Promise<void> {
  const [first] = targets;
  if (first === undefined || targets.size > 1 || target.endsWith('/')) return;
  const [from, nested] = first;
  const path = readRemotePath(target, context.account);
  if (printRemotePath(nested) === printRemotePath(path) || (await inspect(context.storage, nested))) return;
  if ((await inspect(context.storage, from))?.type !== 'directory') return;
  const places = { directory: printRemotePath(path), nested: printRemotePath(nested) };
  const nesting = { words: [...words, target], source: words[0] ?? '', target, ...places };
  noteNesting(context, nesting, await listFirstNames(context, from), await listFirstNames(context, path));
}

async function copyTargets(
  invocation: Invocation<Arguments, typeof copyOptions>,
  targets: ReadonlyMap<RemotePath, RemotePath>,
  isOne: boolean,
): Promise<Output | undefined> {
  const { options, note } = invocation;
  const filter = await readFilter(invocation, options, options.recursive);
  const only = isOne && !options.recursive;
  const declare = (): Work => declareCopy('cp', options, targets);
  return await runTransfers(invocation, options, { only, bulk: !only, declare }, rowShape, async function* (transfers) {
    const nothing = { after: () => Promise.resolve(), onFolder: () => undefined, moves: false };
    for await (const copied of copyAll(transfers, targets, { ...options, note, filter }, nothing)) {
      if (!options.recursive) note(`${copied.from} -> ${copied.to}`);
      yield copied;
    }
  });
}

export const copy = command({
  summary: 'Copy files, objects and trees to, from and within the object storage',
  description:
    'Paths that begin with stor: are in the object storage, others are local; - is stdin or stdout. If no path begins with stor:, all are in the object storage. Copies within the object storage are snap-links: no bytes are sent, and a later change of one does not change the other; new ones get the role tags of the directory they are in. PROFILE/stor:PATH is a path at the service of a profile: between two services, objects are copied through this machine.',
  arguments: {
    path: some('Files, objects or, with -r, directories, followed by TARGET: a new name, or a directory', { values: 'file-or-path' }),
  },
  usage: 'SOURCE... TARGET',
  options: copyOptions,
  run: async (invocation) => {
    const { args, options, resumed } = invocation;
    const direction = findDirection(args.path);
    if (direction === 'up') return await copyUp(invocation, args.path, options);
    if (direction === 'down') return await copyDown(invocation, args.path, options);
    if (args.path.some(namesProfile)) {
      const { copyAcross } = await import('./copy-across.ts');
      return await copyAcross(invocation, args.path, options);
    }
    if (resumed) return await copyTargets(invocation, readTargets(resumed, invocation.account), resumed.placed.length === 1);
    const hasList = options.pathsFrom !== undefined;
    const { sources: words, target } = splitWords(args.path, hasList);
    assertNotDotted(invocation, args.path);
    const { paths: sources, isMatch } = await readNames(invocation, words, options);
    await assertNotLocal(invocation, words, sources, target);
    const targets = await prepareTargets(invocation, sources, target, isMatch || hasList);
    const filter = await readFilter(invocation, options, options.recursive);
    if (options.recursive) await noteNested(invocation, words, target, targets);
    const isOne = sources.length === 1;
    if (options.dryRun) {
      const steps = rehearse(invocation, targets, { ...options, filter }, isOne && !options.recursive);
      return await showRehearsal(invocation, steps);
    }
    return await copyTargets(invocation, targets, isOne);
  },
  examples: [
    { line: 'cloud stor cp report.pdf stor:docs/', help: 'Upload a file' },
    { line: 'cloud stor cp -r stor:photos ./photos', help: 'Download a tree' },
    { line: 'cloud stor cp stor:notes.txt stor:notes-2024.txt', help: 'Copy within the object storage' },
    { line: 'cloud stor cp -r work/stor:photos home/stor:pictures', help: 'Copy from the service of one profile to that of another' },
  ],
});
