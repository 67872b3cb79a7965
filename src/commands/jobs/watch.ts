import type { JobError, Phase } from '../../api/objects.ts';
import { command, type Context } from '../../cli/command.ts';
import { duration, one } from '../../cli/parameters.ts';
import { InterruptedError } from '../../base/errors.ts';
import { escapeControl } from '../../output/escape.ts';
import { bytes, records } from '../../output/kinds.ts';
import { findJob, type KnownJob } from './find.ts';
import { createReader } from './streams.ts';
import { describeError } from './task-errors.ts';
import { describeEnd, describeProgress, hintAttach, pollJob } from './wait.ts';

/** Something that happened to a job that is watched. */
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

/** What is new at one look at a job. */
async function* look(reader: ReturnType<typeof createReader<'errors'>>, job: KnownJob, last: KnownJob | undefined): AsyncGenerator<Event> {
  const isDone = job.state === 'done';
  if (last === undefined) yield { event: 'job', job };
  // Where the service counts errors, their stream is read only when there are more.
  if (last === undefined || isDone || job.stats === undefined || job.stats['errors'] !== last.stats?.['errors']) {
    for await (const error of reader.readNew(isDone)) yield { event: 'error', error };
  }
  if (isDone) yield { event: 'done', job };
  else if (last === undefined || describeProgress(job) !== describeProgress(last)) yield { event: 'progress', job };
}

/** What happens to a job from now on until it is done. */
async function* watchJob(context: Context, id: string, timeout: number | undefined): AsyncGenerator<Event> {
  const reader = createReader(context, id, 'errors');
  let last: KnownJob | undefined;
  try {
    for await (const job of pollJob(context, id, timeout)) {
      yield* look(reader, job, last);
      last = job;
    }
  } catch (error) {
    if (!(error instanceof InterruptedError)) throw error;
    throw new InterruptedError(`no longer watching: job ${id} goes on`, { hint: hintAttach(id), cause: error });
  }
}

/** Events as flat records: `{time, event, ...}` with the fields of the job or of the error. */
async function* toRows(events: AsyncIterable<Event>, now: () => number): AsyncGenerator<object> {
  for await (const each of events) {
    const time = new Date(now()).toISOString();
    yield { time, event: each.event, ...(each.event === 'error' ? each.error : each.job) };
  }
}

async function* toLines(events: AsyncIterable<Event>): AsyncGenerator<Uint8Array> {
  for await (const event of events) for (const line of describeEvent(event)) yield Buffer.from(`${escapeControl(line)}\n`);
}

export const watch = command({
  summary: 'Show what happens to a job until it is done',
  description:
    'Shows the phases, tasks done and left, and errors as they happen. In JSON lines each event is a record with time and event: job, progress, error or done. Ctrl-C ends the watching, not the job.',
  arguments: { job: one('Id, beginning of an id, or name', { values: 'job' }) },
  options: { waitTimeout: duration('Longest time to watch') },
  run: async (invocation) => {
    const { args, options, global, world } = invocation;
    const events = watchJob(invocation, await findJob(invocation, args.job), options.waitTimeout);
    if ((global.output === undefined || global.output === 'table') && !global.json) return bytes(toLines(events));
    return records(toRows(events, world.now), { columns: ['time', 'event', 'state', 'stats', 'message'], id: 'event' });
  },
  examples: [
    { line: 'cloud jobs watch count', help: 'Until it is done' },
    { line: 'cloud jobs watch count -o jsonl | jq -r .event', help: 'For programs' },
  ],
});
