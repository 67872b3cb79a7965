import { job as jobShape, jobError, type Job, type JobError, type Phase } from '../../api/objects.ts';
import { mapEach } from '../../base/iterate.ts';
import { command, type Context } from '../../cli/command.ts';
import { choice, flag, one, text } from '../../cli/parameters.ts';
import { getCommand, listCommand } from '../../cli/shapes.ts';
import { bytes, records, texts, type ColumnsOf, type Output } from '../../output/kinds.ts';
import { readContents } from './contents.ts';
import { findJob, listJobEntries, listJobs, readJob, type JobContext } from './find.ts';
import { readStream, type StreamName } from './streams.ts';
import { addStderr, describeError, quoteStderr } from './task-errors.ts';

/** Columns of a list of jobs. */
export const jobColumns: ColumnsOf<Job> = [
  'id',
  'name',
  'state',
  'cancelled',
  { key: 'inputDone', title: 'INPUT-DONE', long: true },
  { key: 'timeCreated', title: 'CREATED', as: 'time' },
  { key: 'timeDone', title: 'DONE', as: 'time', long: true },
  { key: 'stats.tasks', title: 'TASKS', as: 'number', long: true },
  { key: 'stats.outputs', title: 'OUTPUTS', as: 'number', long: true },
  { key: 'stats.errors', title: 'ERRORS', as: 'number' },
  { key: 'phases', title: 'DOES', as: describePhases },
];

/** Formats the commands of a job in one line: `grep -c x | reduce: sort`. */
function describePhases(phases: unknown): string {
  return (phases as readonly Phase[]).map(({ type, exec }) => (type === 'reduce' ? `reduce: ${exec}` : exec)).join(' | ');
}

export const list = listCommand({
  summary: 'List the jobs of the account',
  description: 'A table has the newest job first. Other formats have the order of the service unless --sort says otherwise.',
  aliases: ['ls'],
  options: {
    state: choice('Filter by state; live is queued or running', ['running', 'live', 'queued', 'done'], { placeholder: 'STATE' }),
    name: text('Filter by name', { placeholder: 'NAME', mayBeEmpty: true }),
  },
  columns: jobColumns,
  id: 'id',
  shape: jobShape,
  order: '-timeCreated',
  fetch: (invocation) => {
    const { global, options } = invocation;
    const { state, name } = options;
    const idsAlone =
      global.output === 'name' && global.sort === undefined && name === undefined && (state === undefined || state === 'running');
    // Ids alone need no request for each job.
    return idsAlone
      ? mapEach(listJobEntries(invocation, { state }), (entry) => ({ id: entry.name }))
      : listJobs(invocation, { state, name });
  },
  examples: [
    { line: 'cloud jobs list', help: 'All jobs, newest first' },
    { line: 'cloud jobs list --state running -o name', help: 'Ids of running jobs' },
  ],
});

export const get = getCommand({
  summary: 'Show a job',
  argument: 'job',
  help: 'Id, first characters of an id, or name',
  values: 'job',
  id: 'id',
  listed: jobColumns,
  shape: jobShape,
  fetch: async (context, word) => await readJob(context, await findJob(context, word)),
  examples: [
    { line: 'cloud jobs get count', help: 'A job by its name' },
    { line: 'cloud jobs list -o name | xargs cloud jobs get', help: 'Several, as a table' },
    { line: 'cloud jobs get count -o yaml > job.yaml', help: 'For cloud jobs create --from job.yaml' },
  ],
});

const jobArgument = one('Id, first characters of an id, or name', { values: 'job' });
const follow = flag('Print new records until the job is done', { short: 'f' });

/** Shows paths as plain lines if the output is a table and the stream is followed: a table would wait for all rows to measure columns. */
function showPaths({ global }: Pick<Context, 'global'>, paths: AsyncIterable<string>, isFollowed: boolean): Output {
  const isTable = global.output === undefined && !global.json;
  if (!isTable || !isFollowed)
    return records(
      mapEach(paths, (path) => ({ path })),
      { columns: ['path'], id: 'path' },
    );
  return texts(printLines(paths));
}

function printLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  return mapEach(lines, (line) => `${line}\n`);
}

function streamCommand(name: Exclude<StreamName, 'errors' | 'outputs'>, summary: string, examples: { line: string; help: string }[]) {
  return command({
    summary,
    arguments: { job: jobArgument },
    options: { follow },
    examples,
    run: async (invocation) => {
      const { args, options } = invocation;
      return showPaths(invocation, readStream(invocation, await findJob(invocation, args.job), name, options.follow), options.follow);
    },
  });
}

export const inputs = streamCommand('inputs', 'List the inputs of a job', [
  { line: 'cloud jobs inputs count', help: 'Inputs added so far' },
  { line: 'cloud jobs inputs count -o name | wc -l', help: 'Number of inputs' },
]);

export const failures = streamCommand('failures', 'List the inputs of a job that failed', [
  { line: 'cloud jobs failures count', help: 'Their paths' },
  { line: 'cloud jobs failures count -o name | cloud jobs run --map wc', help: 'Try them again' },
]);

export const outputs = command({
  summary: 'List the outputs of a job, or print their content',
  arguments: { job: jobArgument },
  options: { follow, cat: flag('Print the content of the outputs in sequence') },
  run: async (invocation) => {
    const { args, options } = invocation;
    const paths = readStream(invocation, await findJob(invocation, args.job), 'outputs', options.follow);
    return options.cat ? bytes(readContents(invocation, paths)) : showPaths(invocation, paths, options.follow);
  },
  examples: [
    { line: 'cloud jobs outputs count', help: 'Their paths' },
    { line: 'cloud jobs outputs count --cat', help: 'Their content' },
    { line: 'cloud jobs outputs count --follow --cat', help: 'Print new outputs until the job is done' },
  ],
});

async function* printErrors(context: JobContext, errors: AsyncIterable<JobError>, withStderr: boolean): AsyncGenerator<string> {
  for await (const error of withStderr ? addStderr(context, errors) : errors) {
    const { stderrText } = error as { stderrText?: string };
    yield describeError(error);
    if (stderrText !== undefined && stderrText !== '') yield* quoteStderr(stderrText);
  }
}

export const errors = command({
  summary: 'List the errors of a job',
  arguments: { job: jobArgument },
  options: { follow, stderr: flag('Include the stderr of each task; the field stderrText in JSON and YAML') },
  run: async (invocation) => {
    const { args, options, global } = invocation;
    const found = readStream(invocation, await findJob(invocation, args.job), 'errors', options.follow);
    const isTable = (global.output === undefined || global.output === 'table') && !global.json;
    if (isTable && (options.follow || options.stderr)) return texts(printLines(printErrors(invocation, found, options.stderr)));
    return records(options.stderr ? addStderr(invocation, found) : found, {
      columns: [
        { key: 'phaseNum', title: 'PHASE' },
        'code',
        'input',
        'message',
        { key: 'what', long: true },
        { key: 'server', long: true },
        { key: 'machine', long: true },
        { key: 'stderr', long: true },
        { key: 'core', long: true },
      ],
      id: 'input',
      fields: [...Object.keys(jobError.fields ?? {}), 'stderrText'],
    });
  },
  examples: [
    { line: 'cloud jobs errors count', help: 'What failed, and why' },
    { line: 'cloud jobs errors count --stderr', help: 'Include the stderr of the tasks' },
    { line: 'cloud jobs errors count --follow -o jsonl', help: 'As they happen, for programs' },
  ],
});
