import { sql, type RawBuilder, type Transaction } from 'kysely';
import { groupBy } from '../../base/group-by.ts';
import type { ServiceSettings } from '../settings.ts';
import { discardContents, removeGarbage, type Garbage } from '../storage/garbage.ts';
import { listRows, listValues } from '../store/list-rows.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob } from './active-job.ts';
import { describeFailure, fillTemplate, type Failed } from './error-record.ts';
import { lockJob } from './find.ts';
import { claimedState, isHeld } from './leases.ts';
import { listStored, putNamed, putObjects, settleObjects } from './record-objects.ts';
import { addPhaseInputs, advancePhases, listPhases, updatePhase, type PhaseInput } from './progress.ts';
import type { NewObject } from './outcome.ts';
import type { Result } from './result.ts';

/** Maximum number of error causes that a job stores separately. */
const mostCauses = 500;

type Of<K extends Result['kind']> = Extract<Result, { kind: K }>;

function pick<K extends Result['kind']>(results: readonly Result[], kind: K): Of<K>[] {
  return results.filter((result): result is Of<K> => result.kind === kind);
}

/** How an outcome changes the row of its task. */
const changes = {
  output: { state: 'done' },
  failure: { state: 'failed' },
  retry: { tries: sql<number>`tries + 1` },
  postponed: { tries: sql<number>`tries` },
} as const;

function changeOf(result: Result): keyof typeof changes {
  return result.kind === 'retry' && !result.counts ? 'postponed' : result.kind;
}

/** Updates the rows of tasks that are still held by the engine that ran them. @returns the outcomes that count */
async function settleTasks<R extends Result>(transaction: Transaction<Schema>, job: string, results: readonly R[]): Promise<R[]> {
  const settled: R[] = [];
  for (const group of groupBy(results, (result) => `${changeOf(result)}/${result.task.phase.number}/${result.task.attempt}`).values()) {
    const [first] = group;
    if (!first) continue;
    const { phase, attempt } = first.task;
    const rows = await transaction
      .updateTable('job_tasks')
      .set(changes[changeOf(first)])
      .where('job', '=', job)
      .where('phase', '=', phase.number)
      .where('number', 'in', listNumbers(transaction, group))
      .where('state', '=', claimedState(transaction))
      .where('attempt', '=', attempt)
      .where(isHeld(transaction))
      .returning('number')
      .execute();
    const numbers = new Set(rows.map(({ number }) => number));
    settled.push(...group.filter(({ task }) => numbers.has(task.number)));
    if (first.kind !== 'retry') await updatePhase(transaction, { job, phase: phase.number }, { finished: numbers.size });
  }
  return settled;
}

function listNumbers(transaction: Transaction<Schema>, results: readonly Result[]): RawBuilder<number> {
  const numbers = JSON.stringify(results.map(({ task }) => task.number));
  return sql`(select cast(value as bigint) from ${listValues(transaction, numbers)})`;
}

/** Marks tasks as failed whose outputs turned out not to be storable. */
async function failSettled(transaction: Transaction<Schema>, job: string, failures: readonly Of<'failure'>[]): Promise<void> {
  for (const [phase, group] of groupBy(failures, ({ task }) => task.phase.number)) {
    const query = transaction.updateTable('job_tasks').set(changes.failure).where('job', '=', job).where('phase', '=', phase);
    await query.where('number', 'in', listNumbers(transaction, group)).execute();
  }
}

/**
 * Outcomes that will never be recorded, because the task was claimed again or waits. If a task is finished, an earlier try of this same
 * transaction may have been committed without a response, so its outcome is not refused.
 */
async function findRefused(transaction: Transaction<Schema>, job: string, late: readonly Result[]): Promise<Result[]> {
  const refused: Result[] = [];
  for (const [phase, group] of groupBy(late, ({ task }) => task.phase.number)) {
    const rows = await transaction
      .selectFrom('job_tasks')
      .select(['number', 'attempt', 'state'])
      .where('job', '=', job)
      .where('phase', '=', phase)
      .where('number', 'in', listNumbers(transaction, group))
      .execute();
    const found = new Map(rows.map((row) => [row.number, row]));
    for (const result of group) {
      const row = found.get(result.task.number);
      if (row && (row.attempt > result.task.attempt || row.state === 'waiting')) refused.push(result);
    }
  }
  return refused;
}

/** Passes outputs on: to the next phase, or to the outputs of the job. @returns the number of job outputs added */
async function passOutputs(
  transaction: Transaction<Schema>,
  job: ActiveJob,
  outputs: readonly Of<'output'>[],
  first: number,
): Promise<number> {
  const phases = await listPhases(transaction, job.id);
  let final = 0;
  for (const [number, group] of groupBy(outputs, ({ task }) => task.phase.number)) {
    const next = phases[number + 1];
    if (next) {
      const inputs = group.flatMap(({ task: { origin, adder }, output }) =>
        output.outputs.map(({ path, given, reducer }): PhaseInput => ({ input: path, origin, adder, given, reducer })),
      );
      await addPhaseInputs(transaction, next, inputs);
    } else {
      const rows = group.flatMap(({ output }) => output.outputs.map(({ path, given }) => [path, given]));
      await sql`
        insert into job_outputs (job, number, output, given)
        select ${job.id}, ${first} + key, value ->> 0, cast(value ->> 1 as bigint) from ${listRows(transaction, rows)}`.execute(
        transaction,
      );
      final = rows.length;
    }
  }
  return final;
}

async function addErrors(
  transaction: Transaction<Schema>,
  job: ActiveJob,
  failed: readonly Failed[],
  first: number,
  server: string,
): Promise<void> {
  if (failed.length === 0) return;
  const causes = await readCauses(transaction, job.id);
  const rows = [];
  for (const [index, result] of failed.entries()) {
    const { record, input, template } = describeFailure(result, server);
    const cause = template === undefined ? undefined : (causes.get(template) ?? (await addCause(transaction, job.id, causes, template)));
    const isWhole = template !== undefined && cause === undefined;
    const whole = isWhole ? JSON.stringify(fillTemplate(template, { job: job.id, number: first + index, input: input ?? '' })) : record;
    rows.push([whole, input, cause ?? null]);
  }
  await sql`
    insert into job_errors (job, number, record, input, cause)
    select ${job.id}, ${first} + key, value ->> 0, value ->> 1, cast(value ->> 2 as bigint) from ${listRows(transaction, rows)}`.execute(
    transaction,
  );
}

/** The causes of a job's errors so far, by template. */
async function readCauses(transaction: Transaction<Schema>, job: string): Promise<Map<string, number>> {
  const rows = await transaction.selectFrom('job_causes').select(['cause', 'template']).where('job', '=', job).execute();
  return new Map(rows.map(({ cause, template }) => [template, cause]));
}

/** Adds a cause; undefined if there are so many that reading them costs more than they save. */
async function addCause(
  transaction: Transaction<Schema>,
  job: string,
  causes: Map<string, number>,
  template: string,
): Promise<number | undefined> {
  const cause = causes.size;
  if (cause >= mostCauses) return undefined;
  causes.set(template, cause);
  await transaction.insertInto('job_causes').values({ job, cause, template }).execute();
  return cause;
}

/** The errors of outcomes. Inputs that a reducer could not read come before the reducer's own outcome. */
function listErrors(results: readonly Result[]): Failed[] {
  return results.flatMap((result) => {
    const { task, zone, complaints = [] } = result;
    // A retried task reports its complaints again.
    if (result.kind === 'retry') return [];
    const errors: Failed[] = complaints.map((complaint) => ({ task, zone, ...complaint }));
    return result.kind === 'failure' ? [...errors, result] : errors;
  });
}

interface RecordOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Name of this server in error records. */
  readonly server: string;
  /** Limits of accounts that have no limits of their own. */
  readonly settings: ServiceSettings;
}

interface Recorded {
  readonly isOver: boolean;
  /** Objects whose contents nothing refers to. */
  readonly unused: readonly NewObject[];
  readonly garbage: readonly Garbage[];
  /** Number of outcomes refused because other engines have claimed the tasks. */
  readonly refused: number;
}

async function recordJob(
  transaction: Transaction<Schema>,
  job: ActiveJob,
  given: readonly Result[],
  { now, server, settings }: RecordOptions,
): Promise<Recorded> {
  const row = await lockJob(transaction, job.id);
  if (row?.state !== 'running') return { isOver: false, unused: [], garbage: [], refused: 0 };
  const mine = await settleTasks(transaction, job.id, given);
  const late = mine.length === given.length ? [] : given.filter((result) => !mine.includes(result));
  const refused = await findRefused(transaction, job.id, late);
  const { settled: results, unused } = await settleObjects(transaction, mine, settings);
  const [outputs, failures] = [pick(results, 'output'), pick(results, 'failure')];
  if (outputs.length < pick(mine, 'output').length) await failSettled(transaction, job.id, failures);
  const failed = listErrors(results);
  const objects = [...outputs.flatMap(({ output }) => output.objects), ...failed.flatMap(({ failure }) => failure.objects ?? [])];
  await putObjects(transaction, objects, now);
  const named = outputs.flatMap(({ output }) => output.named);
  const garbage = await putNamed(transaction, named, now);
  await addErrors(transaction, job, failed, row.errors, server);
  const added = await passOutputs(transaction, job, outputs, row.outputs);
  const retries = row.retries + pick(results, 'retry').length;
  const counts = { outputs: row.outputs + added, errors: row.errors + failed.length, retries };
  await transaction.updateTable('jobs').set(counts).where('id', '=', job.id).execute();
  const isOver = await advancePhases(transaction, job.id, row.input_done === 1);
  return { isOver, unused: [...unused, ...refused.flatMap(listStored)], garbage, refused: refused.length };
}

/**
 * Records outcomes of tasks in one transaction, so that an output exists exactly when its task is done. Outcomes of tasks that another
 * engine has claimed are refused.
 * @returns the jobs that are now over, and the number of refused outcomes
 */
export async function recordResults(
  store: Store,
  results: readonly Result[],
  at: RecordOptions,
): Promise<{ over: ActiveJob[]; refused: number }> {
  // Jobs are locked in a fixed order, so that two engines never deadlock.
  const groups = [...groupBy(results, ({ task }) => task.job)].toSorted(([left], [right]) => (left.id < right.id ? -1 : 1));
  const { over, unused, replaced, refused } = await store.writeEntry(async (transaction) => {
    const over: ActiveJob[] = [];
    const unused: NewObject[] = [];
    const replaced: Garbage[] = [];
    let refused = 0;
    for (const [job, group] of groups) {
      const { isOver, unused: objects, garbage, refused: late } = await recordJob(transaction, job, group, at);
      if (isOver) over.push(job);
      unused.push(...objects);
      replaced.push(...garbage);
      refused += late;
    }
    return { over, unused, replaced, refused };
  });
  await discardContents(store, unused);
  await removeGarbage(store, replaced);
  return { over, refused };
}
