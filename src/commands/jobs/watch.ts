import type { JobError, Phase } from '../../api/objects.ts';
import { command, type Context } from '../../cli/command.ts';
import { duration, one } from '../../cli/parameters.ts';
import { InterruptedError } from '../../base/errors.ts';
import { flatMapEach, mapEach } from '../../base/iterate.ts';
import { canDraw, createBottomLines } from '../../output/bottom-lines.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records } from '../../output/kinds.ts';
import { truncate } from '../../output/width.ts';
import { findJob, type KnownJob } from './find.ts';
import { createJobBar } from './job-bar.ts';
import { createReader } from './streams.ts';
import { describeError } from './task-errors.ts';
import { describeEnd, describeProgress, hintAttach, pollJob } from './wait.ts';

/** An event of a job that is watched. */
type Event = { event: 'job' | 'progress' | 'done'; job: KnownJob } | { event: 'error'; error: JobError };

function describePhase({ type = 'map', exec, count }: Phase, index: number): string {
  return `  phase ${index}: ${type}${count === undefined || count === 1 ? '' : ` (${count} reducers)`}: ${exec}`;
}

function describeEvent(event: Event): string[] {
  if (event.event === 'error') return [`error: ${describeError(event.error)}`];
  const { job } = event;
  if (event.event === 'progress') return [describeProgress(job)];
  if (event.event === 'done') return [describeEnd(job)];
  const name = job.name === undefined || job.name === '' ? '' : ` "${job.name}"`;
  return [`job ${job.id}${name}`, ...(job.phases ?? []).map(describePhase)];
}

/** Yields the events since the last state of a job. */
async function* look(reader: ReturnType<typeof createReader<'errors'>>, job: KnownJob, last: KnownJob | undefined): AsyncGenerator<Event> {
  const isDone = job.state === 'done';
  if (last === undefined) yield { event: 'job', job };
  // If the service counts errors, their stream is read only when the count has changed.
  if (last === undefined || isDone || job.stats === undefined || job.stats['errors'] !== last.stats?.['errors']) {
    for await (const error of reader.readNew(isDone)) yield { event: 'error', error };
  }
  if (isDone) yield { event: 'done', job };
  else if (last === undefined || describeProgress(job) !== describeProgress(last)) yield { event: 'progress', job };
}

/** Yields the events of a job until it is done. @param onLook called with each state before the last, after its events */
async function* watchJob(
  context: Context,
  id: string,
  timeout: number | undefined,
  onLook: (job: KnownJob) => void,
): AsyncGenerator<Event> {
  const reader = createReader(context, id, 'errors');
  let last: KnownJob | undefined;
  try {
    for await (const job of pollJob(context, id, timeout)) {
      yield* look(reader, job, last);
      if (job.state !== 'done') onLook(job);
      last = job;
    }
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    throw new InterruptedError(`stopped watching: job ${id} continues`, { hint: hintAttach(id), cause: error });
  }
}

/** Events as flat records: `{time, event, ...}` with the fields of the job or of the error. */
function toRows(events: AsyncIterable<Event>, now: () => number): AsyncGenerator<object> {
  return mapEach(events, (each) => {
    const time = new Date(now()).toISOString();
    return { time, event: each.event, ...(each.event === 'error' ? each.error : each.job) };
  });
}

function toLines(events: AsyncIterable<Event>): AsyncGenerator<Uint8Array> {
  return flatMapEach(events, (event) => describeEvent(event).map((line) => Buffer.from(`${escapeControl(line)}\n`)));
}

/** Lines for a terminal: instead of progress events, a progress bar is redrawn in the last line. */
async function* toDrawnLines(
  { world }: Context,
  start: (onLook: (job: KnownJob) => void) => AsyncIterable<Event>,
): AsyncGenerator<Uint8Array> {
  const bottom = createBottomLines(world.stderr);
  const describeBar = createJobBar(world.now);
  const drawn = start((job) => bottom.draw([truncate(escapeControl(describeBar(job)), Math.max(20, world.stderr.columns() - 1))]));
  const told = flatMapEach(drawn, (event) => (event.event === 'progress' ? [] : [event]));
  try {
    for await (const line of toLines(told)) {
      bottom.erase();
      yield line;
    }
  } finally {
    bottom.erase();
  }
}

export const watch = command({
  summary: 'Show the progress of a job until it is done',
  description:
    'Shows the phases, the tasks done and left, and errors as they happen. On a terminal, the last line is a progress bar with the rate. In JSON lines, each event is a record with time and event: job, progress, error or done. Ctrl-C stops watching, not the job.',
  arguments: { job: one('Id, first characters of an id, or name', { values: 'job' }) },
  options: { waitTimeout: duration('Maximum time to watch') },
  run: async (invocation) => {
    const { args, options, global, world } = invocation;
    const id = await findJob(invocation, args.job);
    const start = (onLook: (job: KnownJob) => void): AsyncIterable<Event> => watchJob(invocation, id, options.waitTimeout, onLook);
    const silently = (): void => undefined;
    if ((global.output === undefined || global.output === 'table') && !global.json) {
      const draws = world.stdout.isTerminal && canDraw(world.stderr, world.env) && !global.quiet;
      return bytes(draws ? toDrawnLines(invocation, start) : toLines(start(silently)));
    }
    return records(toRows(start(silently), world.now), { columns: ['time', 'event', 'state', 'stats', 'message'], id: 'event' });
  },
  examples: [
    { line: 'cloud jobs watch count', help: 'Until it is done' },
    { line: 'cloud jobs watch count -o jsonl | jq -r .event', help: 'For programs' },
  ],
});
