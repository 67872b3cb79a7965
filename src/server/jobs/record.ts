import { sql, type Transaction } from 'kysely';
import { removeGarbage, type Garbage } from '../storage/contents.ts';
import { listRows, listValues } from '../store/list-rows.ts';
import type { JobTaskRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob } from './active-job.ts';
import { describeFailure, fillTemplate } from './error-record.ts';
import { groupBy, putNamed, putObjects, settleObjects } from './record-objects.ts';
import { addPhaseInputs, advancePhases, listPhases, updatePhase, type PhaseInput } from './progress.ts';
import type { Result } from './result.ts';

/** Causes of errors that a job keeps apart. */
const mostCauses = 500;

type Of<K extends Result['kind']> = Extract<Result, { kind: K }>;

function pick<K extends Result['kind']>(results: readonly Result[], kind: K): Of<K>[] {
  return results.filter((result): result is Of<K> => result.kind === kind);
}

async function setStates(
  transaction: Transaction<Schema>,
  job: string,
  results: readonly Result[],
  state: JobTaskRow['state'],
): Promise<void> {
  for (const [phase, group] of groupBy(results, ({ task }) => task.phase.number)) {
    const numbers = group.map(({ task }) => task.number);
    await transaction
      .updateTable('job_tasks')
      .set({ state, ...(state === 'waiting' && { tries: sql`tries + 1` }) })
      .where('job', '=', job)
      .where('phase', '=', phase)
      .where('number', 'in', sql<number>`(select cast(value as bigint) from ${listValues(transaction, JSON.stringify(numbers))})`)
      .execute();
    if (state !== 'waiting') await updatePhase(transaction, { job, phase }, { finished: numbers.length });
  }
}

/** Hands outputs on: to the next phase, or to the outputs of the job. */
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
  failed: readonly (Of<'failure'> | Of<'complaint'>)[],
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

/** The causes of a job's errors so far, by what their records have in common. */
async function readCauses(transaction: Transaction<Schema>, job: string): Promise<Map<string, number>> {
  const rows = await transaction.selectFrom('job_causes').select(['cause', 'template']).where('job', '=', job).execute();
  return new Map(rows.map(({ cause, template }) => [template, cause]));
}

/** Adds a cause, unless there are so many that to know them costs more than they save. */
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

async function recordJob(
  transaction: Transaction<Schema>,
  job: ActiveJob,
  given: readonly Result[],
  { now, server }: { now: number; server: string },
): Promise<{ isOver: boolean; unused: readonly string[]; garbage: readonly Garbage[] }> {
  const row = await transaction.selectFrom('jobs').selectAll().where('id', '=', job.id).executeTakeFirst();
  if (row?.state !== 'running') return { isOver: false, unused: [], garbage: [] };
  const { settled: results, unused } = await settleObjects(transaction, given);
  const [outputs, failures] = [pick(results, 'output'), pick(results, 'failure')];
  const [retries, complaints] = [pick(results, 'retry'), pick(results, 'complaint')];
  const failed = [...complaints, ...failures];
  const objects = [...outputs.flatMap(({ output }) => output.objects), ...failed.flatMap(({ failure }) => failure.objects ?? [])];
  await putObjects(transaction, objects, now);
  const named = outputs.flatMap(({ output }) => output.named);
  const garbage = await putNamed(transaction, named, now);
  await setStates(transaction, job.id, outputs, 'done');
  await setStates(transaction, job.id, failures, 'failed');
  await setStates(transaction, job.id, retries, 'waiting');
  await addErrors(transaction, job, failed, row.errors, server);
  const added = await passOutputs(transaction, job, outputs, row.outputs);
  const counts = { outputs: row.outputs + added, errors: row.errors + failed.length, retries: row.retries + retries.length };
  await transaction.updateTable('jobs').set(counts).where('id', '=', job.id).execute();
  return { isOver: await advancePhases(transaction, job.id, row.input_done === 1), unused, garbage };
}

/**
 * Records what became of tasks, all in one transaction: an output is there exactly when its task is done.
 * @returns the jobs that are over with it.
 */
export async function recordResults(store: Store, results: readonly Result[], at: { now: number; server: string }): Promise<ActiveJob[]> {
  const { over, contents, replaced } = await store.write(async (transaction) => {
    const over: ActiveJob[] = [];
    const contents: string[] = [];
    const replaced: Garbage[] = [];
    for (const [job, group] of groupBy(results, ({ task }) => task.job)) {
      const { isOver, unused, garbage } = await recordJob(transaction, job, group, at);
      if (isOver) over.push(job);
      contents.push(...unused);
      replaced.push(...garbage);
    }
    return { over, contents, replaced };
  });
  for (const content of contents) await store.bytes.remove(content).catch(() => undefined);
  await removeGarbage(store, replaced);
  return over;
}
