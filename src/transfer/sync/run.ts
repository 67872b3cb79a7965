import { join, relative } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { Folder } from '../tree/folders.ts';
import type { LinkPolicy } from '../local/links.ts';
import { NoPartError, type SkipReason } from '../local/walk.ts';
import { runOrdered, runPool } from '../../base/parallel.ts';
import { joinPath, type RemotePath } from '../path.ts';
import { betweenServices, type Between } from './between.ts';
import { copyStep, decideCopy, decideRemoval, locate } from './decide.ts';
import { findUnchanged, type Task } from './compare.ts';
import { createFolders, executeStep, type CopyOptions, type Done, type Folders } from './execute.ts';
import { findReasonToKeep, type Kept } from './keep.ts';
import { keepHeaders } from './keep-headers.ts';
import { createInsideCheck } from './plan.ts';
import { createMemoryWriter, readMemory, type Known } from './memory.ts';
import { mergeSides, nothing, type Pair } from './merge.ts';
import type { Step } from './steps.ts';
import { createRemovals, type Removals } from './removals.ts';
import { engineAt, listItems, type Filter, type Item } from './tree.ts';

/** Receives failures. */
export interface SyncReport {
  /** Runs work for a path; on failure, reports it and returns undefined. */
  attempt<T>(rel: string, work: () => Promise<T>): Promise<T | undefined>;
  readonly fail: (error: unknown, item?: string | RemotePath) => Promise<void>;
  /** Counts a path for which nothing had to be done. */
  pass(): void;
  /** Counts a path that is skipped because of a failure already reported. */
  skip(): void;
}

export interface SyncOptions {
  readonly task: Task;
  readonly filter: Filter;
  /** Remove entries that exist only on the changed side. */
  readonly deletes: boolean;
  /** Only report the steps. */
  readonly dryRun: boolean;
  /** True if the changed side does not exist yet. */
  readonly isEmpty: boolean;
  readonly copy: CopyOptions;
  /** File with what earlier runs learnt; absent: nothing is remembered. */
  readonly memory: string | undefined;
  /** True if what this run learns is written to `memory`. */
  readonly remembers: boolean;
  /** Makes the names of temporary files unique to this run. */
  readonly id: string;
  readonly report: SyncReport;
  readonly links: LinkPolicy;
  /** Called for entries that are left out, or left in place, on purpose. */
  readonly onSkip: (name: string, reason: SkipReason | Kept) => void;
}

/** A pair, with the decisions made when it was listed. */
interface Job {
  readonly pair: Pair;
  readonly folder: Folder | undefined;
  readonly removal: Step | undefined;
  readonly deletes: boolean;
}

interface Result {
  readonly step?: Step | undefined;
  readonly known?: Known | undefined;
}

/** The mutable state of a run. */
interface State {
  /** Set to false when the source could not be read completely: entries that seem to be missing may exist. */
  deletes: boolean;
  /** A directory that cannot be copied: its entries are skipped. */
  blocked: string | undefined;
  readonly emptied: Step[];
  readonly late: Step[];
  /** Directories that are not removed because something in them stays. */
  readonly stays: Set<string>;
}

/**
 * True for entries that cannot be synced and stay as they are, and for entries that are gone. A step that would replace the former fails by
 * itself.
 */
function isHarmless(error: unknown): boolean {
  return error instanceof NoPartError || (isSystemError(error) && error.code === 'ENOENT');
}

function isBelow(rel: string, directory: string | undefined): boolean {
  return directory !== undefined && rel.startsWith(`${directory}/`);
}

/** The directory that has to be created for a pair: the one that the pair is, or the one that its file is stored in. */
function findFolder(folders: Folders, { to }: Task, { rel, from, to: there }: Pair, filter: Filter): Folder | undefined {
  if (to.kind !== 'remote' || !from) return undefined;
  const path = { account: to.root.account, path: `${to.root.path}/${rel}` };
  if (from.kind === 'file' || there?.kind === 'directory') return folders.find(path);
  const folder = folders.add(path, there?.kind === 'file' ? { etag: there.etag } : undefined);
  return filter.isChoosy ? undefined : folder;
}

/** The shared state of one run. */
interface Run {
  readonly engine: Engine;
  readonly options: SyncOptions;
  /** Copies from another service. */
  readonly between: Between | undefined;
  readonly state: State;
  readonly folders: Folders;
  readonly removals: Removals<Job>;
  readonly assertInside: (step: Step) => void;
  /** Local directories known to have their exact names. */
  readonly verified: Set<string>;
}

/** Keeps the directories above an entry that stays. */
function keepAbove({ stays }: State, rel: string): void {
  for (let at = rel.lastIndexOf('/'); at > 0; at = rel.lastIndexOf('/', at - 1)) stays.add(rel.slice(0, at));
}

/** The removal that a pair needs, unless the item that seems to be missing at the source may exist there. */
async function decideRemovalSafely({ options, state, verified }: Run, pair: Pair): Promise<Step | undefined> {
  const { task, report, onSkip } = options;
  const removal = decideRemoval(task, pair);
  if (removal === undefined || pair.from !== undefined || task.from.kind !== 'local') return removal;
  try {
    const kept = findReasonToKeep(task.from.root, pair.rel, verified);
    if (kept === undefined) return removal;
    onSkip(pair.rel, kept);
  } catch (error) {
    await report.fail(error, pair.rel);
  }
  state.stays.add(pair.rel);
  keepAbove(state, pair.rel);
  return undefined;
}

function listPairs({ engine, options, state, removals }: Run): AsyncGenerator<Pair> {
  const { task, filter, report, links, onSkip, isEmpty, memory } = options;
  const onError = async (error: unknown, directory?: RemotePath): Promise<void> => {
    state.deletes = false;
    await report.fail(error, directory);
  };
  const from = listItems(engine, task.from, { filter, onError, onLeave: removals.leave, links, onSkip });
  // Entries of the changed side that cannot be listed would seem to be missing, so an error here ends the run.
  const to = isEmpty
    ? nothing<Item>()
    : listItems(engine, task.to, {
        filter,
        onError: (error) => {
          if (!isHarmless(error)) throw error;
        },
        onFiltered: (rel) => keepAbove(state, rel),
        links,
        onSkip: (file) => keepAbove(state, task.to.kind === 'local' ? relative(task.to.root, file) : file),
      });
  return mergeSides(from, to, memory === undefined ? [] : readMemory(memory));
}

async function* listJobs(run: Run): AsyncGenerator<Job> {
  const { options, state, folders, removals } = run;
  const { task, filter, dryRun, report } = options;
  for await (const pair of listPairs(run)) {
    const ready = removals.reach(pair.rel);
    if (state.deletes) yield* ready;
    if (pair.from?.kind === 'directory') removals.enter(pair.rel);
    if (isBelow(pair.rel, state.blocked)) {
      if (pair.from?.kind === 'file') report.skip();
      continue;
    }
    const { deletes } = state;
    const removal = deletes ? await decideRemovalSafely(run, pair) : undefined;
    if (pair.from?.kind === 'directory' && pair.to?.kind === 'file' && !deletes) state.blocked = pair.rel;
    const folder = dryRun ? undefined : findFolder(folders, task, pair, filter);
    if (removal?.action === 'rmdir') state.emptied.push(removal);
    const job = { pair, folder, removal, deletes };
    if (pair.from !== undefined) yield job;
    // A local directory is read completely before its first entry arrives.
    else if (removal?.action === 'delete' && (task.from.kind === 'local' || !removals.hold(job))) yield job;
  }
  if (state.deletes) yield* removals.end();
}

async function execute({ engine, options, between, assertInside }: Run, step: Step, folder?: Folder): Promise<Done> {
  if (options.dryRun) return {};
  // A link may have taken the place of a file or directory since it was listed.
  assertInside(step);
  return await executeStep(engine, step, folder, { ...options.copy, between });
}

/** Makes an object of the target a link if its source is one, or if the manifest says that its file was one. */
async function relink({ engine, options, between }: Run, pair: Pair): Promise<Result | undefined> {
  const { task, dryRun, copy } = options;
  const { from, to, rel } = pair;
  if (from?.kind !== 'file' || task.to.kind !== 'remote') return undefined;
  if (task.from.kind === 'local' && copy.manifest && !dryRun) {
    const isLinked = await copy.manifest.relink(engine, join(task.from.root, rel), joinPath(task.to.root, rel), to?.etag ?? '');
    return isLinked ? { step: { ...copyStep(task, pair, to, 'link'), size: undefined } } : undefined;
  }
  // Objects of the same size may have different contents.
  if (!between || task.comparison === 'size') return undefined;
  if (!(await between.note(from.etag, joinPath(task.to.root, rel), to?.etag))) return undefined;
  const step = { ...copyStep(task, pair, to, 'link'), size: undefined };
  if (dryRun || step.from?.kind !== 'remote' || step.to.kind !== 'remote') return { step };
  return (await between.link(step, step.from.path, step.to.path)) ? { step } : undefined;
}

/** Keeps headers that earlier runs did not. */
async function keepHeadersOf({ engine, options }: Run, { from, rel }: Pair): Promise<void> {
  const { task, dryRun, copy } = options;
  if (dryRun || from?.kind !== 'file' || task.from.kind !== 'remote' || task.to.kind !== 'local') return;
  await keepHeaders(engineAt(engine, task.from), joinPath(task.from.root, rel), join(task.to.root, rel), from.etag, copy.keeper);
}

/** What is remembered of a pair for which nothing is to be done, if that can be decided synchronously. */
function findSettled({ options, between }: Run, { pair, removal }: Job): Known | undefined {
  const { task, copy } = options;
  if (removal || between || copy.manifest || task.modes || task.comparesHeaders) return undefined;
  // Headers that an earlier run could not keep may be missing.
  if (task.from.kind === 'remote' && copy.keeper) return undefined;
  return findUnchanged(pair, task, task.comparison);
}

/** Executes what a pair needs. Most pairs need nothing, and get no promise. */
function doJob(run: Run, job: Job): Promise<Result> | Result {
  const known = findSettled(run, job);
  if (known === undefined) return doSteps(run, job);
  run.options.report.pass();
  return { known };
}

/** Executes what a pair needs. What was known of the pair stays known unless more is learnt, also after a failure. */
async function doSteps(run: Run, { pair, folder, removal, deletes }: Job): Promise<Result> {
  const { engine, options, state } = run;
  const result = await options.report.attempt(pair.rel, async (): Promise<Result> => {
    if (removal?.action === 'delete') {
      await execute(run, removal);
      return { step: removal };
    }
    const { step, isLate = false, known } = await decideCopy(engine, options.task, pair, deletes);
    if (!step) {
      await keepHeadersOf(run, pair);
      return (await relink(run, pair)) ?? { known };
    }
    if (isLate) {
      state.late.push(step);
      return {};
    }
    if (step.action === 'mkdir' && options.filter.isChoosy) return {};
    const done = await execute(run, step, folder);
    return { step, known: done.known ? { rel: pair.rel, ...done.known } : pair.known };
  });
  return result ?? { known: pair.known };
}

/** Executes the steps that had to wait. */
async function* finish(run: Run, steps: readonly Step[], limit: number): AsyncGenerator<Step> {
  const { engine, options } = run;
  const work = (step: Step): Promise<Step | undefined> =>
    options.report.attempt(step.rel, async () => {
      const { stays = false } = await execute(run, step);
      return stays ? undefined : step;
    });
  for await (const step of runPool(steps, work, { limit, signal: engine.signal })) if (step) yield step;
}

/** Brings one side up to date with the other. Yields each step when it is done; in a dry run, each that would be. */
export async function* syncSides(engine: Engine, options: SyncOptions): AsyncGenerator<Step> {
  const between = betweenServices(engine, options.task.from, options.copy.mayUseParts);
  const state: State = { deletes: options.deletes, blocked: undefined, emptied: [], late: [], stays: new Set() };
  const run: Run = {
    engine,
    options,
    between,
    state,
    folders: createFolders(engine, options.copy.backup),
    removals: createRemovals(),
    assertInside: createInsideCheck(locate(options.task.from, ''), options.links === 'follow'),
    verified: new Set(),
  };
  const memory = createMemoryWriter(options.remembers ? options.memory : undefined, options);
  let isWhole = false;
  try {
    const pool = { limit: engine.parallel, signal: engine.signal };
    for await (const { step, known } of runOrdered(listJobs(run), (job) => doJob(run, job), pool)) {
      if (known) memory.note(known);
      if (step) yield step;
    }
    isWhole = true;
  } finally {
    memory.close(isWhole);
  }
  // Directories in reverse order of the walk: each after its entries.
  const emptied = state.emptied.toReversed().filter(({ rel }) => !state.stays.has(rel));
  if (state.deletes) yield* finish(run, emptied, 1);
  yield* finish(run, state.late, engine.parallel);
}
