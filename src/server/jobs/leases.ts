import { sql, type Kysely, type RawBuilder } from 'kysely';
import { databaseTime } from '../store/database-time.ts';
import { isPostgres } from '../store/engine-of.ts';
import { listRows } from '../store/list-rows.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { claimedColumns, type ActiveJob, type ActivePhase, type ClaimedRow, type Task } from './active-job.ts';
import { createOwnLeases } from './own-leases.ts';
import { nameTask, type TaskKey } from './running-tasks.ts';
import type { TaskLeases } from './task-leases.ts';

/**
 * Decides which engine runs a task. On SQLite one process runs all of them: claiming a task only reads its row, and after a restart every
 * task without a recorded outcome runs again (`own-leases.ts`). On PostgreSQL a claim is a lease in the row of the task, which expires
 * unless it is renewed; times are those of the database's clock. On both, an outcome is recorded only for the attempt in the row.
 */

/** Duration of a lease, and interval of its renewal, in milliseconds. */
export const leaseTime = 10_000;
export const renewalTime = leaseTime / 3;

/**
 * Milliseconds after the expiry of a lease during which it can still be renewed, and outcomes recorded, unless `collectLost` has made the
 * task claimable again. Contents that nothing refers to are kept for longer than that.
 */
const graceTime = 600_000;

/**
 * Number of lost workers after which a task fails. Workers killed for other reasons take healthy tasks with them: with a limit of 4, two of
 * 12,000 tasks failed while 30 workers were killed in twenty minutes on a machine with a tenfold overload.
 */
export const mostLosses = 6;

/** Milliseconds that a task waits after it was lost once; doubled with each further loss. */
const firstPause = 500;

/** SQL condition: the lease of a task is in force or can still be renewed. */
export function isHeld(db: Kysely<Schema>): RawBuilder<boolean> {
  return isPostgres(db) ? sql<boolean>`lease > ${databaseTime} - cast(${graceTime} as bigint)` : sql<boolean>`true`;
}

/** The state in the table of a task that an engine has claimed. */
export function claimedState(db: Kysely<Schema>): 'waiting' | 'running' {
  return isPostgres(db) ? 'running' : 'waiting';
}

/**
 * Claims tasks in one statement that never waits for locks. With an array of numbers the planner looks up each of them, however little it
 * knows of the table.
 */
async function take(
  db: Kysely<Schema>,
  { owner, job, phase, limit }: { owner: string; job: string; phase: number; limit: number },
  which: RawBuilder<unknown>,
): Promise<ClaimedRow[]> {
  const { rows } = await sql<ClaimedRow>`
    update job_tasks set state = 'running', owner = ${owner}, lease = ${databaseTime} + cast(${leaseTime} as bigint), attempt = attempt + 1
    where job = ${job} and phase = ${phase} and number = any(array(
      select number from job_tasks where state = 'waiting' and job = ${job} and phase = ${phase} and ${which}
      order by number limit ${limit} for update skip locked
    ))
    returning ${sql.join(claimedColumns.map((column) => sql.ref(column)))}`.execute(db);
  return rows.toSorted((left, right) => left.number - right.number);
}

/** Changes rows of tasks that the engine which claimed them still holds. @returns the names of the changed tasks */
async function change(db: Kysely<Schema>, tasks: readonly Task[], assignments: RawBuilder<unknown>): Promise<ReadonlySet<string>> {
  const lists = tasks.map(({ job, phase, number, attempt }) => [job.id, phase.number, number, attempt]);
  const { rows } = await sql<TaskKey>`
    update job_tasks set ${assignments} from ${listRows(db, lists)}
    where state = 'running' and ${isHeld(db)} and job = value ->> 0 and phase = cast(value ->> 1 as bigint)
      and number = cast(value ->> 2 as bigint) and attempt = cast(value ->> 3 as bigint)
    returning job, phase, number`.execute(db);
  return new Set(rows.map(nameTask));
}

function nameOf({ job, phase, number }: Task): string {
  return nameTask({ job: job.id, phase: phase.number, number });
}

const nothing: readonly never[] = [];

/** How many more tasks of an account may run. Until the transaction ends, no other engine claims tasks of that account. */
async function findRoom(transaction: Kysely<Schema>, account: string, most: number): Promise<number> {
  await sql`select id from accounts where id = ${account} for no key update`.execute(transaction);
  const { rows } = await sql<{ running: number }>`
    select count(*) as running from job_tasks join jobs on jobs.id = job_tasks.job
    where job_tasks.state = 'running' and jobs.account = ${account}`.execute(transaction);
  return Math.max(0, most - (rows[0]?.running ?? 0));
}

/** Leases of one of several engines. @param owner identifies the engine */
function createSharedLeases({ db }: Store, owner: string, accountTasks: number): TaskLeases {
  const held = new Map<string, Task>();
  const forget = (tasks: readonly Task[]): void => {
    // A task that was claimed anew meanwhile has another attempt number.
    for (const task of tasks) if (held.get(nameOf(task))?.attempt === task.attempt) held.delete(nameOf(task));
  };
  async function claim(target: Kysely<Schema>, job: ActiveJob, phase: ActivePhase, limit: number): Promise<readonly ClaimedRow[]> {
    const place = { owner, job: job.id, phase: phase.number };
    const isSuspecting = [...held.values()].some(({ lost }) => lost > 0);
    const isDue = sql`lost > 0 and (lease is null or lease <= ${databaseTime})`;
    const suspects = isSuspecting ? [] : await take(target, { ...place, limit: 1 }, isDue);
    const rest = limit - suspects.length;
    return rest === 0 ? suspects : [...suspects, ...(await take(target, { ...place, limit: rest }, sql`lost = 0`))];
  }
  return {
    isShared: true,
    claim: (job, phase, limit) => {
      if (accountTasks === Infinity) return claim(db, job, phase, limit);
      return db.transaction().execute(async (transaction) => {
        const room = await findRoom(transaction, job.account.id, accountTasks);
        return room === 0 ? [] : claim(transaction, job, phase, Math.min(limit, room));
      });
    },
    keep(tasks) {
      for (const task of tasks) held.set(nameOf(task), task);
    },
    forget,
    list: (job) => [...held.values()].filter((task) => job === undefined || task.job.id === job),
    async giveBack(tasks) {
      forget(tasks);
      if (tasks.length > 0) await change(db, tasks, sql`state = 'waiting', owner = null, lease = null`);
    },
    async renew() {
      const tasks = [...held.values()];
      if (tasks.length === 0) return nothing;
      const renewed = await change(db, tasks, sql`lease = ${databaseTime} + cast(${leaseTime} as bigint)`);
      const lost = tasks.filter((task) => held.get(nameOf(task)) === task && !renewed.has(nameOf(task)));
      forget(lost);
      return lost;
    },
    async collectLost() {
      const { rows } = await sql`
        with ended as (
          select job, phase, number from job_tasks where state = 'running' and lease < ${databaseTime} for update skip locked
        )
        update job_tasks set state = 'waiting', owner = null, lost = lost + 1,
          lease = ${databaseTime} + cast(${firstPause} * power(2, lost) as bigint)
        from ended where job_tasks.job = ended.job and job_tasks.phase = ended.phase and job_tasks.number = ended.number
        returning job_tasks.number`.execute(db);
      return rows.length;
    },
    // The lease says so.
    begin: () => () => undefined,
    close: () => undefined,
  };
}

/**
 * Creates the leases of an engine.
 * @param owner identifies the engine among those of other processes
 * @param accountTasks maximum number of claimed tasks of an account, over all engines that have this limit
 * @param file for the running tasks of the only engine of a database
 */
export function createTaskLeases(store: Store, owner: string, accountTasks = Infinity, file?: string): TaskLeases {
  return isPostgres(store.db) ? createSharedLeases(store, owner, accountTasks) : createOwnLeases(store, file);
}

/** True if a live engine holds tasks of a job. */
export async function hasLiveTasks({ db }: Pick<Store, 'db'>, job: string): Promise<boolean> {
  if (!isPostgres(db)) return false;
  const query = db
    .selectFrom('job_tasks')
    .select('number')
    .where(sql<boolean>`state = 'running'`)
    .where('job', '=', job);
  return (await query.where('lease', '>=', databaseTime).limit(1).execute()).length > 0;
}
