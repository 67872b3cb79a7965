import { sql, type Kysely, type RawBuilder } from 'kysely';
import { isPostgres } from '../store/engine-of.ts';
import { listRows } from '../store/list-rows.ts';
import type { JobTaskRow } from '../store/job-schema.ts';
import type { Schema } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import type { ActiveJob, ActivePhase, Task } from './active-job.ts';

/**
 * Who may do a task. On SQLite one process does all of them: a claim is a look, nothing is written, and after a restart every task whose
 * outcome is not recorded is done again. On PostgreSQL a claim is a lease in the row of the task, which ends when it is not renewed; times are
 * the database's own. On both an outcome is recorded only for the attempt that the row names.
 */

/** Milliseconds of a lease, and after which it is renewed. */
export const leaseTime = 10_000;
export const renewalTime = leaseTime / 3;

/**
 * Milliseconds after the end of a lease for which it can still be renewed, and outcomes recorded, while nobody has taken the task away.
 * Contents that nothing refers to are left alone for longer than that.
 */
const graceTime = 600_000;

/**
 * Times that whoever does a task may be lost before the task fails. Workers that are killed for other reasons take tasks with them that are
 * well: with 4, two of 12,000 failed while 30 workers were killed in twenty minutes on a machine with ten times too much to do.
 */
export const mostLosses = 6;

/** Milliseconds that a task waits when it was lost once; twice as long each further time. */
const firstPause = 500;

/** A row of a task that was claimed. */
export interface ClaimedRow extends Pick<JobTaskRow, 'number' | 'input' | 'origin' | 'tries' | 'adder' | 'given'> {
  readonly attempt: number;
  readonly lost: number;
}

/** Tasks of one engine. */
export interface TaskLeases {
  /** Whether other engines do tasks of the same jobs. */
  readonly isShared: boolean;
  /** Takes the next tasks of a phase; of those that were lost before at most one at a time, so that one which kills its worker is told from the others. */
  claim(job: ActiveJob, phase: ActivePhase, limit: number): Promise<readonly ClaimedRow[]>;
  /** Keeps tasks that were claimed until they are forgotten or given back. */
  keep(tasks: readonly Task[]): void;
  /** Tasks that are over, or that another engine may take. */
  forget(tasks: readonly Task[]): void;
  /** Tasks that are kept: those of a job, or all. */
  list(job?: string): readonly Task[];
  /** Lets others take tasks, which count as not begun. */
  giveBack(tasks: readonly Task[]): Promise<void>;
  /** Renews all leases. @returns tasks that are another's now */
  renew(): Promise<readonly Task[]>;
  /** Lets tasks whose lease has ended be taken again. @returns how many */
  collectLost(): Promise<number>;
}

const columns = ['number', 'input', 'origin', 'tries', 'adder', 'given', 'attempt', 'lost'] as const;

/** Milliseconds of the database's clock. */
export const databaseTime = sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`;

/** Whether the lease of a task is in force, or can be renewed. */
export function isHeld(db: Kysely<Schema>): RawBuilder<boolean> {
  return isPostgres(db) ? sql<boolean>`lease > ${databaseTime} - cast(${graceTime} as bigint)` : sql<boolean>`true`;
}

/** What a task in the hands of an engine is named in the table. */
export function claimedState(db: Kysely<Schema>): 'waiting' | 'running' {
  return isPostgres(db) ? 'running' : 'waiting';
}

function look(db: Kysely<Schema>, job: ActiveJob, phase: ActivePhase, limit: number): Promise<ClaimedRow[]> {
  return db
    .selectFrom('job_tasks')
    .select(columns)
    .where('state', '=', 'waiting')
    .where('job', '=', job.id)
    .where('phase', '=', phase.number)
    .where('number', '>', phase.claimed)
    .orderBy('number')
    .limit(limit)
    .execute();
}

/** One statement, in which nobody waits for others. An array of numbers has the planner look each of them up, however little it knows of the table. */
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
    returning ${sql.join(columns.map((column) => sql.ref(column)))}`.execute(db);
  return rows.toSorted((left, right) => left.number - right.number);
}

/** Changes rows of tasks that are still in the hands of whoever claimed them. */
async function change(db: Kysely<Schema>, tasks: readonly Task[], assignments: RawBuilder<unknown>): Promise<ReadonlySet<string>> {
  const lists = tasks.map(({ job, phase, number, attempt }) => [job.id, phase.number, number, attempt]);
  const { rows } = await sql<{ job: string; phase: number; number: number }>`
    update job_tasks set ${assignments} from ${listRows(db, lists)}
    where state = 'running' and ${isHeld(db)} and job = value ->> 0 and phase = cast(value ->> 1 as bigint)
      and number = cast(value ->> 2 as bigint) and attempt = cast(value ->> 3 as bigint)
    returning job, phase, number`.execute(db);
  return new Set(rows.map(nameTask));
}

function nameTask({ job, phase, number }: { job: string; phase: number; number: number }): string {
  return `${job}/${phase}/${number}`;
}

function nameOf({ job, phase, number }: Task): string {
  return nameTask({ job: job.id, phase: phase.number, number });
}

const nothing: readonly never[] = [];

/** Leases of the one process that has a database. */
function createOwnLeases({ db }: Store): TaskLeases {
  return {
    isShared: false,
    claim: (job, phase, limit) => look(db, job, phase, limit),
    keep: () => undefined,
    forget: () => undefined,
    list: () => nothing,
    giveBack: () => Promise.resolve(),
    renew: () => Promise.resolve(nothing),
    collectLost: () => Promise.resolve(0),
  };
}

/** How many more tasks of an account may run. Until the transaction ends nobody else claims any of them. */
async function findRoom(transaction: Kysely<Schema>, account: string, most: number): Promise<number> {
  await sql`select id from accounts where id = ${account} for no key update`.execute(transaction);
  const { rows } = await sql<{ running: number }>`
    select count(*) as running from job_tasks join jobs on jobs.id = job_tasks.job
    where job_tasks.state = 'running' and jobs.account = ${account}`.execute(transaction);
  return Math.max(0, most - (rows[0]?.running ?? 0));
}

/** Leases of one of many engines. @param owner names it among them */
function createSharedLeases({ db }: Store, owner: string, accountTasks: number): TaskLeases {
  const held = new Map<string, Task>();
  const forget = (tasks: readonly Task[]): void => {
    // What was claimed anew meanwhile is another attempt.
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
  };
}

/**
 * The leases of an engine.
 * @param owner names it among those of other processes
 * @param accountTasks most tasks of an account that are claimed, by all that have this limit
 */
export function createTaskLeases(store: Store, owner: string, accountTasks = Infinity): TaskLeases {
  return isPostgres(store.db) ? createSharedLeases(store, owner, accountTasks) : createOwnLeases(store);
}

/** Whether tasks of a job are in the hands of an engine that is alive. */
export async function hasLiveTasks({ db }: Pick<Store, 'db'>, job: string): Promise<boolean> {
  if (!isPostgres(db)) return false;
  const query = db
    .selectFrom('job_tasks')
    .select('number')
    .where(sql<boolean>`state = 'running'`)
    .where('job', '=', job);
  return (await query.where('lease', '>=', databaseTime).limit(1).execute()).length > 0;
}
