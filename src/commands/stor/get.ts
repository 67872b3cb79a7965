import { statSync } from 'node:fs';
import { join } from 'node:path';
import { command, type Context } from '../../cli/command.ts';
import { resolvePath } from '../../cli/input.ts';
import { flag, many } from '../../cli/parameters.ts';
import { isSystemError, UsageError } from '../../errors.ts';
import { bytes } from '../../output/kinds.ts';
import { quoteShell } from '../../quote.ts';
import { downloadObject } from '../../transfer/download.ts';
import type { Engine } from '../../transfer/engine.ts';
import { fetchFile, type Fetched } from '../../transfer/fetch-file.ts';
import { inspect } from '../../transfer/inspect.ts';
import { baseName, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { runPool } from '../../transfer/pool.ts';
import { planGet, type GetStep } from '../../transfer/trees.ts';
import { walkRemote } from '../../transfer/walk.ts';
import { createEngine, createTally, transferOptions, type Tally } from './engine.ts';
import { monitorTransfers } from './monitor.ts';
import { missing, readPaths } from './paths.ts';
import { dryRunOption } from './rehearse.ts';
import { runTransfers } from './show.ts';
import { countAhead } from './totals.ts';

/** Objects one after the other, as one stream. */
async function* concatenate(engine: Engine, paths: readonly RemotePath[], close: () => void): AsyncGenerator<Uint8Array> {
  try {
    for (const path of paths) yield* downloadObject(engine, path);
  } finally {
    close();
  }
}

export const cat = command({
  summary: 'Write objects to stdout, one after the other',
  arguments: { path: many('Object, or a pattern such as "logs/*.gz"', { values: 'path' }) },
  options: { bwlimit: transferOptions.bwlimit },
  run: async (invocation) => {
    const paths = await readPaths(invocation, invocation.args.path);
    return bytes(concatenate(createEngine(invocation, invocation.options, { bulk: false, inOrder: true }), paths, () => undefined));
  },
  examples: [
    { line: 'cloud stor cat notes.txt', help: 'Show a text' },
    { line: 'cloud stor cat "logs/2024-*.gz" | zcat', help: 'Several, in order' },
  ],
});

/** Whether a local path is there and a directory. */
export function isFolder(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch (error) {
    if (isSystemError(error) && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return false;
    throw error;
  }
}

/** The local file for a remote name inside a folder. A hostile service cannot name a file outside of it. */
function chooseFile(source: RemotePath, folder: string): string {
  const name = baseName(source);
  if (name === '.' || name === '..' || name.includes('\0'))
    throw new UsageError(`${printRemotePath(source)}: "${name}" is not written as a file`);
  return join(folder, name);
}

/** Where each source goes. @throws {UsageError} when two would be the same file */
function chooseFiles(sources: readonly RemotePath[], local: string, intoFolder: boolean): Map<RemotePath, string> {
  const files = new Map<RemotePath, string>();
  const owners = new Map<string, RemotePath>();
  for (const source of sources) {
    const file = intoFolder ? chooseFile(source, local) : local;
    const other = owners.get(file);
    if (other) throw new UsageError(`${printRemotePath(other)} and ${printRemotePath(source)} would both be written to ${file}`);
    owners.set(file, source);
    files.set(source, file);
  }
  return files;
}

interface Wanted {
  readonly recursive: boolean;
  readonly noClobber: boolean;
  readonly dryRun: boolean;
}

/** The files to write for all sources: trees are walked, and several files are fetched while the walk goes on. */
async function* planSources(
  engine: Engine,
  tally: Tally,
  files: ReadonlyMap<RemotePath, string>,
  { recursive, dryRun }: Wanted,
): AsyncGenerator<GetStep> {
  if (!recursive) engine.monitor.expect(files.size, 0);
  for (const [source, file] of files) {
    if (!recursive) {
      yield { source, file, size: undefined };
      continue;
    }
    const found = await tally.prepare(printRemotePath(source), async () => {
      const there = await inspect(engine.storage, source);
      if (there === undefined) throw missing(source);
      return there;
    });
    if (found?.type === 'object') yield { source, file, size: Number(found.headers['content-length'] ?? NaN) };
    else if (found) {
      if (!dryRun) void countAhead(engine, walkRemote(engine.storage, source, { onError: () => undefined }));
      yield* planGet(engine, source, file, { onError: (error) => tally.fail(error), makesNothing: dryRun });
    }
  }
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Undefined for a file of a tree that is left alone. */
async function fetchOne(
  engine: Engine,
  { source, file, size }: GetStep,
  options: Wanted & { continue: boolean; modes: boolean },
): Promise<Fetched | undefined> {
  if (options.noClobber && isThere(file)) {
    if (options.recursive) return undefined;
    throw new UsageError(`${file} exists: left alone`);
  }
  return await fetchFile(engine, source, file, {
    size: Number.isNaN(size) ? undefined : size,
    continues: options.continue,
    modes: options.modes,
    inTree: options.recursive,
  });
}

/** Shows what would be written. */
async function rehearse(invocation: Context, files: ReadonlyMap<RemotePath, string>, options: Wanted, tally: Tally): Promise<undefined> {
  for await (const { source, file } of planSources(createEngine(invocation, {}, { bulk: false }), tally, files, options)) {
    await tally.attempt(printRemotePath(source), async () => {
      if (!options.recursive && !(await inspect(invocation.storage, source))) throw missing(source);
      const isLeft = options.noClobber && isThere(file);
      invocation.note(isLeft ? `${file} exists: it would be left alone` : `Would write ${printRemotePath(source)} -> ${file}`);
    });
  }
  tally.finish();
}

/** The target of the command line: a file, a folder, or stdout. */
function readTarget(
  { world }: Context,
  words: readonly string[],
  recursive: boolean,
): { sources: readonly string[]; local: string | undefined } {
  const last = words.at(-1) ?? '';
  if (words.length === 1) return { sources: words, local: recursive ? world.cwd : undefined };
  if (last === '-' && recursive) throw new UsageError('a tree cannot be written to stdout', { hint: 'give a directory' });
  return { sources: words.slice(0, -1), local: last === '-' ? undefined : resolvePath(world, last) };
}

export const get = command({
  summary: 'Read an object to stdout, or objects and trees into files',
  description:
    'With one argument the object goes to stdout. With more, the last argument is the file or directory to write to; - is stdout. A file gets its name only when it is complete and its MD5 is right; the same command again goes on with a large file that was interrupted. To write several objects to stdout: cloud stor cat.',
  arguments: { path: many('Object or, with -r, directory; or a pattern such as "logs/*.gz"', { values: 'path' }) },
  usage: 'PATH... [FILE|DIRECTORY|-]',
  options: {
    recursive: flag('Directories with everything in them', { short: 'r' }),
    continue: flag('Take a file that is there and shorter as the beginning, and fetch the rest'),
    noClobber: flag('Leave files alone that exist'),
    dryRun: dryRunOption,
    modes: flag('Give files the permission bits that were kept with put --modes'),
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    if (options.continue && options.noClobber) throw new UsageError('--continue and --no-clobber contradict each other');
    const { sources: words, local } = readTarget(invocation, args.path, options.recursive);
    const sources = await readPaths(invocation, words);
    if (local === undefined) {
      if (options.dryRun) throw new UsageError('--dry-run: what goes to stdout changes nothing', { hint: 'give a file or directory' });
      const display = await monitorTransfers(invocation, options.progress ?? (invocation.world.stdout.isTerminal ? false : undefined));
      return bytes(
        concatenate(createEngine(invocation, options, { bulk: false, inOrder: true, monitor: display.monitor }), sources, () =>
          display.close(0),
        ),
      );
    }
    const intoFolder = isFolder(local);
    const last = args.path.at(-1) ?? '';
    if (!intoFolder && (sources.length > 1 || (last.endsWith('/') && !options.recursive)))
      throw new UsageError(`${last}: no such directory`, { hint: `mkdir ${quoteShell(last)}` });
    const files = chooseFiles(sources, local, intoFolder);
    const only = sources.length === 1 && !options.recursive;
    if (options.dryRun) return await rehearse(invocation, files, options, createTally(invocation, only));
    return await runTransfers(
      invocation,
      options,
      { only, bulk: !only },
      { columns: ['path', 'file', { key: 'size', as: 'size' }], id: 'file', fields: ['etag', 'mtime'] },
      async function* ({ engine, tally }) {
        const steps = planSources(engine, tally, files, options);
        const work = (step: GetStep): Promise<Fetched | undefined> =>
          tally.attempt(printRemotePath(step.source), () => fetchOne(engine, step, options));
        for await (const fetched of runPool(steps, work, { limit: engine.parallel, signal: engine.signal })) {
          if (!fetched) continue;
          if (!options.recursive) note(`${fetched.path} -> ${fetched.file}`);
          yield fetched;
        }
      },
    );
  },
  examples: [
    { line: 'cloud stor get logs/a.gz | zcat', help: 'Into a pipe' },
    { line: 'cloud stor get photos/1.jpg photos/2.jpg .', help: 'Into files of this folder' },
    { line: 'cloud stor get -r photos ./photos', help: 'A tree, many files at once' },
  ],
});
