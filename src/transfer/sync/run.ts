import { isSystemError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import type { Folder } from '../folders.ts';
import { NoPartError } from '../local-walk.ts';
import { runOrdered, runPool } from '../pool.ts';
import { decideCopy, decideRemoval, type Task } from './decide.ts';
import { createFolders, executeStep, type CopyOptions, type Done, type Folders } from './execute.ts';
import { createMemoryWriter, readMemory, type Known } from './memory.ts';
import { mergeSides, type Pair } from './merge.ts';
import type { Step } from './steps.ts';
import { listItems, type Filter, type Item } from './tree.ts';

/** Who is told of failures. */
export interface SyncReport {
  /** Does work for a path; reports its failure and gives undefined. */
  attempt<T>(rel: string, work: () => Promise<T>): Promise<T | undefined>;
  fail(error: unknown): Promise<void>;
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
  /** Makes temporary names this run's own. */
  readonly id: string;
  readonly report: SyncReport;
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

/** Brings one side up to date with the other. Gives each step when it is done; in a dry run, each that would be. */
export async function* syncSides(engine: Engine, options: SyncOptions): AsyncGenerator<Step> {
  const { task, filter, dryRun, report, copy } = options;
  const state: State = { deletes: options.deletes, blocked: undefined, emptied: [], late: [] };
  const folders = createFolders(engine);
  const memory = options.memory === undefined || dryRun ? undefined : await createMemoryWriter(options.memory, options.id);

  async function* listPairs(): AsyncGenerator<Pair> {
    const from = listItems(engine, task.from, filter, async (error) => {
      state.deletes = false;
      await report.fail(error);
    });
    // What cannot be listed at the side that is changed would seem to be missing: that ends the run.
    const to = options.isEmpty
      ? nothing<Item>()
      : listItems(engine, task.to, filter, (error) => {
          if (!isHarmless(error)) throw error;
        });
    yield* mergeSides(from, to, options.memory === undefined ? nothing<Known>() : readMemory(options.memory));
  }

  async function* listJobs(): AsyncGenerator<Job> {
    for await (const pair of listPairs()) {
      if (isBelow(pair.rel, state.blocked)) {
        if (pair.from?.kind === 'file') report.skip();
        continue;
      }
      const { deletes } = state;
      const removal = deletes ? decideRemoval(task, pair) : undefined;
      if (pair.from?.kind === 'directory' && pair.to?.kind === 'file' && !deletes) state.blocked = pair.rel;
      const folder = dryRun ? undefined : findFolder(folders, task, pair, filter);
      if (removal?.action === 'rmdir') state.emptied.push(removal);
      if (pair.from !== undefined || removal?.action === 'delete') yield { pair, folder, removal, deletes };
    }
  }

  async function execute(step: Step, folder: Folder | undefined): Promise<Done> {
    return dryRun ? {} : await executeStep(engine, step, folder, copy);
  }

  async function doJob({ pair, folder, removal, deletes }: Job): Promise<Result> {
    const result = await report.attempt(pair.rel, async (): Promise<Result> => {
      if (removal?.action === 'delete') {
        await execute(removal, undefined);
        return { step: removal };
      }
      const { step, isLate = false, known } = await decideCopy(engine, task, pair, deletes);
      if (!step) return { known };
      if (isLate) {
        state.late.push(step);
        return {};
      }
      if (step.action === 'mkdir' && filter.isChoosy) return {};
      const done = await execute(step, folder);
      return { step, known: done.known && { rel: pair.rel, ...done.known } };
    });
    return result ?? {};
  }

  async function* finish(steps: readonly Step[], limit: number): AsyncGenerator<Step> {
    const work = (step: Step): Promise<Step | undefined> =>
      report.attempt(step.rel, async () => {
        await execute(step, undefined);
        return step;
      });
    for await (const step of runPool(steps, work, { limit, signal: engine.signal })) if (step) yield step;
  }

  let isWhole = false;
  try {
    const pool = { limit: engine.parallel, signal: engine.signal };
    for await (const { step, known } of runOrdered(listJobs(), doJob, pool)) {
      if (known) await memory?.note(known);
      if (step) yield step;
    }
    isWhole = true;
  } finally {
    await memory?.close(isWhole);
  }
  // Directories in the order in which they were come by, backwards: each after what is in it.
  if (state.deletes) yield* finish(state.emptied.toReversed(), 1);
  yield* finish(state.late, engine.parallel);
}

async function* nothing<T>(): AsyncGenerator<T> {}

/** Does the steps of a plan: several at once, but removals of directories one after the other once everything before is done. */
export async function* runSteps(engine: Engine, steps: AsyncIterable<Step>, copy: CopyOptions, report: SyncReport): AsyncGenerator<Step> {
  const folders = createFolders(engine);
  const iterator = steps[Symbol.asyncIterator]();
  let next = await iterator.next();

  /** The steps up to the next change between removals of directories and others. */
  async function* takeRun(isRemoval: boolean): AsyncGenerator<{ step: Step; folder: Folder | undefined }> {
    for (; next.done !== true && (next.value.action === 'rmdir') === isRemoval; next = await iterator.next()) {
      const step = next.value;
      if (step.to.kind !== 'remote') yield { step, folder: undefined };
      else if (step.action === 'mkdir') yield { step, folder: folders.add(step.to.path, step.target) };
      else yield { step, folder: folders.find(step.to.path) };
    }
  }

  while (next.done !== true) {
    const isRemoval = next.value.action === 'rmdir';
    const work = ({ step, folder }: { step: Step; folder: Folder | undefined }): Promise<Step | undefined> =>
      report.attempt(step.rel, async () => {
        await executeStep(engine, step, folder, copy);
        return step;
      });
    const limit = isRemoval ? 1 : engine.parallel;
    for await (const step of runPool(takeRun(isRemoval), work, { limit, signal: engine.signal })) if (step) yield step;
  }
}
