import { sql, type Kysely } from 'kysely';
import type { Schema } from '../store/schema.ts';
import { repeatRegularly } from '../repeat-regularly.ts';
import { lookPause } from './follow-garbage.ts';

/** Waiting tasks of a cluster, and its task slots. */
export interface TaskBacklog {
  readonly waiting: number;
  /** Milliseconds that the first waiting task of a job has been the first; the maximum over all jobs, 0 if none wait. */
  readonly age: number;
  /** Task slots of all live gateways and workers, except those whose release does not report them. */
  readonly slots: number;
}

async function readNumbers(db: Kysely<Schema>): Promise<Pick<TaskBacklog, 'waiting' | 'slots'>> {
  const { rows } = await sql<Pick<TaskBacklog, 'waiting' | 'slots'>>`
    select greatest(0, (select coalesce(sum(p.tasks - p.finished), 0) from job_phases p join jobs j on j.id = p.job where j.state = 'running')
      - (select count(*) from job_tasks where state = 'running')) as waiting,
    (select coalesce(sum(slots), 0) from gateways where until > clock_timestamp()) as slots`.execute(db);
  return rows[0] ?? { waiting: 0, slots: 0 };
}

/** The first waiting task of each job, by one index lookup per job. */
async function listFirst(db: Kysely<Schema>): Promise<string[]> {
  const { rows } = await sql<{ first: string | null }>`
    select (
      select concat_ws('/', job, phase, number, attempt) from job_tasks where state = 'waiting' and job = jobs.id order by phase, number limit 1
    ) as first from jobs where state = 'running'`.execute(db);
  return rows.flatMap(({ first }) => first ?? []);
}

/** Measures the waiting tasks periodically. `read` returns undefined while the numbers are unknown. */
export function followTasks(
  db: Kysely<Schema>,
  now: () => number = () => performance.now(),
): { look: () => Promise<void>; read: () => TaskBacklog | undefined; stop: () => Promise<void> } {
  let last: Pick<TaskBacklog, 'waiting' | 'slots'> | undefined;
  /** The time when each task was first seen as the first of its job. */
  let firstSeen = new Map<string, number>();
  const look = async (): Promise<void> => {
    try {
      const first = await listFirst(db);
      const at = now();
      firstSeen = new Map(first.map((task) => [task, firstSeen.get(task) ?? at]));
      last = await readNumbers(db);
    } catch {
      last = undefined;
    }
  };
  return {
    look,
    read: () => last && { ...last, age: firstSeen.size === 0 ? 0 : now() - Math.min(...firstSeen.values()) },
    stop: repeatRegularly(look, () => lookPause, 0),
  };
}
