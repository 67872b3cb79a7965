import { command, type Context } from '../../cli/command.ts';
import { duration, flag, some } from '../../cli/parameters.ts';
import { spin } from '../../cli/wait.ts';
import { InterruptedError, LocalError, UsageError } from '../../base/errors.ts';
import { quoteShell } from '../../base/quote.ts';
import type { Entry } from '../../config/journal-entry.ts';
import { bytes, record, records, type Output } from '../../output/kinds.ts';
import { readContents } from './contents.ts';
import { createJob } from './create.ts';
import { createTeller } from './failures.ts';
import { readJob, type JobContext, type KnownJob } from './find.ts';
import { chooseForm, readingNames } from '../stor/names.ts';
import { feedInputs, gatherInputs, splitList, type Inputs } from './inputs.ts';
import { countAdded } from './resend.ts';
import { jobOptions, readNewJob } from './phases.ts';
import { listRunRecords, recordFields, recordShape } from './run-records.ts';
import { readStream } from './streams.ts';
import { checkJob } from './verdict.ts';
import { describeEnd, readCounts, waitForJob } from './wait.ts';
import { wantsRows } from '../../cli/rows.ts';

/** Maximum number of inputs for which outputs are printed in the order of the inputs. */
const ordered = 100_000;

/** The inputs that were added: their number, and the position of each up to `ordered` inputs. */
interface Fed {
  count: number;
  places: Map<string, number>;
}

/** The inputs to add to a job: all of them, or those that an interrupted run has not added. */
interface Feed {
  readonly id: string;
  readonly inputs: Inputs;
  /** Number of inputs that the job has already. */
  readonly before: number;
  /** The job's entry in the journal. */
  readonly entry: Entry;
}

/** Adds all inputs and ends the input. If the source fails, the job is cancelled: its result on some of the inputs would be wrong. */
async function feedAll(context: JobContext & Pick<Context, 'global'>, { id, inputs, before, entry }: Feed): Promise<Fed> {
  const { storage, account } = context;
  const places = new Map<string, number>();
  let isOver = true;
  try {
    const count = await spin(context, `job ${id.slice(0, 8)}: adding inputs`, (update) =>
      feedInputs(context, id, inputs, before, (paths, total) => {
        if (total <= ordered) for (const path of paths) places.set(path, places.get(path) ?? places.size);
        entry.add(paths.length, 0);
        update(`job ${id.slice(0, 8)}: ${before + total} inputs added`);
      }),
    );
    await storage.endJobInput({ account, id });
    return { count, places: count <= ordered ? places : new Map() };
  } catch (error) {
    if (error instanceof InterruptedError) {
      isOver = false;
      throw new InterruptedError(`job ${id} still waits for inputs`, { hint: describeWaiting(id, entry), cause: error });
    }
    await storage.cancelJob({ account, id }).catch(() => undefined);
    throw error;
  } finally {
    entry.close(isOver);
  }
}

function describeWaiting(id: string, { id: entry, facts }: Entry): string {
  const others = `to run it on the added inputs: cloud jobs end ${quoteShell(id)}; to cancel it: cloud jobs cancel ${quoteShell(id)}`;
  return entry === '' || facts['isListed'] !== true ? others : `to add the other inputs: cloud resume ${entry}; ${others}`;
}

/** Begins the journal entry of a job that waits for its inputs. @param list undefined if the inputs come from stdin */
async function beginEntry({ journal }: Pick<Context, 'journal'>, id: string, list: readonly string[] | undefined): Promise<Entry> {
  const entry = (await journal()).begin({
    command: 'jobs run',
    kind: 'job',
    args: { input: [] },
    options: {},
    key: id,
    placed: list?.map((path) => [path, '']) ?? [],
    facts: { job: id, isListed: list !== undefined },
    obstacle: list === undefined ? 'its inputs came from stdin' : undefined,
  });
  if (list) entry.expect(list.length, 0);
  return entry;
}

/** Adds the inputs that the interrupted run has not added, and ends the input; the job then continues by itself. */
async function goOnFeeding(context: Context, entry: Entry): Promise<Output> {
  const id = String(entry.facts['job']);
  const list = entry.placed.map(([path]) => path);
  const known = await readJob(context, id);
  const before = await countAdded(context, id, list, entry.left);
  entry.expect(list.length, 0);
  entry.add(before, 0);
  if (known.inputDone !== true) await feedAll(context, { id, inputs: splitList(list.slice(before)), before, entry });
  else if (before < list.length)
    throw new LocalError(`job ${id} accepts no more inputs: it has ${before} of ${list.length}`, { hint: `cloud jobs get ${id}` });
  context.note(`Job ${id} has its ${list.length} inputs; to see the outputs: cloud jobs wait ${id}; cloud jobs outputs ${id} --cat`);
  return record(await readJob(context, id), { id: 'id' });
}

/** The inputs as a list; undefined if they are read from stdin one by one. */
function listInputs(inputs: Inputs, words: readonly string[]): string[] | undefined {
  return words.includes('-') || Symbol.asyncIterator in inputs ? undefined : [...inputs].flat();
}

/** Returns the input in the name of a map phase's output, which is `/login/jobs/ID/stor`, the path of the input, and `.PHASE.UUID`. */
function inputOfOutput(output: string): string {
  return output.replace(/^\/[^/]+\/jobs\/[^/]+\/stor(?=\/)/, '').replace(/\.\d+\.[0-9a-f-]{36}$/, '');
}

/** Sorts outputs by the inputs that they are named after; the others follow in the order of the service. */
async function sortOutputs(outputs: AsyncIterable<string>, places: Fed['places']): Promise<string[]> {
  const all: { path: string; place: number }[] = [];
  for await (const path of outputs) all.push({ path, place: places.get(inputOfOutput(path)) ?? Infinity });
  return all.toSorted((a, b) => (a.place === b.place ? 0 : a.place - b.place)).map(({ path }) => path);
}

/** Paths of all outputs, in the order of the inputs if that order is known. */
async function findOutputs(context: Context, job: KnownJob, { places }: Fed): Promise<AsyncIterable<string> | Iterable<string>> {
  if (readCounts(job).outputs === 0) return [];
  const outputs = readStream(context, job.id, 'outputs', false);
  return places.size > 1 ? await sortOutputs(outputs, places) : outputs;
}

export const run = command({
  summary: 'Run a job on objects and print its outputs',
  description:
    'Creates the job, adds the inputs, waits, and writes the content of the outputs to stdout. Outputs are in the order of their inputs; several outputs of one input are in the order of their creation. The first ten failures are reported on stderr as they happen, with the stderr of the task. With -j or another format of -o, records are printed instead: the job, each output (path, size and, for text of at most 1 MiB, content), and each error with the stderr of the task. The field type says which of these a record is. Exit code 5 means that some inputs failed, 1 that all failed or that there is no output.\n--count, --asset, --init, --memory and --disk belong to the --map or --reduce before them; before the first phase, they apply to all phases.\nEach command runs in bash with the object on stdin; a reduce command has all its inputs on stdin, concatenated. $MANTA_INPUT_FILE is the path of the input as a file, and an asset is at $MANTA_ASSETS followed by its path. mpipe, mcat, msplit, mtee and maggr are on the PATH: cloud help job-tools.\nCtrl-C stops waiting, not the job.',
  arguments: {
    input: some('Object, or quoted pattern of objects; - for paths from stdin, the default if stdin is not a terminal', {
      values: 'path',
    }),
  },
  options: {
    ...jobOptions,
    ...readingNames,
    detach: flag('Show the job and do not wait for it', { short: 'd' }),
    waitTimeout: duration('Maximum time to wait for the job'),
  },
  fields: recordFields,
  changes: true,
  run: async (invocation) => {
    const { args, options, note, resumed } = invocation;
    if (resumed) return await goOnFeeding(invocation, resumed);
    const isTaken = options.from === '-';
    if (isTaken && args.input.includes('-')) throw new UsageError('stdin cannot contain both the job and its inputs');
    const job = await readNewJob(invocation, options);
    const inputs = isTaken && args.input.length === 0 ? [] : await gatherInputs(invocation, args.input, chooseForm(options));
    const id = await createJob(invocation, job);
    note(`Created job ${id}`);
    const list = listInputs(inputs, args.input);
    const entry = await beginEntry(invocation, id, list);
    const fed = await feedAll(invocation, { id, inputs: list ? splitList(list) : inputs, before: 0, entry });
    if (options.detach) return record(await readJob(invocation, id), { id: 'id' });
    const teller = createTeller(invocation, id);
    const done = await waitForJob(invocation, id, options.waitTimeout, teller.tell);
    note(`Job ${id} ${describeEnd(done)}`);
    const outputs = await findOutputs(invocation, done, fed);
    // Prints the failures that were not printed yet.
    const end = (): Promise<void> => checkJob(invocation, done, { teller, inputs: fed.places.size || fed.count });
    if (!wantsRows(invocation)) return bytes(readContents(invocation, outputs, end));
    return records(listRunRecords(invocation, done, outputs, end), recordShape);
  },
  examples: [
    { line: "cloud jobs run --map wc 'logs/*.txt'", help: 'Run a command for each object of a pattern' },
    {
      line: `cloud jobs run --map 'grep -c ERROR || true' --reduce "awk '{s+=\\$1} END {print s}'" logs/a.txt logs/b.txt`,
      help: 'Count matches in each object, and add them up',
    },
    {
      line: 'cloud stor find logs --name "*.txt" -o name | cloud jobs run --map wc --reduce cat',
      help: 'Read the inputs from a pipe',
    },
    {
      line: 'cloud jobs run --map \'bash "$MANTA_ASSETS/demo/stor/count.sh"\' --asset count.sh logs/a.txt',
      help: 'Run your own script',
    },
    {
      line: `cloud jobs run --map wc 'logs/*.txt' -o jsonl --jq 'select(.type == "output") | .content'`,
      help: 'Print the job, outputs and errors as records',
    },
  ],
});
