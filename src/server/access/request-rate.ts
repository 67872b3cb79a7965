import { sql, type Kysely } from 'kysely';
import type { ServiceName } from '../../api/operation.ts';
import { setNewest } from '../../base/newest.ts';
import { createBuckets, type Taken } from '../http/throttle.ts';
import { LimitReached, limitOf } from '../limit.ts';
import type { ServiceSettings } from '../settings.ts';
import { isPostgres } from '../store/engine-of.ts';
import type { AccountRow, Schema } from '../store/schema.ts';

/**
 * Requests a second of an account, over both services: a token bucket that holds as many as a second gives.
 *
 * Where several gateways serve an account, the bucket is a row of the database, from which each takes tokens for a tenth of a second, so
 * that few requests wait for the database, and none that is refused. Tokens that a gateway has not used after a second are lost.
 */

/** Takes up to `want` tokens from the bucket of an account, which gets `rate` a second and holds that many. */
export type TakeTokens = (account: string, rate: number, want: number) => Promise<Taken>;

/** Tokens that this process has of an account. */
interface Share {
  tokens: number;
  /** When they are lost, and until when there are none to be had. */
  end: number;
  emptyUntil: number;
  taking: Promise<void> | undefined;
}

/** Accounts of which a process remembers tokens: those that have not asked for longest begin anew. */
const mostShares = 10_000;

/** Part of a second for which tokens are taken at once, and milliseconds after which they are lost. */
const leaseSeconds = 0.1;
const leaseLife = 1000;

/** Takes tokens from rows that all gateways share. Nothing of them survives a crash of the database: buckets begin full. */
function takeShared(db: Kysely<Schema>): TakeTokens {
  return async (account, rate, want) => {
    const most = Math.min(want, rate);
    const { rows } = await sql<Taken>`
      insert into request_tokens as of (account, tokens, granted, at) values (${account}, ${rate - most}, ${most}, clock_timestamp())
      on conflict (account) do update set (tokens, granted, at) = (
        select filled - least(${most}, floor(filled)), least(${most}, floor(filled)), moment from (
          select least(cast(${rate} as double precision),
            of.tokens + ${rate} * greatest(0, extract(epoch from moment - of.at))) as filled, moment
          from (select clock_timestamp() as moment) as clock
        ) as bucket
      )
      returning granted, tokens as left`.execute(db);
    return rows[0] ?? { granted: 0, left: 0 };
  };
}

/** Takes tokens from buckets of this process. @param now milliseconds */
export function takeOwn(now: () => number): TakeTokens {
  const take = createBuckets(now);
  return async (account, rate, want) => take(account, rate, want);
}

/** Lets a request of an account pass, or throws. */
export type AdmitAccount = (service: ServiceName, account: Pick<AccountRow, 'id' | 'login' | 'most_requests'>) => Promise<void>;

/**
 * Makes the function that refuses requests of accounts beyond their rates.
 * @param now milliseconds
 * @returns throws {LimitReached} 429 `RequestThrottled`, of the compute service 420 as its specification has it, with `Retry-After`
 */
export function createRateLimit(settings: ServiceSettings, take: TakeTokens, now: () => number): AdmitAccount {
  const shares = new Map<string, Share>();
  const refill = async (id: string, rate: number, share: Share): Promise<void> => {
    const { granted, left } = await take(id, rate, Math.max(1, Math.ceil(rate * leaseSeconds)));
    share.tokens = granted;
    share.end = now() + leaseLife;
    if (granted === 0) share.emptyUntil = now() + ((1 - left) / rate) * 1000;
  };
  return async (service, { id, login, most_requests: own }) => {
    const rate = own ?? limitOf(settings, 'accountRequests');
    if (rate === Infinity) return;
    const share = shares.get(id) ?? { tokens: 0, end: 0, emptyUntil: 0, taking: undefined };
    setNewest(shares, id, share, mostShares);
    for (;;) {
      const time = now();
      if (share.tokens >= 1 && time < share.end) {
        share.tokens -= 1;
        return;
      }
      if (time < share.emptyUntil) {
        const message = `account ${login} may send ${rate} requests a second: send fewer, or try again later`;
        const again = Math.max(1, Math.ceil((share.emptyUntil - time) / 1000));
        throw new LimitReached(service === 'compute' ? 420 : 429, 'RequestThrottled', message, 'accountRequests', { retryAfter: again });
      }
      // All that wait share one answer.
      share.taking ??= refill(id, rate, share).finally(() => {
        share.taking = undefined;
      });
      await share.taking;
    }
  };
}

const limitsOf = new WeakMap<Kysely<Schema>, AdmitAccount>();

/** The rates of accounts over both services of a process, which have the same database. */
export function limitRates(db: Kysely<Schema>, settings: ServiceSettings): AdmitAccount {
  const now = (): number => performance.now();
  const made = limitsOf.get(db) ?? createRateLimit(settings, isPostgres(db) ? takeShared(db) : takeOwn(now), now);
  limitsOf.set(db, made);
  return made;
}
