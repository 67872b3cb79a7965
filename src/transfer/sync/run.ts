import { join, relative } from 'node:path';
import { isSystemError } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import type { Folder } from '../tree/folders.ts';
import type { LinkPolicy } from '../local/links.ts';
import { NoPartError, type SkipReason } from '../local/walk.ts';
import { runOrdered, runPool } from '../../base/parallel.ts';
import { joinPath } from '../path.ts';
import { betweenServices, type Between } from './between.ts';
import { copyStep, decideCopy, decideRemoval } from './decide.ts';
import type { Task } from './compare.ts';
import { createFolders, executeStep, type CopyOptions, type Done, type Folders } from './execute.ts';
import { findReasonToKeep, type Kept } from './keep.ts';
import { keepHeaders } from './keep-headers.ts';
import { createMemoryWriter, readMemory, type Known } from './memory.ts';
import { mergeSides, type Pair } from './merge.ts';
import type { Step } from './steps.ts';
import { createRemovals, type Removals } from './removals.ts';
import { engineAt, listItems, type Filter, type Item } from './tree.ts';

/** Who is told of failures. */
export interface SyncReport {
  /** Does work for a path; reports its failure and gives undefined. */
  attempt<T>(rel: string, work: () => Promise<T>): Promise<T | undefined>;
  fail(error: unknown, item?: string): Promise<void>;
  /** Counts what could not be done for a reason that was reported already. */
  skip(): void;
}

export interface SyncOptions {
  readonly task: Task;
  readonly filter: Filter;
  /** Remove what is only at the side that is changed. */
  readonly deletes: boolean;
  /** Only say what would be done. */
  readonly dryRun: boolean;
  /** The side that is to be changed is not there yet. */
  readonly isEmpty: boolean;
  readonly copy: CopyOptions;
  /** File of what earlier runs found out; absent: nothing is remembered. */
  readonly memory: string | undefined;
  /** What this run finds out is written there too. */
  readonly remembers: boolean;
  /** Makes temporary names this run's own. */
  readonly id: string;
  readonly report: SyncReport;
  readonly links: LinkPolicy;
  /** Who is told of what is left out, or left where it is, on purpose. */
  readonly onSkip: (name: string, reason: SkipReason | Kept) => void;
}

/** A pair with what was known about it when its turn came. */
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

/** Things of one run that change on the way. */
interface State {
  /** Off once the source could not be read whole: what is missing there may only seem to be. */
  deletes: boolean;
  /** A directory that cannot be brought over: what is in it is left out. */
  blocked: string | undefined;
  readonly emptied: Step[];
  readonly late: Step[];
  /** Directories that are not empty in the end, since something in them stays. */
  readonly stays: Set<string>;
}

/** What takes no part stays as it is, unless something is to come to its place, which fails by itself; what is gone is not there. */
function isHarmless(error: unknown): boolean {
  return error instanceof NoPartError || (isSystemError(error) && error.code === 'ENOENT');
}

function isBelow(rel: string, directory: string | undefined): boolean {
  return directory !== undefined && rel.startsWith(`${directory}/`);
}

/** The directory that a pair's file goes into, or the one that it is, when it has to be made. */
function findFolder(folders: Folders, { to }: Task, { rel, from, to: there }: Pair, filter: Filter): Folder | undefined {
  if (to.kind !== 'remote' || !from) return undefined;
  const path = { account: to.root.account, path: `${to.root.path}/${rel}` };
  if (from.kind === 'file' || there?.kind === 'directory') return folders.find(path);
  const folder = folders.add(path, there?.kind === 'file' ? { etag: there.etag } : undefined);
  return filter.isChoosy ? undefined : folder;
}

/** A run with what its parts share. */
interface Run {
  readonly engine: Engine;
  readonly options: SyncOptions;
  /** Copies from another service. */
  readonly between: Between | undefined;
  readonly state: State;
  readonly folders: Folders;
  readonly removals: Removals<Job>;
  /** Local directories that have their own names. */
  readonly verified: Set<string>;
}

/** Directories above something that stays are not removed either. */
function keepAbove({ stays }: State, rel: string): void {
  for (let at = rel.lastIndexOf('/'); at > 0; at = rel.lastIndexOf('/', at - 1)) stays.add(rel.slice(0, at));
}

/** The removal that a pair calls for, unless what seems to be missing at the source may be there. */
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
  const onError = async (error: unknown): Promise<void> => {
    state.deletes = false;
    await report.fail(error);
  };
  const from = listItems(engine, task.from, { filter, onError, onLeave: removals.leave, links, onSkip });
  // What cannot be listed at the side that is changed would seem to be missing: that ends the run.
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
    // A local directory is read whole before the first of its entries comes.
    else if (removal?.action === 'delete' && (task.from.kind === 'local' || !removals.hold(job))) yield job;
  }
  if (state.deletes) yield* removals.end();
}

async function execute({ engine, options, between }: Run, step: Step, folder?: Folder): Promise<Done> {
  return options.dryRun ? {} : await executeStep(engine, step, folder, { ...options.copy, between });
}

/** Makes an object of the target a link where that of the source is one, or the manifest says that its file was. */
async function relink({ engine, options, between }: Run, pair: Pair): Promise<Result | undefined> {
  const { task, dryRun, copy } = options;
  const { from, to, rel } = pair;
  if (from?.kind !== 'file' || task.to.kind !== 'remote') return undefined;
  if (task.from.kind === 'local' && copy.manifest && !dryRun) {
    const isLinked = await copy.manifest.relink(engine, join(task.from.root, rel), joinPath(task.to.root, rel), to?.etag ?? '');
    return isLinked ? { step: { ...copyStep(task, pair, to, 'link'), size: undefined } } : undefined;
  }
  if (!between) return undefined;
  if (!(await between.note(from.etag, joinPath(task.to.root, rel), to?.etag))) return undefined;
  const step = { ...copyStep(task, pair, to, 'link'), size: undefined };
  if (dryRun || step.from?.kind !== 'remote' || step.to.kind !== 'remote') return { step };
  return (await between.link(step, step.from.path, step.to.path)) ? { step } : undefined;
}

/** Keeps headers that an earlier run could not, or was not asked to. */
async function keepHeadersOf({ engine, options }: Run, { from, rel }: Pair): Promise<void> {
  const { task, dryRun, copy } = options;
  if (dryRun || from?.kind !== 'file' || task.from.kind !== 'remote' || task.to.kind !== 'local') return;
  await keepHeaders(engineAt(engine, task.from), joinPath(task.from.root, rel), join(task.to.root, rel), from.etag, copy.keeper);
}

/** Does what a pair calls for. What was known of it stays known unless more is found out: also when that fails. */
async function doJob(run: Run, { pair, folder, removal, deletes }: Job): Promise<Result> {
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

/** Does the steps that had to wait. */
async function* finish(run: Run, steps: readonly Step[], limit: number): AsyncGenerator<Step> {
  const { engine, options } = run;
  const work = (step: Step): Promise<Step | undefined> =>
    options.report.attempt(step.rel, async () => {
      await execute(run, step);
      return step;
    });
  for await (const step of runPool(steps, work, { limit, signal: engine.signal })) if (step) yield step;
}

/** Brings one side up to date with the other. Gives each step when it is done; in a dry run, each that would be. */
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
  // Directories in the order in which they were come by, backwards: each after what is in it.
  const emptied = state.emptied.toReversed().filter(({ rel }) => !state.stays.has(rel));
  if (state.deletes) yield* finish(run, emptied, 1);
  yield* finish(run, state.late, engine.parallel);
}

async function* nothing<T>(): AsyncGenerator<T> {}
