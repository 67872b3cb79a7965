import { serviceLimits, writeLimitName, type LimitName, type ServiceLimit } from '../api/service-limits.ts';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { ApiError } from '../base/errors.ts';
import type { ServiceSettings } from './settings.ts';
import { databaseTime } from './store/database-time.ts';
import { isPostgres } from './store/engine-of.ts';
import type { Schema } from './store/schema.ts';

/** The configured value of a limit, or else its default. */
export function limitOf({ serviceLimits: values }: ServiceSettings, limit: LimitName): number {
  return values?.[limit] ?? (serviceLimits[limit] as ServiceLimit).default;
}

const millisecondsOfDay = 86_400_000;

type AgeLimit = 'uploadDays' | 'finishedUploadDays' | 'jobDays';

/** The time before which something is too old, by a limit in days and the clock of a PostgreSQL database; milliseconds since the epoch. */
export function oldestByDatabase(settings: ServiceSettings, limit: AgeLimit): RawBuilder<number> {
  const age = limitOf(settings, limit) * millisecondsOfDay;
  // As a query of its own, the time is a constant by which an index is searched.
  return sql<number>`(select ${databaseTime} - cast(${age} as bigint))`;
}

/**
 * The time before which something is too old, by a limit in days. With several gateways the clock of the database decides: a gateway with
 * a wrong clock would otherwise remove what all accounts have.
 * @param now time of the service, milliseconds since the epoch
 */
export function oldestOf(db: Kysely<Schema>, settings: ServiceSettings, limit: AgeLimit, now: number): RawBuilder<number> {
  if (isPostgres(db)) return oldestByDatabase(settings, limit);
  return sql<number>`${now - limitOf(settings, limit) * millisecondsOfDay}`;
}

/** The time from which an age is counted, by the same clock as `oldestOf`. @param now time of the service, milliseconds since the epoch */
export function timeOf(db: Kysely<Schema>, now: number): RawBuilder<number> {
  return isPostgres(db) ? databaseTime : sql<number>`${now}`;
}

/** Error for a request that exceeds a limit of the service. `serve.ts` logs it. */
export class LimitReached extends ApiError {
  readonly limit: string;
  /** Seconds after which the client may retry. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: string,
    message: string,
    limit: LimitName,
    { field, retryAfter }: { field?: string | undefined; retryAfter?: number } = {},
  ) {
    const name = writeLimitName(limit);
    super(status, code, `${message} (limit ${name})`, field === undefined ? {} : { errors: [{ field, code: 'LimitExceeded', message }] });
    this.limit = name;
    this.retryAfter = retryAfter;
  }
}

/** What a limit applies to, for the message and the code of the error. */
interface Subject {
  /** What has a limited number of something: `a policy has`. */
  readonly has: string;
  /** What is counted: `rules`. */
  readonly counted: string;
  /** Input field that the error names. */
  readonly field?: string;
  /** 409 `InvalidArgument` when absent. */
  readonly status?: number;
  readonly code?: string;
}

/** @param count including what is to be added @throws {LimitReached} 409 that names the limit, if `count` exceeds it */
export function assertWithinLimit(settings: ServiceSettings, limit: LimitName, count: number, subject: Subject): void {
  const most = limitOf(settings, limit);
  if (count <= most) return;
  const { has, counted, field, status = 409, code = 'InvalidArgument' } = subject;
  throw new LimitReached(status, code, `${has} at most ${most} ${counted}`, limit, { field });
}

/** A query of the rows that a limit counts. */
interface RowQuery {
  offset(rows: number): { limit(rows: number): { executeTakeFirst(): Promise<unknown> } };
}

/**
 * Rejects one more row if the query would then have more rows than the limit allows; the query is not read further than that.
 * @throws {LimitReached} 409 that names the limit
 */
export async function assertRoom(settings: ServiceSettings, limit: LimitName, query: RowQuery, subject: Subject): Promise<void> {
  const most = limitOf(settings, limit);
  const isFull =
    most < 1 ||
    (await query
      .offset(most - 1)
      .limit(1)
      .executeTakeFirst()) !== undefined;
  if (isFull) assertWithinLimit(settings, limit, most + 1, subject);
}
