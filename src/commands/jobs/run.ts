import type { Job } from '../../api/objects.ts';
import { command, type Context } from '../../cli/command.ts';
import { duration, flag, some } from '../../cli/parameters.ts';
import { InterruptedError, UsageError } from '../../errors.ts';
import { bytes, record } from '../../output/kinds.ts';
import { withSpinner } from '../../output/spinner.ts';
import { readContents } from './contents.ts';
import { createJob } from './create.ts';
import { createTeller, type FailureTeller } from './failures.ts';
import { readJob, type JobContext } from './find.ts';
import { feedInputs, gatherInputs, type Inputs } from './inputs.ts';
import { jobOptions, readNewJob } from './phases.ts';
import { readStream } from './streams.ts';
import { checkJob } from './verdict.ts';
import { describeEnd, readCounts, waitForJob } from './wait.ts';

/** Inputs up to this number have their outputs printed in their own order. */
const ordered = 100_000;

/** The inputs that were fed: how many, and the place of each while there are not too many. */
interface Fed {
  count: number;
  places: Map<string, number>;
}

/** Adds all inputs and ends the input. A failure of the source cancels the job: half of its inputs are not what was wanted. */
async function feedAll(context: JobContext & Pick<Context, 'global'>, id: string, inputs: Inputs): Promise<Fed> {
  const { storage, account, world } = context;
  const places = new Map<string, number>();
  try {
    const count = await withSpinner(
      world.stderr,
      `job ${id.slice(0, 8)}: adding inputs`,
      (update) =>
        feedInputs(context, id, inputs, (paths, total) => {
          if (total <= ordered) for (const path of paths) places.set(path, places.get(path) ?? places.size);
          update(`job ${id.slice(0, 8)}: ${total} inputs added`);
        }),
      { quiet: context.global.quiet, env: world.env },
    );
    await storage.endJobInput({ account, id });
    return { count, places: count <= ordered ? places : new Map() };
  } catch (error) {
    if (error instanceof InterruptedError) {
      throw new InterruptedError(`job ${id} still waits for inputs`, {
        hint: `to run it on what was added: cloud jobs end ${id}; to end it: cloud jobs cancel ${id}`,
        cause: error,
      });
    }
    await storage.cancelJob({ account, id }).catch(() => undefined);
    throw error;
  }
}

/** The input that a map's output is named after: `/login/jobs/ID/stor` stands before its path, `.PHASE.UUID` after it. */
function inputOfOutput(output: string): string {
  return output.replace(/^\/[^/]+\/jobs\/[^/]+\/stor(?=\/)/, '').replace(/\.\d+\.[0-9a-f-]{36}$/, '');
}

/** Outputs in the order of the inputs that they are named after, then the others as the service lists them. */
async function sortOutputs(outputs: AsyncIterable<string>, places: Fed['places']): Promise<string[]> {
  const all: { path: string; place: number }[] = [];
  for await (const path of outputs) all.push({ path, place: places.get(inputOfOutput(path)) ?? Infinity });
  return all.toSorted((a, b) => (a.place === b.place ? 0 : a.place - b.place)).map(({ path }) => path);
}

/** The content of all outputs; then the failures that were not told yet. */
async function* printOutputs(context: Context, job: Job, { count, places }: Fed, teller: FailureTeller): AsyncGenerator<Uint8Array> {
  if (readCounts(job).outputs !== 0) {
    const outputs = readStream(context, job.id, 'outputs', false);
    yield* readContents(context, places.size > 1 ? await sortOutputs(outputs, places) : outputs);
  }
  await checkJob(context, job, { teller, inputs: count });
}

export const run = command({
  summary: 'Run a job on objects and print what comes out',
  description:
    'Creates the job, adds the inputs, waits, and writes the content of the outputs to stdout, in the order of the inputs where each input has its own. Failures are told on stderr as they happen, with what the task wrote there: the first ten. Exit code 5 means that some inputs failed, 1 that all did.\nOptions of a phase stand after its --map or --reduce; those before the first phase hold for all phases.\nEach command runs in bash with the object on stdin; a reduce has all its inputs on stdin, one after the other. $MANTA_INPUT_FILE names the input as a file, and an asset is at $MANTA_ASSETS followed by its path.\nCtrl-C ends the waiting, not the job.',
  arguments: {
    input: some('Object, or pattern of objects in quotes; - for paths on stdin, also read when there is no argument and no terminal', {
      values: 'path',
    }),
  },
  options: {
    ...jobOptions,
    detach: flag('Do not wait: show the job and leave it to itself', { short: 'd' }),
    waitTimeout: duration('Longest time to wait for the job'),
  },
  run: async (invocation) => {
    const { args, options, note } = invocation;
    const isTaken = options.from === '-';
    if (isTaken && args.input.includes('-')) throw new UsageError('stdin cannot be both the job and its inputs');
    const job = await readNewJob(invocation, options);
    const inputs = isTaken && args.input.length === 0 ? [] : await gatherInputs(invocation, args.input);
    const id = await createJob(invocation, job);
    note(`Created job ${id}`);
    const fed = await feedAll(invocation, id, inputs);
    if (options.detach) return record(await readJob(invocation, id), { id: 'id' });
    const teller = createTeller(invocation, id);
    const done = await waitForJob(invocation, id, options.waitTimeout, teller.tell);
    note(`Job ${id} ${describeEnd(done)}`);
    return bytes(printOutputs(invocation, done, fed, teller));
  },
  examples: [
    { line: "cloud jobs run --map wc 'logs/*.txt'", help: 'A command for each object of a pattern' },
    {
      line: `cloud jobs run --map 'grep -c ERROR || true' --reduce "awk '{s+=\\$1} END {print s}'" logs/a.txt logs/b.txt`,
      help: 'A number from each, and their sum',
    },
    {
      line: 'cloud stor find logs --name "*.txt" -o name | cloud jobs run --map wc --reduce cat',
      help: 'Any number of inputs through a pipe',
    },
    {
      line: 'cloud jobs run --map \'bash "$MANTA_ASSETS/demo/stor/count.sh"\' --asset count.sh logs/a.txt',
      help: 'With a script of your own',
    },
  ],
});
