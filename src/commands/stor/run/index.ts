import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { command, type Context } from '../../../cli/command.ts';
import { openStdin, resolvePath } from '../../../cli/input.ts';
import { flag, one } from '../../../cli/parameters.ts';
import { confirm } from '../../../cli/prompt.ts';
import { countOf } from '../../../base/count.ts';
import { UsageError } from '../../../base/errors.ts';
import { openToRead } from '../../../transfer/local/named-pipe.ts';
import { assertPlanned, createInsideCheck, isRemoval, readHead, type PlanHead } from '../../../transfer/sync/plan.ts';
import { runSteps } from '../../../transfer/sync/run-steps.ts';
import { printLocation, readStep, type Step } from '../../../transfer/sync/steps.ts';
import { chooseParallel, transferOptions } from '../transfer-options.ts';
import { runLines } from './lines.ts';
import { nameMemory } from '../remember.ts';
import { runTransfers } from '../show.ts';
import { readSides } from '../sides.ts';
import { linksOption } from '../skips.ts';
import { copyOptions, mapSteps, readCopyOptions, reportTo, stepShape } from '../sync-steps.ts';

/** A plan whose first line has been read. */
interface Plan {
  readonly head: PlanHead;
  readonly steps: AsyncIterable<Step>;
}

/** Lines whose first one was read, to recognize their kind. */
interface Input {
  readonly first: string | undefined;
  readonly rest: AsyncIterator<string>;
}

async function openInput(input: Readable, name: string): Promise<Input> {
  const { streamLines } = await import('../../../cli/lines.ts');
  const rest = streamLines(input, name);
  const first = await rest.next();
  return { first: first.done === true ? undefined : first.value, rest };
}

/** True if the lines are commands; the lines of a plan are JSON. Empty input is a list without commands. */
function areCommands({ first = '' }: Input): boolean {
  return !/^\s*\{/.test(first);
}

async function* joinLines({ first, rest }: Input): AsyncGenerator<string> {
  if (first !== undefined) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function openPlan({ first, rest: lines }: Input): Promise<Plan> {
  const head = readHead(first);
  async function* readSteps(): AsyncGenerator<Step> {
    let line = 1;
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) {
      line += 1;
      if (next.value.trim() === '') continue;
      const step = readStep(next.value, line);
      assertPlanned(step, head, line);
      yield step;
    }
  }
  return { head, steps: readSteps() };
}

/** @throws {UsageError} when the file does not exist */
function checkPlan(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`${file}: no such file or directory`);
  if (stats.isDirectory())
    throw new UsageError(`${file} is a directory, not a plan`, { hint: 'to write a plan: cloud stor sync --plan FILE' });
}

/** Asks before a plan deletes. A plan from a stream cannot be read in advance, so its header decides. */
async function confirmRemovals({ world }: Context, plan: Plan, comesOnce: boolean): Promise<void> {
  const where = printLocation(plan.head.to);
  if (comesOnce) {
    if (plan.head.deletes) throw new UsageError(`the plan may delete entries in ${where}: nothing was done`, { hint: 'add --yes' });
    return;
  }
  let removals = 0;
  for await (const step of plan.steps) if (isRemoval(step)) removals += 1;
  if (removals > 0) await confirm(world, `Delete ${countOf(removals, 'entry', 'entries')} in ${where}?`);
}

export const run = command({
  summary: 'Run commands from a file, or a plan written by sync',
  description:
    'Each line is a command without the leading cloud stor. For each line a receipt, a line of JSON, is printed, in order. Lines run concurrently unless they touch the same paths; end target directories with a slash. Commands that read stdin or write to stdout, such as cat and find --exec, are refused. A step of a plan is executed only if both sides are unchanged since the plan was written, and skipped if it is already done. Nothing outside the two directories in the first line of the plan is read or changed.',
  arguments: { file: one('Command lines or a plan; - for stdin', { values: 'file' }) },
  options: {
    yes: flag('Do not ask before deleting; applies to all lines', { short: 'y' }),
    stopOnError: flag('Start no further lines after one has failed'),
    links: linksOption,
    ...copyOptions,
    ...transferOptions,
  },
  run: async (invocation) => {
    const { args, options, world } = invocation;
    const file = args.file === '-' ? '-' : resolvePath(world, args.file);
    if (args.file !== '-') checkPlan(file);
    const comesOnce = args.file === '-' || !statSync(file).isFile();
    const open = (): Promise<Input> =>
      args.file === '-' ? openInput(openStdin(world), 'stdin') : openInput(openToRead(file, world.interrupted), args.file);
    let input = await open();
    if (areCommands(input)) {
      const { yes, stopOnError } = options;
      // A file is read completely before the first command, so that names that are not UTF-8 change nothing.
      if (!comesOnce) {
        for await (const line of joinLines(input)) void line;
        input = await open();
      }
      return runLines(invocation, joinLines(input), { parallel: chooseParallel(options), yes, stopOnError });
    }
    let plan = await openPlan(input);
    if (!options.yes) await confirmRemovals(invocation, plan, comesOnce);
    else if (!comesOnce) for await (const step of plan.steps) void step;
    // A plan in a file is read completely before the first step, so that an error in it changes nothing.
    if (!comesOnce) plan = await openPlan(await open());
    const { head, steps } = plan;
    const assert = createInsideCheck(head.from, options.links === 'follow');
    const { from, to, context } = readSides(invocation, { from: printLocation(head.from), to: printLocation(head.to) });
    return await runTransfers(context, options, { only: false, bulk: true }, stepShape, ({ engine, tally }) =>
      mapSteps(
        runSteps(engine, steps, {
          from,
          copy: readCopyOptions(options, false),
          report: reportTo(tally),
          assert,
          memory: nameMemory(context, from, to),
          id: randomUUID(),
        }),
      ),
    );
  },
  examples: [
    { line: "printf 'mkdir new\\nput report.pdf new/\\n' | cloud stor run -", help: 'Run two commands' },
    {
      line: 'cloud stor sync photos stor:photos --plan plan.jsonl && cloud stor run plan.jsonl',
      help: 'Write a plan, then execute it',
    },
    { line: 'cloud stor sync photos stor:photos --plan - | grep -v secret | cloud stor run -', help: 'Execute a filtered plan' },
  ],
});
