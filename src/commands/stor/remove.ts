import { command, type Context } from '../../cli/command.ts';
import { flag, some } from '../../cli/parameters.ts';
import { confirm } from '../../cli/prompt.ts';
import { isForbidden } from '../../cli/shapes.ts';
import { withHint } from '../../base/error-copies.ts';
import { ApiError, LocalError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import { type Row } from '../../output/kinds.ts';
import type { Entry } from '../../config/journal-entry.ts';
import type { Work } from '../../config/journal-file.ts';
import { silent, type Engine } from '../../transfer/engine.ts';
import { isRootDirectory, joinPath, printRemotePath, quoteRemotePath, readRemotePath, type RemotePath } from '../../transfer/path.ts';
import { createChooser, type Filter } from '../../transfer/sync/tree.ts';
import { removeEntry, removeTree } from '../../transfer/tree/remove.ts';
import { walkRemote } from '../../transfer/tree/walk.ts';
import { createEngine } from './engine.ts';
import { createTally, type Tally } from './tally.ts';
import { transferOptions } from './transfer-options.ts';
import { filterOptions, hasFilter, readFilter, takesRoot } from './filters.ts';
import { changingNames, listOption, listWords } from './names.ts';
import { listFirstNames } from './nesting.ts';
import { createRecorder, recordWork, type Recorder } from './recorder.ts';
import { dropCovered, findTargets, look, type Target } from './remove-targets.ts';
import { dryRunOption, showRehearsal, type Rehearsed } from './rehearse.ts';
import { showRows } from '../../cli/rows.ts';

function describe(targets: readonly Target[], recursive: boolean, isFiltered: boolean): string {
  const inside = isFiltered ? ' (only entries that the filters select)' : ' and everything in it';
  const shown = targets.slice(0, 5).map(({ path, type }) => `${printRemotePath(path)}${type === 'directory' && recursive ? inside : ''}`);
  const more = targets.length > shown.length ? ` and ${targets.length - shown.length} more` : '';
  return shown.join(', ') + more;
}

/**
 * Checks before anything is deleted or confirmed.
 * @param gone paths that are deleted before
 * @throws {ApiError} for a directory that is not empty
 */
async function assertEmpty(
  context: Pick<Context, 'storage'>,
  { path, type }: Target,
  gone: ReadonlySet<string> = new Set(),
): Promise<void> {
  if (type !== 'directory') return;
  const names = await listFirstNames(context, path).catch((error: unknown) => {
    // A user who may not list may still delete: then the service reports the error.
    if (isForbidden(error)) return [];
    throw error;
  });
  const isFull = names.some((name) => !gone.has(printRemotePath(joinPath(path, name))));
  if (isFull) throw explainFull(new ApiError(400, 'DirectoryNotEmpty', ''), path);
}

/** Adds a hint how to remove a directory that is not empty. */
function explainFull(error: unknown, path: RemotePath): unknown {
  if (!(error instanceof ApiError) || error.code !== 'DirectoryNotEmpty') return error;
  return withHint(error, `to delete it recursively: cloud stor rm -r ${quoteRemotePath(path)}`, `${printRemotePath(path)} is not empty`);
}

/** A deleted object or directory, with the number of entries of a tree. */
interface Removed extends Row {
  readonly path: string;
  readonly type: Target['type'];
  readonly entries: number;
  /** True for a directory that stays, because the filters left out something in it. */
  readonly remains?: true;
}

interface Removal {
  readonly recursive: boolean;
  readonly filter: Filter;
  /** Entries created after this time stay, because nobody was asked about them; milliseconds since the epoch. */
  readonly until?: number | undefined;
}

/** The journal entry of an `rm`. `until` is the time when the targets were inspected: nobody was asked about later entries. */
function declareRemoval(options: object, targets: readonly Target[]): Work {
  const until = Math.max(...targets.map(({ seen }) => seen));
  return {
    command: 'stor rm',
    kind: 'remove',
    args: { path: [] },
    options: { ...options, yes: true },
    placed: targets.map(({ path }) => [printRemotePath(path), '']),
    facts: Number.isNaN(until) ? {} : { until },
  };
}

/** The targets that an earlier run has not deleted. */
async function findRest(context: Context, { placed }: Entry): Promise<Target[]> {
  const rest = [];
  for (const [path] of placed) rest.push(await look(context, readRemotePath(path, context.account)));
  return rest.filter((target) => target !== undefined);
}

/** Deletes an object, an empty directory or a tree; undefined when that failed and was reported. */
async function removeTarget(
  engine: Engine,
  { path, type }: Target,
  { recursive, filter, until }: Removal,
  tally: Tally,
  recorder: Recorder,
): Promise<Removed | undefined> {
  const shown = printRemotePath(path);
  if (type === 'directory' && recursive) {
    let entries = 0;
    let isGone = false;
    const before = tally.failed;
    const report = {
      removed: (at: RemotePath) => {
        entries += 1;
        isGone ||= at === path;
        recorder.count();
      },
      failed: tally.fail,
      kept: (at: RemotePath) =>
        void tally.fail(new LocalError(`${printRemotePath(at)} was created or changed after the deletion began: kept`)),
    };
    await removeTree(engine, path, filter, report, until);
    if (tally.failed === before) tally.pass();
    return tally.failed === before ? { path: shown, type, entries, ...(!isGone && { remains: true }) } : undefined;
  }
  return await tally.attempt(shown, async () => {
    try {
      await removeEntry(engine, path);
    } catch (error) {
      throw explainFull(error, path);
    }
    recorder.count();
    return { path: shown, type, entries: 1 };
  });
}

async function* rehearse(
  engine: Engine,
  targets: readonly Target[],
  { recursive, filter }: Removal,
  tally: Tally,
  finish: () => void,
): AsyncGenerator<Rehearsed> {
  const gone = new Set<string>();
  for (const target of targets) {
    const { path, type } = target;
    const shown = printRemotePath(path);
    if (type === 'directory' && recursive) {
      const takesPart = createChooser(filter);
      for await (const visit of walkRemote(engine.storage, path, { prune: filter.prunes }))
        if (takesPart(visit) && visit.kind !== 'enter') yield { action: 'delete', to: printRemotePath(visit.path) };
      if (!takesPart({ kind: 'leave', rel: '' })) continue;
    } else if ((await tally.attempt(shown, async () => assertEmpty(engine, target, gone).then(() => target))) === undefined) continue;
    gone.add(shown);
    yield { action: 'delete', to: shown };
  }
  finish();
  tally.finish();
}

function describeRemoved({ path, type, entries, remains }: Removed, recursive: boolean): string {
  if (remains) return entries === 0 ? `Nothing to delete in ${path}` : `Deleted ${entries} entries in ${path}`;
  return `Deleted ${path}${type === 'directory' && recursive ? ` (${entries} entries)` : ''}`;
}

/** Removes targets whose names the filters leave out. */
function leaveOut({ note }: Context, targets: readonly Target[], filter: Filter): Target[] {
  return targets.filter(({ path, type }) => {
    const isTaken = takesRoot(filter, path, type);
    if (!isTaken) note(`Skipped ${printRemotePath(path)}`);
    return isTaken;
  });
}

export const remove = command({
  summary: 'Delete objects, empty directories and, with -r, trees',
  aliases: ['delete'],
  description:
    'Paths are literal. To use patterns, add --glob: it also expands brackets and braces. Entries that match --exclude are kept, and so are the directories above them. With --include, directories that become empty are deleted.',
  arguments: { path: some('Object or directory; with --glob also a pattern such as "logs/*.tmp"', { values: 'path' }) },
  options: {
    ...changingNames,
    ...listOption,
    missingOk: flag('Ignore missing paths', { short: 'f' }),
    recursive: flag('Delete directories recursively', { short: 'r' }),
    yes: flag('Do not ask', { short: 'y' }),
    dryRun: dryRunOption,
    ...filterOptions,
    parallel: transferOptions.parallel,
  },
  run: async (invocation) => {
    const { args, options, note, world, resumed } = invocation;
    const until = resumed?.facts['until'];
    const filter = await readFilter(invocation, options, options.recursive);
    const removal = { recursive: options.recursive, filter, until: typeof until === 'number' ? until : undefined };
    const words = resumed ? [] : await listWords(invocation, args.path, options);
    const search = createTally(invocation, words.length === 1);
    const found = resumed
      ? await findRest(invocation, resumed)
      : dropCovered(await findTargets(invocation, words, options, search), options.recursive);
    const targets = leaveOut(invocation, found, removal.filter);
    if (targets.length === 0) search.finish();
    const engine = createEngine(invocation, options, { bulk: options.recursive || targets.length > 1 });
    const rootless = targets.find(({ path }) => isRootDirectory(path));
    if (rootless)
      throw new UsageError(`${printRemotePath(rootless.path)} cannot be deleted: it is a root directory of the account`, {
        hint: `to delete its entries: cloud stor rm -r --glob ${quoteShell(`${printRemotePath(rootless.path)}/*`)}`,
      });
    const tally = createTally(invocation, targets.length === 1 && search.failed === 0 && !options.recursive);
    const countSearch = (): void => {
      for (let at = 0; at < search.failed; at += 1) tally.skip();
    };
    if (options.dryRun) return await showRehearsal(invocation, rehearse(engine, targets, removal, tally, countSearch));
    const [only] = targets;
    if (!options.yes && !options.recursive && only && targets.length === 1) await assertEmpty(invocation, only);
    if (!options.yes && targets.length > 0) await confirm(world, `Delete ${describe(targets, options.recursive, hasFilter(options))}?`);
    const isLong = targets.length > 1 || (options.recursive && targets.some(({ type }) => type === 'directory'));
    async function* remove(recorder: Recorder): AsyncGenerator<Removed> {
      for (const target of targets) {
        const removed = await removeTarget(engine, target, removal, tally, recorder);
        if (!removed) continue;
        note(describeRemoved(removed, options.recursive));
        yield removed;
      }
      countSearch();
    }
    const recorder = createRecorder(invocation, () => declareRemoval(options, targets), silent);
    const removals = recordWork(recorder, isLong, tally, () => remove(recorder));
    return await showRows(invocation, removals, { columns: ['type', 'entries', 'path'], id: 'path', fields: ['remains'] });
  },
  examples: [
    { line: 'cloud stor rm logs/a.gz', help: 'Asks first' },
    { line: 'cloud stor rm -y --glob "logs/*.tmp" old', help: 'By pattern, and an empty directory' },
    { line: 'cloud stor find logs --older 90d -0 | cloud stor rm -yf --paths-from -', help: 'Paths that another command lists' },
    { line: 'cloud stor rm -ry photos', help: 'A tree, without confirmation' },
    { line: 'cloud stor rm -ry logs --include "*.gz" --exclude keep/', help: 'Part of a tree' },
  ],
});
