import { randomUUID } from 'node:crypto';
import { sql, type Transaction } from 'kysely';
import { chooseObjectHeaders, defaultCopies } from '../storage/headers.ts';
import { ensureDirectory } from '../storage/entries.ts';
import { parentOf } from '../storage/paths.ts';
import { listRows } from '../store/list-rows.ts';
import type { JobTaskRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, Failure, NewObject, Task } from './active-job.ts';
import { describeFailure } from './error-record.ts';
import { addPhaseInputs, advancePhases, listPhases, updatePhase, type PhaseInput } from './progress.ts';

/** What became of a task. */
export type Result = { readonly task: Task; readonly zone: string } & (
  | { readonly kind: 'output'; readonly output: NewObject }
  | { readonly kind: 'failure'; readonly failure: Failure }
  /** The service failed it: it is to be done again. */
  | { readonly kind: 'retry' }
  /** An input of a reducer that could not be read; the reducer itself goes on. */
  | { readonly kind: 'complaint'; readonly input: string; readonly failure: Failure }
);

type Of<K extends Result['kind']> = Extract<Result, { kind: K }>;

function pick<K extends Result['kind']>(results: readonly Result[], kind: K): Of<K>[] {
  return results.filter((result): result is Of<K> => result.kind === kind);
}

/** Makes objects, and the directories that they are in; each has the role tags of its directory. */
export async function putObjects(transaction: Transaction<Schema>, objects: readonly NewObject[], now: number): Promise<void> {
  for (const [parent, group] of groupBy(objects, ({ place }) => place.parent)) {
    const above = group[0] && parentOf(group[0].place);
    const roleTags = above ? await ensureDirectory(transaction, above, now) : '[]';
    const headers = group[0] && JSON.stringify(chooseObjectHeaders({}, group[0].place));
    const rows = group.map(({ place, content, size, md5 }) => [place.name, randomUUID(), size, md5, content]);
    await sql`
      insert into entries (parent, name, type, etag, mtime, size, md5, content, copies, headers, role_tags, children)
      select ${parent}, value ->> 0, 'object', value ->> 1, ${now}, value ->> 2, value ->> 3, value ->> 4,
        ${defaultCopies}, ${headers}, ${roleTags}, 0
      from ${listRows(rows)}`.execute(transaction);
    if (!above) continue;
    await transaction
      .updateTable('entries')
      .set({ children: sql`children + ${group.length}` })
      .where('parent', '=', above.parent)
      .where('name', '=', above.name)
      .execute();
  }
}

function groupBy<T, K>(list: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of list) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
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
      .where('number', 'in', sql<number>`(select value from ${listRows(numbers)})`)
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
      const inputs: PhaseInput[] = group.map(({ task, output }) => ({ input: output.place.path, origin: task.origin }));
      await addPhaseInputs(transaction, next, inputs);
    } else {
      const paths = group.map(({ output }) => output.place.path);
      await sql`insert into job_outputs (job, number, output) select ${job.id}, ${first} + key, value from ${listRows(paths)}`.execute(
        transaction,
      );
      final = paths.length;
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
  const rows = failed.map((result) => {
    const { record, input } = describeFailure(result, server);
    return [record, input];
  });
  await sql`
    insert into job_errors (job, number, record, input)
    select ${job.id}, ${first} + key, value ->> 0, value ->> 1 from ${listRows(rows)}`.execute(transaction);
}

async function recordJob(
  transaction: Transaction<Schema>,
  job: ActiveJob,
  results: readonly Result[],
  { now, server }: { now: number; server: string },
): Promise<boolean> {
  const row = await transaction.selectFrom('jobs').selectAll().where('id', '=', job.id).executeTakeFirst();
  if (row?.state !== 'running') return false;
  const [outputs, failures] = [pick(results, 'output'), pick(results, 'failure')];
  const [retries, complaints] = [pick(results, 'retry'), pick(results, 'complaint')];
  const failed = [...complaints, ...failures];
  const objects = [...outputs.map(({ output }) => output), ...failed.flatMap(({ failure }) => failure.objects ?? [])];
  await putObjects(transaction, objects, now);
  await setStates(transaction, job.id, outputs, 'done');
  await setStates(transaction, job.id, failures, 'failed');
  await setStates(transaction, job.id, retries, 'waiting');
  await addErrors(transaction, job, failed, row.errors, server);
  const added = await passOutputs(transaction, job, outputs, row.outputs);
  const counts = { outputs: row.outputs + added, errors: row.errors + failed.length, retries: row.retries + retries.length };
  await transaction.updateTable('jobs').set(counts).where('id', '=', job.id).execute();
  return advancePhases(transaction, job.id, row.input_done === 1);
}

/**
 * Records what became of tasks, all in one transaction: an output is there exactly when its task is done.
 * @returns the jobs that are over with it.
 */
export function recordResults(store: Store, results: readonly Result[], at: { now: number; server: string }): Promise<ActiveJob[]> {
  return store.write(async (transaction) => {
    const over: ActiveJob[] = [];
    for (const [job, group] of groupBy(results, ({ task }) => task.job)) if (await recordJob(transaction, job, group, at)) over.push(job);
    return over;
  });
}
