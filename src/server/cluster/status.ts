import { sql, type Kysely } from 'kysely';
import { countOf } from '../../base/count.ts';
import { steps } from '../store/migrations.ts';
import { measureGarbage } from '../store/postgres/garbage.ts';
import { findVersion } from '../store/postgres/migrate.ts';
import { usePostgres } from '../store/postgres/open.ts';
import { mostSkew } from '../store/postgres/clock-skew.ts';
import { databaseNow, usualLifetime } from '../store/postgres/lease.ts';
import type { Schema } from '../store/schema.ts';

/** A kind of process that holds a lease. */
type MemberItem = 'gateway' | 'worker' | 'command';

/** The status of one part of a cluster. */
export interface StatusRow {
  /** A `command` is a command of an operator that stores contents. */
  readonly item: 'schema' | MemberItem | 'collector' | 'garbage' | 'jobs' | 'tasks';
  /** `ok`, or the problem: `old` or `newer` schema, `lost` member, member with a wrong `clock`, `none` if no member serves, or none runs the waiting tasks. */
  readonly state: 'ok' | 'old' | 'newer' | 'lost' | 'clock' | 'none';
  /** In words. */
  readonly detail: string;
  /** Version of the tables, contents that wait for removal, running jobs, or unfinished tasks. */
  readonly count?: number;
  /** Id of the lease of a member, or of the collecting gateway. */
  readonly id?: string;
  /** Role, process and host of a member. */
  readonly address?: string;
  readonly host?: string;
  /** Tasks that a member runs concurrently, and how many of these slots are in use; absent if its release does not report them. */
  readonly slots?: number;
  readonly used?: number;
  /** Release of the program. */
  readonly version?: string;
  /** ISO 8601, by the clock of the database: start of the member, renewal and end of its lease, start of its oldest request. */
  readonly started?: string;
  readonly renewed?: string;
  readonly until?: string;
  readonly oldest?: string;
  /** Seconds by which the clock of a member is ahead of the database's; absent if its release does not report it. */
  readonly skew?: number;
}

interface MemberRow {
  readonly id: string;
  readonly address: string;
  readonly version: string | null;
  readonly slots: number | null;
  /** Tasks that the member has claimed; some may still wait there for a slot. */
  readonly claimed: number;
  readonly started: number;
  readonly until: number;
  readonly oldest: number;
  readonly skew: number | null;
  readonly now: number;
}

function milliseconds(column: string): ReturnType<typeof sql<number>> {
  return sql<number>`extract(epoch from ${sql.ref(column)}) * 1000`;
}

function inSeconds(time: number): string {
  return `${Math.max(0, Math.round(time / 1000))} s`;
}

const toIso = (time: number): string => new Date(time).toISOString();

function describeSchema(done: number): StatusRow {
  const state = done === steps.length ? 'ok' : done < steps.length ? 'old' : 'newer';
  const todo = { ok: '', old: ': cloud server migrate', newer: ': use the release that migrated it' }[state];
  return { item: 'schema', state, count: done, detail: `version ${done}, this release has ${steps.length}${todo}` };
}

/** Kinds of members by the first word of their address. */
const items: Readonly<Record<string, MemberItem>> = { process: 'gateway', worker: 'worker' };

function describeMember({ id, address, version, slots, claimed, started, until, oldest, skew, now }: MemberRow): StatusRow {
  const isAlive = until > now;
  const item = items[address.split(' ', 1)[0] ?? ''] ?? 'command';
  const renewed = until - usualLifetime * 1000;
  const life = isAlive
    ? `lease renewed ${inSeconds(now - renewed)} ago${item === 'worker' ? '' : `, oldest request ${inSeconds(now - oldest)} ago`}`
    : `not heard of since its lease ended ${inSeconds(now - until)} ago`;
  const isWrong = skew !== null && Math.abs(skew) > mostSkew;
  return {
    item,
    state: isAlive ? (isWrong ? 'clock' : 'ok') : 'lost',
    id,
    address,
    host: address.split(' of ').at(-1) ?? '',
    ...(slots !== null && { slots, used: Math.min(slots, claimed) }),
    ...(version !== null && { version }),
    started: toIso(started),
    renewed: toIso(renewed),
    until: toIso(until),
    oldest: toIso(oldest),
    ...(skew !== null && { skew: Math.round(skew) / 1000 }),
    detail: isWrong ? `${life}, clock ${inSeconds(Math.abs(skew))} ${skew > 0 ? 'ahead of' : 'behind'} the database's` : life,
  };
}

/** Reports missing kinds of members: some member has to serve, and some member has to run waiting tasks. @param left unfinished tasks */
function findAbsent(members: readonly StatusRow[], left: number): StatusRow[] {
  const alive = members.filter(({ state }) => state !== 'lost');
  const canWork = alive.some(({ item, slots = 1 }) => item !== 'command' && slots > 0);
  return [
    ...(alive.some(({ item }) => item === 'gateway') ? [] : [{ item: 'gateway', state: 'none', detail: 'no gateway serves' } as const]),
    ...(canWork || left === 0
      ? []
      : [{ item: 'worker', state: 'none', detail: `nobody does the ${countOf(left, 'task that waits', 'tasks that wait')}` } as const]),
  ];
}

async function describeMembers(db: Kysely<Schema>): Promise<StatusRow[]> {
  const { rows } = await sql<MemberRow>`
    select id, address, version, slots, ${milliseconds('started')} as started, ${milliseconds('until')} as until,
    ${milliseconds('oldest')} as oldest, skew, ${databaseNow} as now,
    (select count(*) from job_tasks where job_tasks.state = 'running' and job_tasks.owner = coalesce(gateways.owner, gateways.id)) as claimed
    from gateways order by started, id`.execute(db);
  return rows.map(describeMember);
}

async function describeCollection(db: Kysely<Schema>): Promise<StatusRow[]> {
  const { rows: holders } = await sql<{ holder: string; until: number }>`
    select holder, ${milliseconds('until')} as until from duties where name = 'collect' and until > clock_timestamp()`.execute(db);
  const { count, age } = await measureGarbage(db);
  const [holder] = holders;
  const collector = holder
    ? { id: holder.holder, until: toIso(holder.until), detail: `gateway ${holder.holder}` }
    : { detail: 'nobody at the moment' };
  const waiting = `${count} contents wait for removal`;
  return [
    { item: 'collector', state: 'ok', ...collector },
    { item: 'garbage', state: 'ok', count, detail: age === null ? waiting : `${waiting}, the first for ${inSeconds(age)}` },
  ];
}

async function describeJobs(db: Kysely<Schema>): Promise<StatusRow[]> {
  const { rows } = await sql<{ jobs: number; running: number; left: number }>`
    select (select count(*) from jobs where state = 'running') as jobs,
    (select count(*) from job_tasks where state = 'running') as running,
    (select coalesce(sum(p.tasks - p.finished), 0) from job_phases p join jobs j on j.id = p.job where j.state = 'running') as left`.execute(
    db,
  );
  const [{ jobs, running, left } = { jobs: 0, running: 0, left: 0 }] = rows;
  return [
    { item: 'jobs', state: 'ok', count: jobs, detail: `${jobs} running` },
    { item: 'tasks', state: 'ok', count: left, detail: `${left} not done, ${running} of them running` },
  ];
}

/**
 * Reads the status of a cluster from its database. Nothing is changed.
 * @throws {LocalError} when the database cannot be reached
 */
export function readStatus(database: string): Promise<StatusRow[]> {
  return usePostgres(database, async (db) => {
    const schema = describeSchema(await findVersion(db));
    // Tables of an older version may lack columns that are queried below; those of a newer version have them.
    if (schema.state === 'old') return [schema];
    const members = await describeMembers(db);
    const jobs = await describeJobs(db);
    const left = jobs.find(({ item }) => item === 'tasks')?.count ?? 0;
    return [schema, ...members, ...findAbsent(members, left), ...(await describeCollection(db)), ...jobs];
  });
}
