import { spawn } from 'node:child_process';
import type { Writable } from 'node:stream';
import { command, type Context } from '../../cli/command.ts';
import { choice, flag, number, some, text, type Values } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { finishChanges, showRows } from '../../cli/rows.ts';
import { createContradiction, ClosedPipe, InterruptedError, LocalError, UsageError } from '../../base/errors.ts';
import { mapEach } from '../../base/iterate.ts';
import { escapeControl, quoteName } from '../../output/escape.ts';
import { records, texts, type Output } from '../../output/kinds.ts';
import { parseSize } from '../../output/units.ts';
import { createMatcher } from '../../transfer/tree/wildcard.ts';
import { baseName, isRootDirectory, printRemotePath, type RemotePath } from '../../transfer/path.ts';
import { runPool } from '../../base/parallel.ts';
import { quoteShell } from '../../base/quote.ts';
import { createChooser, type Filter } from '../../transfer/sync/tree.ts';
import { removeEntry } from '../../transfer/tree/remove.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { prepareLine } from './exec-line.ts';
import { filterOptions, hasFilter, readFilter, takesRoot } from './filters.ts';
import { readMoment } from './moment.ts';
import { readingNames, readNames } from './names.ts';
import { inspectRoot } from './paths.ts';
import { showRehearsal, type Rehearsed } from './rehearse.ts';

/** An entry that was found. */
export interface Found {
  readonly path: string;
  readonly name: string;
  readonly type: 'directory' | 'object';
  readonly size: number | undefined;
  readonly mtime: string | undefined;
  readonly etag: string | undefined;
}

type Test = (found: Found) => boolean;

/** `+10M` matches larger objects, `-10M` smaller ones, `10M` that exact size. */
function createSizeTest(given: string): Test {
  const [, sign = '', rest = ''] = /^([+-]?)(.*)$/s.exec(given) ?? [];
  const wanted = parseSize(rest);
  return ({ size }) => size !== undefined && (sign === '+' ? size > wanted : sign === '-' ? size < wanted : size === wanted);
}

const findOptions = {
  name: text('Filter by name', { placeholder: 'PATTERN' }),
  type: choice('Filter by type', ['object', 'directory', 'f', 'd'], { placeholder: 'TYPE' }),
  size: text('Filter objects by size; +SIZE larger, -SIZE smaller', { placeholder: 'SIZE' }),
  newer: text('Changed after this time; a date, or how long ago', { placeholder: 'TIME' }),
  older: text('Changed before this time; a date, or how long ago', { placeholder: 'TIME' }),
  maxdepth: number('Maximum depth; 0 is the path itself'),
  exec: text('Run a shell command for each match; the path is {} as a separate argument, "$1" and $CLOUD_PATH', {
    placeholder: 'COMMAND',
  }),
  delete: flag('Delete the matches'),
  dryRun: flag('With --delete: only show what would be deleted', { short: 'n' }),
  yes: flag('Do not ask before deleting', { short: 'y' }),
  print0: flag('Terminate paths with NUL instead of a newline', { short: '0' }),
  ...filterOptions,
  ...readingNames,
};

function listTests({ name, type, size, newer, older }: Values<typeof findOptions>, now: number): Test[] {
  const tests: Test[] = [];
  if (name !== undefined) {
    const matches = createMatcher(name);
    tests.push((found) => matches(found.name));
  }
  if (type !== undefined) tests.push((found) => found.type.startsWith(type === 'f' ? 'o' : type));
  if (size !== undefined) tests.push(createSizeTest(size));
  if (newer !== undefined) {
    const since = readMoment(newer, '--newer', now);
    tests.push(({ mtime = '' }) => Date.parse(mtime) > since);
  }
  if (older !== undefined) {
    const until = readMoment(older, '--older', now);
    tests.push(({ mtime = '' }) => Date.parse(mtime) < until);
  }
  return tests;
}

/** The root of a search as a search result. */
async function findRoot({ storage }: Context, path: RemotePath): Promise<Found> {
  const { headers, type } = await inspectRoot(storage, path);
  const modified = Date.parse(headers['last-modified'] ?? '');
  const mtime = Number.isNaN(modified) ? undefined : new Date(modified).toISOString();
  const size = type === 'object' ? Number(headers['content-length'] ?? 0) : undefined;
  return { path: printRemotePath(path), name: baseName(path), type, size, mtime, etag: headers['etag'] };
}

interface Search {
  readonly maxDepth: number | undefined;
  /** True to yield directories after their entries, and no root directory of an account: they are to be deleted. */
  readonly isUpward: boolean;
  readonly filter: Filter;
  /** True if the root was an argument, so that the filter applies to its name. */
  readonly isNamed: boolean;
  /** True if there are no other roots: the error of a missing one is thrown directly. */
  readonly isOnly: boolean;
}

/** Finds entries. With `isUpward`, directories in which something was left out are not found, so that they are not deleted with it. */
async function* search(
  context: Context,
  root: RemotePath,
  { maxDepth, isUpward, filter, isNamed, isOnly }: Search,
  tally: Tally,
): AsyncGenerator<Found> {
  const own = await (isOnly ? findRoot(context, root) : tally.attempt(printRemotePath(root), () => findRoot(context, root)));
  if (!own || (isNamed && !takesRoot(filter, root, own.type))) return;
  const takesPart = createChooser(filter);
  const isWanted = (type: Found['type']): boolean => type === 'object' || !filter.isChoosy;
  if (!isUpward && isWanted(own.type)) yield own;
  if (own.type === 'directory' && maxDepth !== 0) {
    const visits = walkRemote(context.storage, root, {
      ...(maxDepth !== undefined && { maxDepth }),
      prune: filter.prunes,
      onError: tally.fail,
    });
    const unwanted = isUpward ? 'enter' : 'leave';
    for await (const { kind, entry, path, rel } of visits) {
      const { name, type, size, mtime, etag } = entry;
      const isTaken = takesPart({ kind, rel });
      if (isTaken && kind !== unwanted && isWanted(type)) yield { path: printRemotePath(path), name, type, size, mtime, etag };
    }
  }
  const goes = own.type === 'object' || takesPart({ kind: 'leave', rel: '' });
  if (isUpward && goes && isWanted(own.type) && !isRootDirectory(root)) yield own;
}

/** Runs a shell command for an entry; `out` receives its stdout. The path is passed as `$1` and `$CLOUD_PATH`, and never becomes part of the command's text. */
function runShell({ world }: Context, out: Writable, line: string, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let lost: Error | undefined;
    const child = spawn('/bin/sh', ['-c', line, 'sh', path], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...world.env, CLOUD_PATH: path },
      cwd: world.cwd,
      signal: world.interrupted,
    });
    const lose = (error: Error): void => {
      lost = error;
      // Without a reader of its output the command still has to end.
      child.stdout.resume();
    };
    out.on('error', lose);
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(world.stderr.stream, { end: false });
    child.on('error', (error) => reject(world.interrupted.aborted ? new InterruptedError('interrupted', { cause: error }) : error));
    child.on('close', (code, signal) => {
      out.off('error', lose);
      if (lost) reject('code' in lost && lost.code === 'EPIPE' ? new ClosedPipe('the output is closed', { cause: lost }) : lost);
      else if (code === 0) resolve();
      else reject(new LocalError(`the command for ${path} ended with ${code === null ? String(signal) : `exit code ${code}`}`));
    });
  });
}

/** Prints a path as a line, quoted if it has newlines; with `isNull` unquoted and NUL-terminated. */
function printPath({ path }: Found, isTerminal: boolean, isNull: boolean): string {
  if (isNull) return `${path}\0`;
  const line = quoteName(path);
  return `${isTerminal ? escapeControl(line) : line}\n`;
}

/** @throws {UsageError} where nothing selects what is deleted in a root directory of an account */
function checkRoots(roots: readonly RemotePath[], isSelective: boolean): void {
  const root = roots.find(isRootDirectory);
  if (root === undefined || isSelective) return;
  throw new UsageError(`--delete without a test would delete everything in ${printRemotePath(root)}`, {
    hint: `if this is intended: cloud stor rm -r --glob ${quoteShell(`${printRemotePath(root)}/*`)}`,
  });
}

/** Deletes what was found, or shows it in a dry run. Directories are not removed before their entries. */
async function deleteFound(
  invocation: Context,
  found: AsyncIterable<Found>,
  { type, dryRun, yes }: Values<typeof findOptions>,
  tally: Tally,
): Promise<Output | undefined> {
  async function* rehearse(): AsyncGenerator<Rehearsed> {
    for await (const { path } of found) yield { action: 'delete', to: path };
    tally.finish();
  }
  if (dryRun) return await showRehearsal(invocation, rehearse());
  if (!yes) await confirm(invocation.world, 'Delete all matches?');
  const engine = createEngine(invocation, {}, { bulk: true });
  const work = async (one: Found): Promise<Found | undefined> => {
    const [, account = '', ...parts] = one.path.split('/');
    return await tally.attempt(one.path, async () => {
      // An object that has changed since might not match any more.
      await removeEntry(engine, { account, path: parts.join('/') }, one.type === 'object' ? one.etag : undefined);
      return one;
    });
  };
  async function* remove(): AsyncGenerator<Found> {
    const limit = type === 'object' || type === 'f' ? engine.parallel : 1;
    for await (const removed of runPool(found, work, { limit, signal: engine.signal })) if (removed) yield removed;
    tally.finish();
  }
  const rows = finishChanges(invocation, remove());
  return await showRows(invocation, rows, { columns: ['type', 'path'], id: 'path' }, ({ path }) => `Deleted ${path}`);
}

function isPlain({ global }: Context): boolean {
  return global.output === undefined && !global.json && global.columns === undefined && global.sort === undefined && !global.long;
}

export const find = command({
  summary: 'Find directories and objects',
  arguments: { path: some('Path to search; default your stor directory', { values: 'path' }) },
  options: findOptions,
  run: async (invocation): Promise<Output | undefined> => {
    const { args, options, world } = invocation;
    if (options.delete && options.exec !== undefined) throw createContradiction('--delete', '--exec');
    if (options.dryRun && !options.delete) throw new UsageError('--dry-run applies to --delete');
    if ((options.delete || options.exec !== undefined) && args.path.includes(''))
      throw new UsageError('a path is empty', { hint: 'your stor directory: stor:' });
    const exec = options.exec === undefined ? undefined : prepareLine(options.exec);
    const tests = listTests(options, world.now());
    // With --delete, a path is literal unless --glob is set.
    const literal = options.literal || (options.delete && !options.glob);
    const words = args.path.length === 0 ? [''] : args.path;
    const { paths: roots } = await readNames(invocation, words, { glob: options.glob, literal });
    const isOnly = roots.length === 1;
    if (options.delete) checkRoots(roots, tests.length > 0 || hasFilter(options));
    const tally = createTally(invocation, isOnly && !options.delete && exec === undefined);
    const filter = await readFilter(invocation, options);
    const how = { maxDepth: options.maxdepth, isUpward: options.delete, filter, isNamed: args.path.length > 0, isOnly };
    async function* found(): AsyncGenerator<Found> {
      for (const root of roots) {
        for await (const one of search(invocation, root, how, tally)) if (tests.every((test) => test(one))) yield one;
      }
      if (!options.delete && exec === undefined) tally.finish();
    }
    if (exec !== undefined) {
      const out = world.stdout.stream;
      for await (const { path } of found()) await tally.attempt(path, () => runShell(invocation, out, exec, path));
      tally.finish();
      return undefined;
    }
    if (options.delete) return await deleteFound(invocation, found(), options, tally);
    if (isPlain(invocation)) return texts(mapEach(found(), (one) => printPath(one, world.stdout.isTerminal, options.print0)));
    return records(found(), {
      columns: ['type', { key: 'size', as: 'size' }, { key: 'mtime', as: 'time' }, 'path'],
      id: 'path',
      fields: ['name', 'etag'],
    });
  },
  examples: [
    { line: 'cloud stor find logs --name "*.gz" --size +10M', help: 'Large archives' },
    { line: 'cloud stor find --type object --older 90d --exec "cloud stor stat {} -o name"', help: 'Run a command for each' },
    { line: `cloud stor find logs --name "*.log" --exec 'cloud stor mv "$1" "$1.old"'`, help: 'Use the path as part of an argument' },
    { line: 'cloud stor find logs --name "*.tmp" --type object --delete -y', help: 'Find and delete' },
  ],
});
