import type { Engine } from '../engine.ts';
import type { Folder } from '../tree/folders.ts';
import { runOrdered } from '../../base/parallel.ts';
import { betweenServices } from './between.ts';
import { createFolders, executeStep } from './execute.ts';
import { createMemoryWriter, type Known } from './memory.ts';
import type { SyncOptions } from './run.ts';
import type { Step } from './steps.ts';
import type { Side } from './tree.ts';

/** How a plan is executed. */
export interface PlanRun extends Pick<SyncOptions, 'copy' | 'report' | 'id'> {
  /** The side that the plan copies from. */
  readonly from: Side;
  /** @throws for a step that must not be executed */
  readonly assert: (step: Step) => void;
  /** File in which `sync` between the two directories finds what this run learns. */
  readonly memory: string | undefined;
}

interface Result {
  readonly step: Step;
  readonly known: Known | undefined;
}

/** Executes the steps of a plan concurrently. Removals of directories run one after the other, after all steps before them. */
export async function* runSteps(engine: Engine, steps: AsyncIterable<Step>, options: PlanRun): AsyncGenerator<Step> {
  const memory = createMemoryWriter(options.memory, { id: options.id, merges: true });
  try {
    for await (const { step, known } of doSteps(engine, steps, options)) {
      if (known) memory.note(known);
      yield step;
    }
  } finally {
    memory.close(false);
  }
}

async function* doSteps(engine: Engine, steps: AsyncIterable<Step>, { from, report, assert, ...options }: PlanRun): AsyncGenerator<Result> {
  const copy = { ...options.copy, between: betweenServices(engine, from, options.copy.mayUseParts) };
  const folders = createFolders(engine);
  const iterator = steps[Symbol.asyncIterator]();
  let next = await iterator.next();

  /** The steps up to the next change between removals of directories and other steps. */
  async function* takeRun(isRemoval: boolean): AsyncGenerator<{ step: Step; folder: Folder | undefined }> {
    for (; next.done !== true && (next.value.action === 'rmdir') === isRemoval; next = await iterator.next()) {
      const step = next.value;
      if (step.to.kind !== 'remote') yield { step, folder: undefined };
      else if (step.action === 'mkdir') yield { step, folder: folders.add(step.to.path, step.target) };
      else yield { step, folder: folders.find(step.to.path) };
    }
  }

  const work = ({ step, folder }: { step: Step; folder: Folder | undefined }): Promise<Result | undefined> =>
    report.attempt(step.rel, async () => {
      assert(step);
      const { known, stays = false } = await executeStep(engine, step, folder, copy);
      if (stays) return undefined;
      return { step, known: known && { rel: step.rel, ...known } };
    });
  try {
    while (next.done !== true) {
      const isRemoval = next.value.action === 'rmdir';
      const limit = isRemoval ? 1 : engine.parallel;
      for await (const result of runOrdered(takeRun(isRemoval), work, { limit, signal: engine.signal })) if (result) yield result;
    }
  } finally {
    await iterator.return?.();
  }
}
