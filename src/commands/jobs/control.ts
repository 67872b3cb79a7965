import { job as jobShape } from '../../api/objects.ts';
import { command, type Context } from '../../cli/command.ts';
import { duration, flag, many, one, some } from '../../cli/parameters.ts';
import { within } from '../../cli/wait.ts';
import { createAttempts } from '../../cli/attempts.ts';
import { changeCommand, isForbidden, listFieldNames } from '../../cli/shapes.ts';
import { UsageError } from '../../base/errors.ts';
import { record } from '../../output/kinds.ts';
import { quoteShell } from '../../base/quote.ts';
import { chooseForm, readingNames } from '../stor/names.ts';
import { createJob } from './create.ts';
import { createTeller } from './failures.ts';
import { explainJob, findJob, readJob, type JobContext, type KnownJob } from './find.ts';
import { feedInputs, gatherInputs } from './inputs.ts';
import { countInputs } from './resend.ts';
import { jobOptions, readNewJob } from './phases.ts';
import { jobColumns } from './show.ts';
import { checkJob } from './verdict.ts';
import { describeEnd, explainSilence, waitForJob } from './wait.ts';
import { showRows, wantsRows } from '../../cli/rows.ts';
import { countOf } from '../../base/count.ts';

const jobArgument = 'Id, first characters of an id, or name';
/** The display of jobs. */
const jobShown = { id: 'id', columns: jobColumns, ...listFieldNames(jobShape) };
/** Properties of commands that change jobs and show them. */
const changing = { ...listFieldNames(jobShape), changes: true } as const;
const waitTimeout = duration('Maximum time to wait');

export const create = changeCommand({
  summary: 'Create a job that waits for inputs',
  description:
    'Options of a phase follow its --map or --reduce; those before the first phase apply to all phases. A file for --from has name and phases, as cloud jobs get -o yaml prints them.',
  options: jobOptions,
  id: 'id',
  columns: ['id', 'name', 'state', 'phases'],
  shape: jobShape,
  change: async (invocation) => await readJob(invocation, await createJob(invocation, await readNewJob(invocation, invocation.options))),
  done: (job) => {
    const { id } = job as { id: string };
    return `Created job ${id}: add inputs with cloud jobs add ${id}, then cloud jobs end ${id}`;
  },
  examples: [
    { line: "cloud jobs create --name count --map 'wc -l' --reduce 'sort -n'", help: 'Two phases' },
    { line: 'cloud jobs get count -o yaml | cloud jobs create --from -', help: 'Copy a job' },
  ],
});

export const add = command({
  summary: 'Add inputs to a job',
  ...changing,
  description:
    'Inputs are processed as they arrive. The job waits for more until its input is ended. An object whose name contains a line end cannot be an input.',
  arguments: {
    job: one(jobArgument, { values: 'job' }),
    input: some('Object, or quoted pattern of objects; - for paths from stdin, the default if stdin is not a terminal', {
      values: 'path',
    }),
  },
  options: { end: flag('End the input afterwards'), ...readingNames },
  run: async (invocation) => {
    const { args, options, storage, account, note, world } = invocation;
    if (args.input.length === 0 && world.stdin.isTerminal) {
      throw new UsageError('missing argument INPUT', { hint: `cloud jobs add ${quoteShell(args.job)} logs/a.txt` });
    }
    const inputs = await gatherInputs(invocation, args.input, chooseForm(options));
    const id = await findJob(invocation, args.job);
    const before = await countInputs(invocation, id);
    const count = await explainJob(id, () => feedInputs(invocation, id, inputs, before));
    note(`Added ${countOf(count, 'input')} to job ${id}`);
    if (options.end) {
      await storage.endJobInput({ account, id });
      note(`Ended the input of job ${id}`);
    }
    return wantsRows(invocation) ? record(await readChanged(invocation, id), jobShown) : undefined;
  },
  examples: [
    { line: "cloud jobs add count 'logs/*.txt' --end", help: 'Add all inputs and end the input' },
    { line: 'cloud stor find logs -o name --type object | cloud jobs add count', help: 'Add inputs from a pipe' },
  ],
});

/** Reads a job that was changed. A caller who may change a job may not be allowed to read it. */
async function readChanged(context: JobContext, id: string): Promise<KnownJob> {
  try {
    return await readJob(context, id);
  } catch (error) {
    if (isForbidden(error)) return { id };
    throw error;
  }
}

/** A change of jobs: its messages and its action; with `dryRun` only the message `would` is printed. */
interface Change {
  readonly done: string;
  readonly would: string;
  readonly dryRun: boolean;
  /** True if nothing is left to do for a job. */
  readonly isDone: (job: KnownJob) => boolean | undefined;
  readonly change: (id: string) => Promise<unknown>;
  /** Waits for a changed job and returns it; absent: the job is as it is read after the change. */
  readonly wait?: ((id: string) => Promise<KnownJob>) | undefined;
}

/** Changes each of several jobs and then yields them, or those that would be changed; reports those that fail. */
async function* changeJobs(
  invocation: JobContext & Pick<Context, 'fail' | 'note' | 'global'>,
  words: readonly string[],
  { done, would, dryRun, isDone, change, wait: waitFor }: Change,
): AsyncGenerator<KnownJob> {
  const attempts = createAttempts(invocation, words.length);
  const jobs = await attempts.each(words, async (word): Promise<KnownJob | undefined> => {
    const id = await findJob(invocation, word);
    if (!dryRun) {
      await explainJob(id, () => change(id));
      invocation.note(`${done} job ${id}`);
      return { id };
    }
    const job = await readJob(invocation, id);
    const isNothing = isDone(job) === true;
    invocation.note(isNothing ? `Nothing to do for job ${id}` : `${would} job ${id}`);
    return isNothing ? undefined : job;
  });
  const read = wantsRows(invocation) ? (id: string) => readChanged(invocation, id) : undefined;
  const show = dryRun ? undefined : (waitFor ?? read);
  for (const job of jobs) if (job) yield* await attempts.each([job], async ({ id }) => (show ? await show(id) : job));
  attempts.finish();
}

export const end = command({
  summary: 'End the input of jobs, so that they can finish',
  ...changing,
  arguments: { job: many(jobArgument, { values: 'job' }) },
  options: { dryRun: flag('Only show which jobs would be changed', { short: 'n' }) },
  run: async (invocation) => {
    const { args, options, storage, account } = invocation;
    const ended = changeJobs(invocation, args.job, {
      done: 'Ended the input of',
      would: 'Would end the input of',
      dryRun: options.dryRun,
      isDone: ({ inputDone }) => inputDone,
      change: (id) => storage.endJobInput({ account, id }),
    });
    return await showRows(invocation, ended, jobShown);
  },
  examples: [
    { line: 'cloud jobs end count', help: 'No more inputs' },
    { line: 'cloud jobs end count && cloud jobs wait count', help: 'End the input, then wait' },
  ],
});

export const cancel = command({
  summary: 'Cancel jobs',
  ...changing,
  description:
    'The service stops their tasks as soon as possible; a job whose input is ended may still finish. Running tasks become errors and count as done; tasks not yet started count as neither.',
  arguments: { job: many(jobArgument, { values: 'job' }) },
  options: {
    dryRun: flag('Only show what would be cancelled', { short: 'n' }),
    wait: flag('Wait until they are done', { short: 'w' }),
    waitTimeout,
  },
  run: async (invocation) => {
    const { args, options, storage, account } = invocation;
    const cancelled = changeJobs(invocation, args.job, {
      done: 'Cancelled',
      would: 'Would cancel',
      dryRun: options.dryRun,
      isDone: ({ state }) => state === 'done',
      change: (id) => storage.cancelJob({ account, id }),
      wait: options.wait ? (id) => waitForJob(invocation, id, options.waitTimeout) : undefined,
    });
    return await showRows(invocation, cancelled, jobShown);
  },
  examples: [
    { line: 'cloud jobs cancel count', help: 'One job' },
    { line: 'cloud jobs list --state live -o name | xargs cloud jobs cancel --wait', help: 'All unfinished jobs' },
  ],
});

/** Waits for each of several jobs and yields it; then reports its failed inputs. */
async function* waitForJobs(
  invocation: JobContext & Pick<Context, 'fail' | 'note' | 'global' | 'warn'>,
  words: readonly string[],
  timeout: number | undefined,
): AsyncGenerator<KnownJob> {
  const attempts = createAttempts(invocation, words.length);
  for (const word of words) {
    const found = await attempts.each([word], async () => {
      const limit = timeout ?? Infinity;
      const id = await within(limit, findJob(invocation, word), () => explainSilence(word, limit));
      const teller = createTeller(invocation, id);
      const job = await waitForJob(invocation, id, timeout, teller.tell);
      invocation.note(`Job ${id} ${describeEnd(job)}`);
      return { job, teller };
    });
    yield* found.map(({ job }) => job);
    await attempts.each(found, ({ job, teller }) => checkJob(invocation, job, { teller }));
  }
  attempts.finish();
}

export const wait = command({
  summary: 'Wait until jobs are done',
  description:
    'Progress is shown on stderr. Ctrl-C stops waiting, not the jobs. The first ten failures are reported as they happen, with the stderr of the tasks. Exit code 5 means that some inputs failed, 1 that all failed or that there is no output, 6 that the wait timed out.',
  arguments: { job: many(jobArgument, { values: 'job' }) },
  options: { waitTimeout },
  run: async (invocation) => {
    const { args, options } = invocation;
    const jobs = waitForJobs(invocation, args.job, options.waitTimeout);
    if (args.job.length > 1 || !wantsRows(invocation)) return await showRows(invocation, jobs, jobShown);
    const first = await jobs.next();
    return first.done === true ? undefined : { ...record(first.value, jobShown), afterwards: () => jobs.next() };
  },
  examples: [
    { line: 'cloud jobs wait count', help: 'One job' },
    {
      line: 'cloud jobs wait count --wait-timeout 1h && cloud jobs outputs count --cat',
      help: 'Wait at most an hour, then print the outputs',
    },
  ],
});
