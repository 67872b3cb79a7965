import { sql, type Kysely } from 'kysely';
import { steps, type StepTable } from '../store/migrations.ts';
import { measureGarbage } from '../store/postgres/garbage.ts';
import { readVersion } from '../store/postgres/migrate.ts';
import { openPostgres } from '../store/postgres/open.ts';
import type { Schema } from '../store/schema.ts';

/** One thing of a cluster, and whether it is as it should be. */
export interface StatusRow {
  readonly item: 'schema' | 'gateway' | 'collector' | 'garbage' | 'jobs' | 'tasks';
  /** `ok`, or what is wrong: `old` and `newer` schema, `lost` gateway, `none` that serves. */
  readonly state: 'ok' | 'old' | 'newer' | 'lost' | 'none';
  /** In words. */
  readonly detail: string;
  /** Version of the tables, contents that wait for removal, jobs that run, tasks that are not done. */
  readonly count?: number;
  /** Of a gateway, or of the one that collects. */
  readonly id?: string;
  readonly address?: string;
  /** Release of the program. */
  readonly version?: string;
  /** ISO 8601, of the clock of the database: when a gateway started, until when it is taken for alive, the start of its oldest request. */
  readonly started?: string;
  readonly until?: string;
  readonly oldest?: string;
}

interface GatewayTimes {
  readonly id: string;
  readonly address: string;
  readonly version: string | null;
  readonly started: number;
  readonly until: number;
  readonly oldest: number;
  readonly now: number;
}

function milliseconds(column: string): ReturnType<typeof sql<number>> {
  return sql<number>`extract(epoch from ${sql.ref(column)}) * 1000`;
}

const databaseNow = sql<number>`extract(epoch from clock_timestamp()) * 1000`;

function inSeconds(time: number): string {
  return `${Math.max(0, Math.round(time / 1000))} s`;
}

const toIso = (time: number): string => new Date(time).toISOString();

function describeSchema(done: number): StatusRow {
  const state = done === steps.length ? 'ok' : done < steps.length ? 'old' : 'newer';
  const todo = { ok: '', old: ': cloud server migrate', newer: ': use the release that migrated it' }[state];
  return { item: 'schema', state, count: done, detail: `version ${done}, this release has ${steps.length}${todo}` };
}

function describeGateway({ id, address, version, started, until, oldest, now }: GatewayTimes): StatusRow {
  const isAlive = until > now;
  const life = isAlive
    ? `oldest request ${inSeconds(now - oldest)} ago`
    : `not heard of since its lease ended ${inSeconds(now - until)} ago`;
  return {
    item: 'gateway',
    state: isAlive ? 'ok' : 'lost',
    id,
    address,
    ...(version !== null && { version }),
    started: toIso(started),
    until: toIso(until),
    oldest: toIso(oldest),
    detail: `${address}, release ${version ?? 'unknown'}, since ${toIso(started)}, ${life}`,
  };
}

async function describeGateways(db: Kysely<Schema>): Promise<StatusRow[]> {
  const { rows } = await sql<GatewayTimes>`
    select id, address, version, ${milliseconds('started')} as started, ${milliseconds('until')} as until,
    ${milliseconds('oldest')} as oldest, ${databaseNow} as now from gateways order by started, id`.execute(db);
  const described = rows.map(describeGateway);
  if (described.some(({ state }) => state === 'ok')) return described;
  return [...described, { item: 'gateway', state: 'none', detail: 'no gateway serves' }];
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
 * What a database tells of those who serve it. Nothing is changed.
 * @throws {LocalError} when it cannot be reached
 */
export async function readStatus(database: string): Promise<StatusRow[]> {
  const db = await openPostgres(database, 1);
  try {
    const { rows } = await sql<{ known: boolean }>`select to_regclass('steps') is not null as known`.execute(db);
    const done = rows[0]?.known === true ? await readVersion(db as unknown as Kysely<StepTable>) : 0;
    const schema = describeSchema(done);
    // Tables of an older version may lack what is asked for; those of a newer one have it.
    if (schema.state === 'old') return [schema];
    return [schema, ...(await describeGateways(db)), ...(await describeCollection(db)), ...(await describeJobs(db))];
  } finally {
    await db.destroy();
  }
}
