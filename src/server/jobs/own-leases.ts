import { sql, type Kysely } from 'kysely';
import { quietly } from '../../base/errors.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { claimedColumns, type ActiveJob, type ActivePhase, type ClaimedRow, type Task } from './active-job.ts';
import type { TaskLeases } from './task-leases.ts';
import { createRunningTasks, nameTask, readRunningTasks, type RunningTasks, type TaskKey } from './running-tasks.ts';

/** The state is part of the text of the query, because with a parameter SQLite does not use the index of waiting tasks. */
function look(db: Kysely<Schema>, job: ActiveJob, phase: ActivePhase, limit: number): Promise<ClaimedRow[]> {
  return db
    .selectFrom('job_tasks')
    .select(claimedColumns)
    .where('state', '=', sql.lit('waiting'))
    .where('job', '=', job.id)
    .where('phase', '=', phase.number)
    .where('number', '>', phase.claimed)
    .orderBy('number')
    .limit(limit)
    .execute();
}

function findWaiting(db: Kysely<Schema>, { job, phase, number }: TaskKey): Promise<ClaimedRow | undefined> {
  const query = db.selectFrom('job_tasks').select(claimedColumns).where('state', '=', 'waiting').where('job', '=', job);
  return query.where('phase', '=', phase).where('number', '=', number).executeTakeFirst();
}

function keyOf({ job, phase, number }: Task): TaskKey {
  return { job: job.id, phase: phase.number, number };
}

/**
 * Leases where one process has the database to itself: no lease is written. Tasks that ran when the process died are suspects: of these, one
 * at a time runs, so that a task which kills its process can be told from the others.
 * @param file of the running tasks; undefined if a death of the process does not count
 */
export function createOwnLeases(store: Store, file: string | undefined): TaskLeases {
  const { db } = store;
  const suspects = new Map<string, TaskKey & { mark?: ReturnType<RunningTasks['add']> | undefined }>();
  let running: RunningTasks | undefined;
  let held: { name: string; task: Task | undefined } | undefined;

  async function takeSuspect(job: ActiveJob, phase: ActivePhase): Promise<ClaimedRow[]> {
    for (const [name, suspect] of suspects) {
      if (held || suspect.job !== job.id || suspect.phase !== phase.number) continue;
      held = { name, task: undefined };
      try {
        const row = await findWaiting(db, suspect);
        if (row) return [row];
      } catch (error) {
        held = undefined;
        throw error;
      }
      forgetSuspect(name);
    }
    return [];
  }

  function forgetSuspect(name: string): void {
    suspects.get(name)?.mark?.(undefined);
    suspects.delete(name);
    if (held?.name === name) held = undefined;
  }

  return {
    isShared: false,
    claim: async (job, phase, limit) => {
      const rows = await look(db, job, phase, limit + suspects.size);
      const others = rows.filter(({ number }) => !suspects.has(nameTask({ job: job.id, phase: phase.number, number })));
      return [...(await takeSuspect(job, phase)), ...others];
    },
    keep: (tasks) => {
      for (const task of tasks) if (held?.name === nameTask(keyOf(task))) held.task = task;
    },
    forget: (tasks) => {
      for (const task of tasks) if (held?.name === nameTask(keyOf(task))) forgetSuspect(held.name);
    },
    list: (job) => (held?.task && (job === undefined || held.task.job.id === job) ? [held.task] : []),
    giveBack: async (tasks) => {
      if (tasks.some((task) => held?.name === nameTask(keyOf(task)))) held = undefined;
    },
    renew: async () => [],
    collectLost: async () => {
      if (file === undefined) return 0;
      const found = readRunningTasks(file);
      await store.write(async (transaction) => {
        for (const { mark, job, phase, number } of found) {
          if (mark !== 'running') continue;
          const query = transaction.updateTable('job_tasks').set(({ eb }) => ({ lost: eb('lost', '+', 1) }));
          await query
            .where('state', '=', 'waiting')
            .where('job', '=', job)
            .where('phase', '=', phase)
            .where('number', '=', number)
            .execute();
        }
      });
      // Without the file, a death of this process does not count.
      running = quietly(() => createRunningTasks(file), undefined);
      for (const key of found) if (await findWaiting(db, key)) suspects.set(nameTask(key), { ...key, mark: running?.add(key, 'suspect') });
      return suspects.size;
    },
    begin: (task) => {
      const name = nameTask(keyOf(task));
      const suspect = suspects.get(name);
      if (!suspect) {
        const mark = running?.add(keyOf(task), 'running');
        return () => mark?.(undefined);
      }
      suspect.mark?.('running');
      return () => {
        if (suspects.has(name)) suspect.mark?.('suspect');
      };
    },
    close: () => running?.close(),
  };
}
