import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Headers } from '../../api/message.ts';
import { command, type Context, type Invocation } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, some, type Arguments } from '../../cli/parameters.ts';
import type { StorageClient } from '../../client/client.ts';
import { createContradiction, UsageError } from '../../base/errors.ts';
import { bytes, type Output } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Engine } from '../../transfer/engine.ts';
import { fetchFile } from '../../transfer/download/fetch-file.ts';
import { createDirectoryError } from '../../transfer/download/download.ts';
import { checkTarget, type Fetched } from '../../transfer/download/write-object.ts';
import { inspect } from '../../transfer/inspect.ts';
import { createManifestWriter, type ManifestWriter } from '../../transfer/tree-manifest.ts';
import { manifestName } from '../../transfer/manifest-name.ts';
import { printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { checkFolders, isFolder, makeFolders } from '../../transfer/local/folders.ts';
import { PlaceTakenError } from '../../transfer/local/partial-file.ts';
import { findWriteTarget } from '../../transfer/local/write-target.ts';
import { runOrdered, runPool } from '../../base/parallel.ts';
import { planGet } from '../../transfer/tree/trees.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import { concatenate } from './cat.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { sparseOption, transferOptions } from './transfer-options.ts';
import { filterOptions, readFilter, type FilterValues } from './filters.ts';
import { declareGet, getOnce, readFiles } from './get-once.ts';
import { chooseFiles } from './local-places.ts';
import { monitorTransfers } from './monitor.ts';
import { noTargetDirectory, noteNested } from './nesting.ts';
import { assertDirectory, createMissingPath, listOption, readAllNames, readingNames, readNames } from './names.ts';
import { dryRunOption, showRehearsal, type Rehearsed } from './rehearse.ts';
import { createTreeMemory, type FetchResult, type FetchStep } from './remember.ts';
import { runTransfers, type Transfers } from './show.ts';
import { checkTar, getTar } from './tar.ts';
import { countAhead } from './totals.ts';
import { requireThere } from './paths.ts';

interface Wanted extends FilterValues {
  readonly recursive: boolean;
  readonly noClobber: boolean;
  readonly parents: boolean;
  readonly dryRun: boolean;
}

/** The files to write for all sources. Trees are walked while their first files are fetched. */
async function* planSources(
  engine: Engine,
  tally: Tally,
  files: ReadonlyMap<RemotePath, string>,
  context: Context,
  options: Wanted,
): AsyncGenerator<FetchStep> {
  const { recursive, dryRun } = options;
  const filter = await readFilter(context, options, recursive);
  if (!recursive) engine.monitor.expect(files.size, 0);
  for (const [source, file] of files) {
    if (!recursive) {
      yield { source, file, size: undefined };
      continue;
    }
    const found = await tally.prepare(printRemotePath(source), () => requireThere(engine.storage, source));
    if (found?.type === 'object') yield { source, file, size: Number(found.headers['content-length'] ?? NaN) };
    else if (found) {
      if (!dryRun) void countAhead(engine, walkRemote(engine.storage, source, { onError: () => undefined }));
      yield* planGet(engine, source, file, { onError: tally.fail, makesNothing: dryRun, filter });
    }
  }
}

/** @throws {ApiError} for a missing object, {UsageError} for a directory */
async function requireObject(storage: StorageClient, source: RemotePath): Promise<void> {
  if ((await requireThere(storage, source)).type === 'directory') throw createDirectoryError(source);
}

/** Fetches one file; undefined for a file that is left unchanged. */
async function fetchOne(
  { note }: Pick<Context, 'note'>,
  { engine, entry }: Pick<Transfers, 'engine' | 'entry'>,
  step: FetchStep,
  options: Wanted & { continue: boolean; modes: boolean; sparse: boolean },
  manifest: ManifestWriter | undefined,
): Promise<Fetched | undefined> {
  const { source, file, size, rel } = step;
  if (options.noClobber && existsSync(file)) {
    if (!options.recursive) note(`${file} exists: left alone`);
    return undefined;
  }
  let headers: Headers = {};
  try {
    if (options.parents && !existsSync(dirname(file))) {
      await requireObject(engine.storage, source);
      makeFolders(dirname(file));
    }
    const fetch = (): Promise<Fetched> =>
      fetchFile(engine, source, file, {
        size: Number.isNaN(size) ? undefined : size,
        continues: options.continue,
        modes: options.modes,
        sparse: options.sparse,
        inTree: options.recursive,
        rel,
        listedEtag: step.etag,
        replaces: options.noClobber ? 'nothing' : undefined,
        onHeaders: (received) => void (headers = received),
      });
    const { fetched, isOld } = await getOnce({ engine, entry }, step, fetch);
    if (isOld && manifest) headers = (await inspect(engine.storage, source))?.headers ?? {};
    manifest?.add(file, headers);
    return fetched;
  } catch (error) {
    if (!(options.recursive || options.noClobber) || !(error instanceof PlaceTakenError)) throw error;
    note(error.message);
    return undefined;
  }
}

/** Creates a manifest for each tree that is fetched. */
function createManifests(roots: readonly string[]): {
  find: (file: string) => ManifestWriter | undefined;
  finish: (isWhole: boolean) => void;
} {
  const id = randomUUID();
  const writers = new Map(roots.map((root) => [root, createManifestWriter(root, id)]));
  return {
    find: (file) => [...writers].find(([root]) => file.startsWith(`${root}/`))?.[1],
    finish: (isWhole) => writers.forEach((writer) => writer.finish(isWhole)),
  };
}

/** Checks source and target as a fetch does before it writes. An object of a walked tree exists. */
async function checkFetch({ storage }: Context, source: RemotePath, file: string, { recursive: inTree, parents }: Wanted): Promise<void> {
  const makesFolder = parents && !existsSync(dirname(file));
  if (makesFolder) checkFolders(dirname(file));
  const target = inTree || makesFolder ? ({ kind: 'file', file } as const) : findWriteTarget(file);
  if (!inTree) await requireObject(storage, source);
  if (target.kind !== 'file') return;
  checkTarget(target.file, { path: source }, { inTree });
  // The directories of a tree may not exist yet.
  if (!inTree && !makesFolder) accessSync(dirname(target.file), constants.W_OK);
}

/** Lists what would be written. */
async function* rehearse(
  invocation: Context,
  files: ReadonlyMap<RemotePath, string>,
  options: Wanted,
  tally: Tally,
): AsyncGenerator<Rehearsed> {
  for await (const { source, file } of planSources(createEngine(invocation, {}, { bulk: false }), tally, files, invocation, options)) {
    const step = await tally.attempt(printRemotePath(source), async (): Promise<Rehearsed> => {
      const isLeft = options.noClobber && existsSync(file);
      if (!isLeft) await checkFetch(invocation, source, file, options);
      return { action: isLeft ? 'skip' : 'write', from: printRemotePath(source), to: file };
    });
    if (step) yield step;
  }
  tally.finish();
}

/** The local target of the command line: a file, a directory, or undefined for stdout. */
function readTarget(
  { world }: Context,
  words: readonly string[],
  recursive: boolean,
  hasList: boolean,
): { sources: readonly string[]; local: string | undefined } {
  const last = words.at(-1) ?? '';
  if (words.length === 0) throw createMissingPath();
  if (words.length === 1 && !hasList) return { sources: words, local: recursive ? world.cwd : undefined };
  if (last === '-' && recursive)
    throw new UsageError('a tree cannot be written to stdout', {
      hint: `give a directory: cloud stor get -r ${words.slice(0, -1).map(quoteShell).join(' ')} .`,
    });
  return { sources: words.slice(0, -1), local: last === '-' ? undefined : resolvePath(world, last) };
}

const getOptions = {
  recursive: flag('Download directories recursively', { short: 'r' }),
  continue: flag('Append the missing bytes to a file that is the beginning of the object; other files are not changed'),
  noClobber: flag('Do not replace existing files'),
  dryRun: dryRunOption,
  noTargetDirectory,
  parents: flag('Create missing directories of the target', { short: 'p' }),
  modes: flag('Restore the permission bits that put --modes stored'),
  sparse: sparseOption,
  tar: flag('With -r: write a tar archive of all arguments to stdout'),
  withHeaders: flag(`With -r: save types, headers and links in ${manifestName} at the root, for put -r and sync`),
  ...readingNames,
  ...listOption,
  ...filterOptions,
  ...transferOptions,
};

async function fetchFiles(
  invocation: Invocation<Arguments, typeof getOptions>,
  files: ReadonlyMap<RemotePath, string>,
): Promise<Output | undefined> {
  const { options, note } = invocation;
  const only = files.size === 1 && !options.recursive;
  if (options.dryRun) return await showRehearsal(invocation, rehearse(invocation, files, options, createTally(invocation, only)));
  return await runTransfers(
    invocation,
    options,
    { only, bulk: !only, declare: () => declareGet(options, files) },
    { columns: ['path', 'file', { key: 'size', as: 'size' }], id: 'file', fields: ['etag', 'mtime'] },
    async function* (transfers) {
      const { engine, tally } = transfers;
      const steps = planSources(engine, tally, files, invocation, options);
      const manifests = options.withHeaders ? createManifests([...files.values()]) : undefined;
      const work = async (step: FetchStep): Promise<FetchResult> => {
        const manifest = manifests?.find(step.file);
        return {
          step,
          fetched: await tally.attempt(printRemotePath(step.source), () => fetchOne(invocation, transfers, step, options, manifest)),
        };
      };
      const pool = { limit: engine.parallel, signal: engine.signal };
      const memory = createTreeMemory(invocation, options.modes);
      let isWhole = false;
      try {
        for await (const result of (options.recursive ? runOrdered : runPool)(steps, work, pool)) {
          memory.note(result);
          const { fetched } = result;
          if (!fetched) continue;
          if (!options.recursive) note(`${fetched.path} -> ${fetched.file}`);
          const { path, file, size, etag, mtime } = fetched;
          yield { path, file, size, etag, mtime: mtime === undefined ? undefined : new Date(mtime).toISOString() };
        }
        isWhole = tally.failed === 0 && !options.noClobber;
      } finally {
        memory.close();
        manifests?.finish(isWhole);
      }
    },
  );
}

export const get = command({
  summary: 'Download objects and trees, or write an object to stdout',
  description:
    'With one argument, the object is written to stdout. With more, the last argument is TARGET: the file or directory to write to; - is stdout. A file gets its final name only when it is complete and its MD5 matches. To resume an interrupted download, repeat the command (for a tree with -T), or use cloud resume. A target that is a symbolic link is followed; devices and /dev/fd/N receive the bytes as a stream. In trees, existing links, pipes and devices are not replaced. To write several objects to stdout: cloud stor cat.',
  arguments: { path: some('Object or, with -r, directory; also a pattern such as "logs/*.gz"', { values: 'path' }) },
  usage: 'PATH... [TARGET]',
  options: getOptions,
  run: async (invocation) => {
    const { args, options, resumed } = invocation;
    if (resumed) return await fetchFiles(invocation, readFiles(resumed, invocation.account));
    if (options.withHeaders && !options.recursive) throw new UsageError('--with-headers applies to trees', { hint: 'add -r' });
    if (options.continue && options.noClobber) throw createContradiction('--continue', '--no-clobber');
    const hasList = options.pathsFrom !== undefined;
    if (options.tar) {
      checkTar(options);
      return await getTar(invocation, (await readNames(invocation, args.path, options)).paths, options);
    }
    const { sources: words, local } = readTarget(invocation, args.path, options.recursive, hasList);
    // To stdout, a source is written each time it is named.
    const { paths: sources, isMatch } = await (local === undefined ? readAllNames : readNames)(invocation, words, options);
    if (local === undefined) {
      if (options.sparse) throw new UsageError('--sparse applies to files, not to stdout', { hint: 'give a file or directory' });
      if (options.dryRun) throw new UsageError('--dry-run: writing to stdout changes nothing', { hint: 'give a file or directory' });
      const display = await monitorTransfers(invocation, {
        ...options,
        noProgress: options.noProgress || (invocation.world.stdout.isTerminal && options.progress === undefined),
      });
      const fail = (error: unknown, item?: string): Promise<number> => display.pause(() => invocation.fail(error, item));
      const tally = createTally({ world: invocation.world, fail }, sources.length === 1);
      const engine = createEngine(invocation, options, { bulk: false, inOrder: true, monitor: display.monitor });
      async function* write(): AsyncGenerator<Uint8Array> {
        try {
          yield* concatenate(engine, sources, tally);
        } finally {
          display.close(tally.failed);
        }
      }
      return bytes(write());
    }
    if (options.noTargetDirectory && sources.length > 1) throw new UsageError('-T takes a single source');
    const last = args.path.at(-1) ?? '';
    const makesTarget = options.parents && (isMatch || hasList || sources.length > 1 || last.endsWith('/'));
    const intoFolder = !options.noTargetDirectory && (isFolder(local) || makesTarget);
    if (isMatch || hasList) assertDirectory(intoFolder, last, 'mkdir');
    if (!intoFolder && (sources.length > 1 || (last.endsWith('/') && !options.recursive)))
      throw new UsageError(`${last}: no such directory`, { hint: 'to create it: add -p' });
    const files = chooseFiles(sources, local, intoFolder);
    if (options.recursive && intoFolder) await noteNested(invocation, sources, local, files);
    return await fetchFiles(invocation, files);
  },
  examples: [
    { line: 'cloud stor get logs/a.gz | zcat', help: 'Download into a pipe' },
    { line: 'cloud stor get photos/1.jpg photos/2.jpg .', help: 'Download into the current directory' },
    { line: 'cloud stor get -r photos ./photos', help: 'Download a tree, many files concurrently' },
    { line: 'cloud stor get -r photos --tar > photos.tar', help: 'Download a tree as a tar archive' },
  ],
});
